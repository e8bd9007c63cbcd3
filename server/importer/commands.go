package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/vigildb/vigil/structures/aof"
)

const (
	// ahead is how many commands may be on their way.
	ahead = 1024
	// mostArgs bounds the arguments of a command.
	mostArgs = 1 << 28
)

// replayed is a command on its way.
type replayed struct {
	name   string
	offset int64
}

// replay runs the commands of one file by a client of the workshop: it sends them one behind the other, and a goroutine of
// its own reads the replies.
type replay struct {
	i     *Import
	conn  io.ReadWriteCloser
	out   *bufio.Writer
	sent  chan replayed // capacity: how far ahead
	ended sync.WaitGroup

	mu      sync.Mutex
	err     error            // guarded by mu
	unknown map[string]int64 // commands that failed, if they may; guarded by mu
}

// commands runs the commands that in brings, which begin at an offset of a file.
func (i *Import) commands(in io.Reader, name string, offset, done int64, last bool) error {
	shop, err := i.workshop()
	if err != nil {
		return err
	}
	conn, err := shop.Dial()
	if err != nil {
		return err
	}
	r := &replay{i: i, conn: conn, out: bufio.NewWriterSize(conn, 64<<10), sent: make(chan replayed, ahead), unknown: map[string]int64{}}
	r.ended.Go(r.replies) // ends when sent is closed, or with the connection
	err = r.file(aof.NewReader(in, offset, aof.Limits{Arg: i.o.MaxString, Args: mostArgs}), name, done, last)
	if flushed := r.out.Flush(); err == nil {
		err = flushed
	}
	close(r.sent)
	if failed := r.failed(); failed != nil {
		err = failed // the reason of all others
	}
	if err != nil {
		err = errors.Join(err, conn.Close())
		r.ended.Wait()
	} else {
		r.ended.Wait()
		err = r.failed()
	}
	i.note(func(s *Summary) {
		for reason, n := range r.unknown {
			s.Skip(reason, n)
		}
	})
	if err != nil {
		return err
	}
	return conn.Close()
}

// file sends the commands of a file.
func (r *replay) file(in *aof.Reader, name string, done int64, last bool) error {
	multi, begin := false, int64(0) // a transaction is open, and begins there
	count := int64(0)
	for {
		args, err := in.Next()
		switch {
		case errors.Is(err, io.EOF) && !multi:
			r.tell(count, done+in.Offset())
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, aof.ErrTorn):
			if !last || !r.i.o.Torn {
				return cutShort(err, begin, multi)
			}
			if !multi {
				begin = in.Offset()
			}
			r.i.note(func(s *Summary) { s.Notes = append(s.Notes, fmt.Sprintf("%s: cut short at offset %d", name, begin)) })
			r.tell(count, done+in.Offset())
			return nil // a transaction that is open ends with its client
		case err != nil:
			return err
		case r.i.o.Until > 0 && in.Time > r.i.o.Until && !multi:
			r.i.note(func(s *Summary) {
				s.Notes = append(s.Notes, fmt.Sprintf("%s: ends at offset %d, before what was done at %d", name, in.Offset(), in.Time))
			})
			r.tell(count, done+in.Offset())
			return nil
		}
		switch word := strings.ToUpper(string(args[0][:min(len(args[0]), 16)])); word {
		case "MULTI":
			multi, begin = true, in.Offset()
		case "EXEC", "DISCARD":
			multi = false
		}
		if err := r.send(Absolute(args, r.i.o.Now), in.Offset()); err != nil {
			return err
		}
		if count++; count%tellEvery == 0 {
			if err := r.i.ctx.Err(); err != nil {
				return err
			}
			r.tell(tellEvery, done+in.Offset())
			count = 0
		}
	}
}

// cutShort is the error for a file that ends within a command or a transaction.
func cutShort(err error, begin int64, multi bool) error {
	if multi {
		return fmt.Errorf("offset %d: the transaction that begins here does not end: %w", begin, aof.ErrTorn)
	}
	return err
}

func (r *replay) tell(commands, bytes int64) {
	r.i.note(func(s *Summary) { s.Commands, s.Bytes = s.Commands+commands, bytes })
}

// send sends a command.
func (r *replay) send(args [][]byte, offset int64) error {
	if err := r.failed(); err != nil {
		return err
	}
	var room [24]byte
	number := func(mark byte, n int) {
		_, _ = r.out.Write(append(strconv.AppendInt(append(room[:0], mark), int64(n), 10), '\r', '\n')) // Flush tells
	}
	number('*', len(args))
	for _, a := range args {
		number('$', len(a))
		_, _ = r.out.Write(a)
		_, _ = r.out.WriteString("\r\n")
	}
	c := replayed{string(args[0][:min(len(args[0]), 40)]), offset}
	select {
	case r.sent <- c:
		return nil
	default:
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	r.sent <- c // replies reads on whatever happens
	return nil
}

func (r *replay) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// replies reads the reply of each command that was sent.
func (r *replay) replies() {
	in := bufio.NewReaderSize(r.conn, 64<<10)
	for c := range r.sent {
		if r.failed() != nil {
			continue
		}
		text, err := readReply(in, 0)
		if err == nil && text == "" {
			continue
		}
		r.mu.Lock()
		switch {
		case err != nil:
			r.err = fmt.Errorf("offset %d: command %q: %w", c.offset, c.name, err)
		case r.i.o.SkipUnknown:
			r.unknown[fmt.Sprintf("commands %q: %.100s", strings.ToUpper(c.name), text)]++
		default:
			r.err = fmt.Errorf("offset %d: command %q: %.200s", c.offset, c.name, text)
		}
		r.mu.Unlock()
	}
}

// readReply reads a reply and returns the first error in it.
func readReply(in *bufio.Reader, depth int) (text string, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) == 0 || depth > 32 {
		return "", errors.New("not a reply")
	}
	kind, rest := line[0], string(line[1:])
	switch kind {
	case '-':
		return rest, nil
	case '+', ':':
		return "", nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil || kind != '$' && kind != '*' {
		return "", fmt.Errorf("reply %.40q", line)
	}
	if kind == '$' {
		if n >= 0 {
			_, err = in.Discard(n + 2)
		}
		return "", err
	}
	for ; n > 0; n-- {
		t, err := readReply(in, depth+1)
		if err != nil {
			return "", err
		}
		if text == "" {
			text = t
		}
	}
	return text, nil
}
