package resp

import (
	"math"

	"github.com/tidwall/redcon"
)

const (
	// MaxLine is the longest line in bytes, without its end: an inline
	// command, or the header of an array or of a bulk string.
	MaxLine = 64 << 10
	// DefaultMaxBulk is the longest argument in bytes unless SetMaxBulk says
	// otherwise (proto-max-bulk-len).
	DefaultMaxBulk = 512 << 20

	maxArgs = math.MaxInt32

	// What a client may send before it has authenticated: enough for AUTH and
	// HELLO, too little to fill memory.
	maxUnauthArgs = 10
	maxUnauthBulk = 16 << 10
)

// ProtocolError is input after which the connection cannot be understood any
// more. The client gets "ERR " and the text, and is disconnected.
type ProtocolError struct {
	text string
}

// Error is the text as Redis words it, without the "ERR " in front.
func (e *ProtocolError) Error() string { return "Protocol error: " + e.text }

// Framer finds the commands in a stream. Between two calls of Next it
// remembers how far it has looked, so a command that trickles in is scanned
// once. The zero value is ready: it accepts arguments of DefaultMaxBulk bytes
// from an authenticated client. A Framer belongs to one connection and is not
// safe for concurrent use.
type Framer struct {
	// pos is the offset, from the start of the command, of the first byte not
	// yet understood. Everything before it was proven good.
	pos int
	// seen is the number of bytes after pos that were searched for the end of a
	// line without finding it.
	seen int
	// count is the number of arguments of the array, 0 before its header is
	// read, and left how many of them are still to come.
	count, left int
	// body is true when the header of the argument at pos has been read and
	// bulk is its length.
	body bool
	bulk int
	// held is the length of the buffer at the last call, for Need.
	held int

	// limit is the longest argument; 0 means DefaultMaxBulk.
	limit  int
	unauth bool // the client has not authenticated yet
	err    *ProtocolError
}

// SetMaxBulk sets the longest argument in bytes. It applies to headers read
// from now on. Values under 1 mean DefaultMaxBulk.
func (f *Framer) SetMaxBulk(n int64) {
	// Half of what an int holds keeps sums of lengths from overflowing.
	f.limit = int(min(max(n, 0), math.MaxInt/2))
}

// SetAuthenticated sets whether the client has authenticated, if it has to.
// Until then a command may have 10 arguments of 16 KiB. Call it between two
// calls of Next, so that it applies to commands that follow AUTH in one packet.
func (f *Framer) SetAuthenticated(yes bool) { f.unauth = !yes }

// Next finds the first command in buf, which starts where the last call
// stopped: n bytes further, or, when n was 0, at the same bytes as before with
// more after them.
//
// Cases:
//   - A command: argv holds its arguments, one at least, appended to args[:0].
//     They alias buf. n bytes are consumed.
//   - No complete command: argv is nil. n is usually 0; it is more when buf
//     begins with requests that Redis ignores (empty lines, "*0", "*-1").
//     The caller drops n bytes, reads (see Need), and calls again.
//   - A protocol error: argv is nil and err is a *ProtocolError. Commands
//     before it were returned by earlier calls. Every later call gives the
//     same error.
//
// Next may write to buf: inline arguments are unquoted in place, and any two
// bytes that stand where a line must end (Redis does not look at them) become
// CR LF, which redcon insists on.
func (f *Framer) Next(buf []byte, args [][]byte) (argv [][]byte, n int, err error) {
	if f.err != nil {
		return nil, 0, f.err
	}
	for n < len(buf) {
		b := buf[n:]
		var size int
		if b[0] == '*' {
			argv, size = f.command(b, args)
		} else {
			size, argv = f.inline(b, args[:0])
		}
		if f.err != nil {
			return nil, n, f.err
		}
		if size == 0 {
			f.held = len(b)
			return nil, n, nil
		}
		n += size
		f.pos, f.seen, f.count = 0, 0, 0
		if len(argv) > 0 {
			break
		}
	}
	f.held = 0
	if len(argv) == 0 {
		return nil, n, nil
	}
	return argv, n, nil
}

// command reads the array at the start of b and returns its arguments and its size,
// as array does.
func (f *Framer) command(b []byte, args [][]byte) (argv [][]byte, size int) {
	if f.pos == 0 && f.seen == 0 && !f.unauth {
		if argv, size = atOnce(b, args); size > 0 && size <= f.maxBulk() {
			f.count = len(argv)
			return argv, size
		}
	}
	if size = f.array(b); size > 0 && f.count > 0 {
		argv = f.decode(b[:size], args)
	}
	return argv, size
}

// decode lets redcon split a frame that array has proven complete. If the two
// disagree, that is a bug: the connection is closed rather than losing its
// position in the stream.
func (f *Framer) decode(frame []byte, args [][]byte) [][]byte {
	complete, argv, _, rest, err := redcon.ReadNextCommand(frame, args)
	if err != nil || !complete || len(rest) != 0 {
		f.fail("invalid request")
		return nil
	}
	return argv
}

func (f *Framer) fail(text string) { f.err = &ProtocolError{text: text} }

// array reads the array at the start of b, or what has come of it. It returns its
// size, or 0 if it is incomplete or wrong (f.err). f.count is the number of
// arguments, 0 for an array that Redis ignores.
func (f *Framer) array(b []byte) int {
	if f.count == 0 {
		if !f.countLine(b) {
			return 0
		}
		if f.count == 0 {
			return f.pos
		}
		f.left = f.count
	}
	for f.left > 0 {
		if !f.body && !f.bulkLine(b) {
			return 0
		}
		if f.bulk > len(b)-f.pos-2 {
			return 0
		}
		f.pos += f.bulk + 2
		f.body = false
		f.left--
		if b[f.pos-2] != '\r' || b[f.pos-1] != '\n' {
			b[f.pos-2], b[f.pos-1] = '\r', '\n'
		}
	}
	return f.pos
}

// countLine reads the header of an array. It reports false if the line is
// incomplete or wrong.
func (f *Framer) countLine(b []byte) bool {
	end, ok := f.line(b, "too big mbulk count string")
	if !ok {
		return false
	}
	count, ok := parseLength(b[f.pos+1 : end])
	switch {
	case !ok || count > maxArgs:
		f.fail("invalid multibulk length")
		return false
	case f.unauth && count > maxUnauthArgs:
		f.fail("unauthenticated multibulk length")
		return false
	}
	f.pos = end + 2
	f.count = int(max(count, 0))
	return true
}

// bulkLine reads the header of an argument. It reports false if the line is
// incomplete or wrong.
func (f *Framer) bulkLine(b []byte) bool {
	end, ok := f.line(b, "too big bulk count string")
	if !ok {
		return false
	}
	if c := b[f.pos]; c != '$' {
		if c == '\r' || c == '\n' {
			c = ' ' // an error is one line
		}
		f.fail("expected '$', got '" + string([]byte{c}) + "'")
		return false
	}
	size, ok := parseLength(b[f.pos+1 : end])
	switch {
	case !ok || size < 0 || size > int64(f.maxBulk()):
		f.fail("invalid bulk length")
		return false
	case f.unauth && size > maxUnauthBulk:
		f.fail("unauthenticated bulk length")
		return false
	}
	f.pos = end + 2
	f.bulk, f.body = int(size), true
	return true
}

// line finds the CR of the line at f.pos, which one more byte must follow (it
// becomes LF). If the line gets longer than MaxLine, tooBig is the error.
func (f *Framer) line(b []byte, tooBig string) (end int, ok bool) {
	rest := b[f.pos:]
	i := f.seen
	// Lines are a few bytes long: a loop beats a call of IndexByte.
	for i < len(rest) && rest[i] != '\r' {
		i++
	}
	f.seen = i
	if i > MaxLine {
		f.fail(tooBig)
		return 0, false
	}
	if i+2 > len(rest) {
		return 0, false
	}
	rest[i+1] = '\n'
	f.seen = 0
	return f.pos + i, true
}

// parseLength reads a decimal integer: an optional minus, no plus, no leading
// zeros, no blanks. It reports false for anything else and on overflow.
func parseLength(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	// 19 digits fit an unsigned integer.
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if len(digits) < len(b) {
		return -int64(n), n <= math.MaxInt64+1
	}
	return int64(n), n <= math.MaxInt64
}

func (f *Framer) maxBulk() int {
	if f.limit == 0 {
		return DefaultMaxBulk
	}
	return f.limit
}

// Understood is how much of the pending command is understood: its headers and its
// complete arguments.
func (f *Framer) Understood() int { return f.pos }

// Need is the minimum number of bytes that must arrive before Next can return
// the command whose start it has seen: the rest of the argument being read and
// six bytes for each that follows. It is 1 if nothing is known, never less.
func (f *Framer) Need() int {
	const smallest = len("$0\r\n\r\n")
	const many = 1 << 20 // arguments that count, against overflow
	if f.held == 0 || f.count == 0 {
		return 1
	}
	need, left := 0, f.left
	if f.body {
		need = f.bulk + 2
		left--
	}
	need += min(left, many) * smallest
	return max(need-(f.held-f.pos), 1)
}

// Room is the space that the caller should have free in its buffer for the next
// read, when the buffer holds held bytes of a pending command: what is needed, but
// no more than what has arrived already, or from 1 MiB on seven times as much, and
// 16 KiB at least. A client that announces 512 MiB thus makes the buffer grow only
// as it sends, and an honest one still gets there in a few steps, without bytes
// beyond the end of its argument. Each step copies what the client has sent, and the
// old buffers are garbage: with doublings that would be as much again.
func (f *Framer) Room(held int) int {
	const least, much = 16 << 10, 1 << 20
	most := held
	if held >= much {
		most = 7 * held
	}
	return max(min(f.Need(), most), least)
}
