package lualib

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A spec is one item of a format: %, flags, width, precision (-1 if there is none) and
// what is to be written.
type spec struct {
	flags            string
	width, precision int
	verb             byte
}

func (s spec) has(flag byte) bool { return strings.IndexByte(s.flags, flag) >= 0 }

// stringFormat is C's printf with the formats that Lua allows. Items have at most 99
// bytes of width and of precision.
func stringFormat(c call) int {
	format := cText{c.text(1), 0}
	out := &buffer{c: c}
	for arg := 1; format.more(); {
		if x := format.next(); x != '%' {
			out.addByte(x)
			continue
		}
		if format.peek() == '%' {
			out.addByte(format.next())
			continue
		}
		if arg++; c.none(arg) {
			c.argError(arg, "no value")
		}
		c.formatItem(out, c.scanSpec(&format), arg)
	}
	return c.pushText(out.text())
}

// cText is a string that is read as C does, which finds a NUL after the end.
type cText struct {
	s string
	i int
}

func (t *cText) more() bool { return t.i < len(t.s) }

func (t *cText) peek() byte {
	if t.i < len(t.s) {
		return t.s[t.i]
	}
	return 0
}

func (t *cText) next() byte {
	b := t.peek()
	t.i++
	return b
}

// digits reads a number of at most two digits.
func (t *cText) digits() (n int, ok bool) {
	for range 2 {
		if isDigit(t.peek()) {
			n, ok = n*10+int(t.next()-'0'), true
		}
	}
	return n, ok
}

func (c call) scanSpec(t *cText) spec {
	s := spec{precision: -1}
	start := t.i
	for t.peek() != 0 && strings.IndexByte("-+ #0", t.peek()) >= 0 {
		t.i++
	}
	if s.flags = t.s[min(start, len(t.s)):min(t.i, len(t.s))]; len(s.flags) > 5 {
		c.raise("invalid format (repeated flags)")
	}
	s.width, _ = t.digits()
	if t.peek() == '.' {
		t.i++
		s.precision, _ = t.digits()
	}
	if isDigit(t.peek()) {
		c.raise("invalid format (width or precision too long)")
	}
	s.verb = t.next()
	return s
}

func (c call) formatItem(out *buffer, s spec, arg int) {
	switch s.verb {
	case 'c':
		b := byte(0) // what does not fit an int of C becomes its least
		if f := c.number(arg); f > math.MinInt32-1 && f < math.MaxInt32+1 {
			b = byte(int32(f))
		}
		out.add(string(cutAtNUL(s.pad([]byte{b}))))
	case 'd', 'i':
		sign, n := s.sign(), toInt64(c.number(arg))
		if n < 0 {
			sign = "-"
		}
		out.add(s.digits(sign, magnitude(n), 10))
	case 'u':
		out.add(s.unsigned(toUint64(c.number(arg)), 10))
	case 'o':
		out.add(s.unsigned(toUint64(c.number(arg)), 8))
	case 'x', 'X':
		out.add(s.unsigned(toUint64(c.number(arg)), 16))
	case 'e', 'E', 'f', 'g', 'G':
		out.add(s.float(c.number(arg)))
	case 'q':
		addQuoted(out, c.text(arg))
	case 's':
		text := c.text(arg)
		if s.precision < 0 && len(text) >= 100 {
			out.add(text)
			return
		}
		text = cString(text)
		if s.precision >= 0 && len(text) > s.precision {
			text = text[:s.precision]
		}
		out.add(string(s.pad([]byte(text))))
	default:
		c.raise("invalid option '%" + string(cutAtNUL([]byte{s.verb})) + "' to 'format'")
	}
}

// pad fills up with spaces to the width.
func (s spec) pad(b []byte) []byte {
	space := strings.Repeat(" ", max(s.width-len(b), 0))
	if s.has('-') {
		return append(b, space...)
	}
	return append([]byte(space), b...)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// sign is what stands before a number that is not negative.
func (s spec) sign() string {
	switch {
	case s.has('+'):
		return "+"
	case s.has(' '):
		return " "
	}
	return ""
}

// unsigned writes a number without a sign, with a prefix if the flags ask for one.
func (s spec) unsigned(n uint64, base int) string {
	prefix := ""
	if s.has('#') && base == 16 && n != 0 {
		prefix = "0x"
	}
	text := s.digits(prefix, n, base)
	if s.verb == 'X' {
		return strings.ToUpper(text)
	}
	return text
}

func (s spec) digits(prefix string, n uint64, base int) string {
	text := strconv.FormatUint(n, base)
	if s.precision == 0 && n == 0 {
		text = ""
	}
	zeros := s.precision - len(text)
	if s.precision < 0 && s.has('0') && !s.has('-') {
		zeros = s.width - len(prefix) - len(text)
	}
	text = strings.Repeat("0", max(zeros, 0)) + text
	if s.has('#') && base == 8 && !strings.HasPrefix(text, "0") {
		text = "0" + text
	}
	return string(s.pad([]byte(prefix + text)))
}

// float writes a number with Go's printf, which has C's flags but not its infinities.
func (s spec) float(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		text := string(appendG(nil, f, 6))
		if !strings.HasPrefix(text, "-") {
			text = s.sign() + text
		}
		if isUpper(s.verb) {
			text = strings.ToUpper(text)
		}
		return string(s.pad([]byte(text)))
	}
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	return fmt.Sprintf("%"+s.flags+"*.*"+string(s.verb), s.width, precision, f)
}

// toUint64 converts as C does on amd64, where negative numbers wrap around.
func toUint64(f float64) uint64 {
	if f >= 1<<63 {
		return uint64(toInt64(f-1<<63)) ^ 1<<63
	}
	return uint64(toInt64(f))
}
