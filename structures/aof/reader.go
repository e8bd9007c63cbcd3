package aof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// ErrTorn is in the error for a command that the end cuts short.
var ErrTorn = errors.New("aof: the last command is cut short")

// ErrTooLong is in the error for a command that is longer than its limit.
var ErrTooLong = errors.New("aof: the command is too long")

const (
	// argumentBytes is what an argument takes beside its bytes.
	argumentBytes = 32
	// step is for how many bytes of an argument that have not arrived memory is taken.
	step = 4 << 20
	// mostHead is the length of the longest line that is no argument.
	mostHead = 64
	// mostNote is the length of the longest annotation that is looked at.
	mostNote = 1024
	keptRoom = 1 << 20
)

// Limits bound the commands that are read.
type Limits struct {
	Arg  uint64 // bytes of the longest argument
	Args uint64 // arguments
	// Total is the length in bytes of the longest command, each argument counted with 32 more; 0: any.
	Total uint64
	// Stream says that the commands are those of a replication stream: line feeds may stand between them, and no annotations.
	Stream bool
}

// Error is why commands could not be read, and where.
type Error struct {
	Offset int64 // at which the command begins
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("offset %d: %v", e.Offset, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Reader reads the commands of one file. Its first error, an *Error, is that of all calls
// that follow.
type Reader struct {
	// Time is that of the last annotation, in unix seconds; 0: there was none.
	Time int64

	r      *bufio.Reader
	limits Limits
	at     int64 // bytes read
	begin  int64 // where the command at hand begins
	err    error
	text   []byte // arguments, one behind the other
	ends   []int
	args   [][]byte
}

// NewReader returns a reader of what r brings, which begins at an offset of its file.
func NewReader(r io.Reader, offset int64, l Limits) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), at: offset, begin: offset, limits: l}
}

// Offset is where the command that Next returned begins; after an error the one that could
// not be read.
func (r *Reader) Offset() int64 { return r.begin }

// End is where the command ends that Next returned.
func (r *Reader) End() int64 { return r.at }

// Next returns the next command, whose bytes are valid until the next call. It is io.EOF
// behind the last one. Annotations before it are passed over; Time has what they say.
func (r *Reader) Next() ([][]byte, error) {
	if r.err == nil {
		r.err = r.read()
	}
	if r.err == nil {
		return r.args, nil
	}
	if r.err != io.EOF && !errors.As(r.err, new(*Error)) {
		r.err = &Error{Offset: r.begin, Err: r.err}
	}
	return nil, r.err
}

func (r *Reader) read() error {
	for {
		r.begin = r.at
		first, err := r.r.ReadByte()
		if err != nil {
			return err // io.EOF between commands is the end
		}
		r.at++
		switch first {
		case '*':
			return r.command()
		case '\n':
			if !r.limits.Stream {
				return notCommand(first)
			}
		case '#':
			if r.limits.Stream {
				return notCommand(first)
			}
			if err := r.annotation(); err != nil {
				return err
			}
		default:
			return notCommand(first)
		}
	}
}

func notCommand(first byte) error {
	return fmt.Errorf("byte %q in place of a command: %w", first, structures.ErrCorrupt)
}

// annotation reads a line behind its #.
func (r *Reader) annotation() error {
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		r.at += int64(len(part))
		if len(line) < mostNote {
			line = append(line, part...)
		}
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			return torn(err)
		}
	}
	if text, ok := bytes.CutPrefix(line, []byte("TS:")); ok {
		at, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil || at <= 0 {
			return fmt.Errorf("annotation %.40q: %w", line, structures.ErrCorrupt)
		}
		r.Time = at
	}
	return nil
}

// number reads a line that is a number.
func (r *Reader) number(most uint64) (uint64, error) {
	line, err := r.r.ReadSlice('\n')
	r.at += int64(len(line))
	if err == io.EOF && len(line) <= mostHead {
		return 0, torn(err)
	}
	if err != nil && err != bufio.ErrBufferFull && err != io.EOF {
		return 0, err
	}
	n, convErr := strconv.ParseUint(string(bytes.TrimRight(line[:min(len(line), mostHead)], "\r\n")), 10, 64)
	if err != nil || convErr != nil || n > most {
		return 0, fmt.Errorf("%.40q in place of a number up to %d: %w", line, most, structures.ErrCorrupt)
	}
	return n, nil
}

// torn is ErrTorn for an error that says that bytes are missing.
func torn(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrTorn
	}
	return err
}

// command reads a command behind its *.
func (r *Reader) command() error {
	if cap(r.text)+argumentBytes*cap(r.ends) > keptRoom {
		r.text, r.ends, r.args = nil, nil, nil
	}
	r.text, r.ends, r.args = r.text[:0], r.ends[:0], r.args[:0]
	n, err := r.number(r.limits.Args)
	if err == nil && n == 0 {
		err = fmt.Errorf("command without arguments: %w", structures.ErrCorrupt)
	}
	for ; n > 0 && err == nil; n-- {
		err = r.argument()
	}
	if err != nil {
		return err
	}
	from := 0
	for _, end := range r.ends {
		r.args = append(r.args, r.text[from:end:end])
		from = end
	}
	return nil
}

// argument reads an argument.
func (r *Reader) argument() error {
	first, err := r.r.ReadByte()
	if err != nil {
		return torn(err)
	}
	r.at++
	if first != '$' {
		return fmt.Errorf("byte %q in place of an argument: %w", first, structures.ErrCorrupt)
	}
	n, err := r.number(r.limits.Arg)
	if err != nil {
		return err
	}
	if used := uint64(len(r.text)) + argumentBytes*uint64(len(r.ends)+1) + n; r.limits.Total > 0 && used > r.limits.Total {
		return fmt.Errorf("command of %d bytes or more: %w", used, ErrTooLong)
	}
	from := len(r.text)
	for left := int(n) + 2; left > 0; {
		part := min(left, max(step, len(r.text)-from))
		at := len(r.text)
		r.text = slices.Grow(r.text, part)[:at+part]
		m, err := io.ReadFull(r.r, r.text[at:])
		r.at += int64(m)
		if err != nil {
			return torn(err)
		}
		left -= part
	}
	end := len(r.text) - 2
	if string(r.text[end:]) != "\r\n" {
		return fmt.Errorf("argument of %d bytes without its end: %w", n, structures.ErrCorrupt)
	}
	r.text = r.text[:end]
	r.ends = append(r.ends, end)
	return nil
}
