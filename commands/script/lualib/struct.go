package lualib

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func structLibrary() library {
	return library{"pack": structPack, "unpack": structUnpack, "size": structSize}
}

// maxIntSize is how many bytes an integer has at most.
const maxIntSize = 32

// A layout reads a format: its options one after the other, some of which change the order
// of bytes and the alignment of what follows.
type layout struct {
	c     call
	fmt   string
	big   bool
	align int
}

func newLayout(c call) *layout { return &layout{c: c, fmt: cString(c.text(1)), align: 1} }

// next returns the next option and its size in bytes.
func (l *layout) next() (opt byte, size int) {
	l.c.step(1)
	opt, l.fmt = l.fmt[0], l.fmt[1:]
	switch opt {
	case 'B', 'b', 'x':
		return opt, 1
	case 'H', 'h':
		return opt, 2
	case 'L', 'l', 'T', 'd':
		return opt, 8
	case 'f':
		return opt, 4
	case 'c':
		return opt, l.number(1)
	case 'i', 'I':
		size = l.number(4)
		if size > maxIntSize {
			l.c.errorf("integral size %d is larger than limit of %d", size, maxIntSize)
		}
		return opt, size
	}
	return opt, 0
}

// number reads a number, or returns what it is if there is none.
func (l *layout) number(missing int) int {
	if l.fmt == "" || !isDigit(l.fmt[0]) {
		return missing
	}
	n := 0
	for l.fmt != "" && isDigit(l.fmt[0]) {
		if n = n*10 + int(l.fmt[0]-'0'); n > maxInt32 {
			l.c.raise("integral size overflow")
		}
		l.fmt = l.fmt[1:]
	}
	return n
}

// padding returns how many bytes align an element of a size at a position. Sizes that are
// no power of 2 are masked as if they were, as in C.
func (l *layout) padding(at int, opt byte, size int) int {
	if size == 0 || opt == 'c' {
		return 0
	}
	size = min(size, l.align)
	return (size - at&(size-1)) & (size - 1)
}

// control applies an option that changes how others are read.
func (l *layout) control(opt byte) {
	switch opt {
	case ' ':
	case '>':
		l.big = true
	case '<':
		l.big = false
	case '!':
		n := l.number(8)
		if n <= 0 || n&(n-1) != 0 {
			l.c.errorf("alignment %d is not a power of 2", n)
		}
		l.align = n
	default:
		l.c.argError(1, "invalid format option '"+string([]byte{opt})+"'")
	}
}

// bytes writes the lowest bytes of a number in the order of bytes; those above 8 are 0.
func (l *layout) bytes(n uint64, size int) string {
	b := make([]byte, size)
	for i := range b {
		at := i
		if l.big {
			at = size - 1 - i
		}
		b[at] = byte(n)
		n >>= 8
	}
	return string(b)
}

// integer reads what bytes writes, and loses what is above 8 bytes.
func (l *layout) integer(b string) uint64 {
	var n uint64
	for i := range len(b) {
		at := i
		if !l.big {
			at = len(b) - 1 - i
		}
		n = n<<8 | uint64(b[at])
	}
	return n
}

func structSize(c call) int {
	l, total := newLayout(c), 0
	for l.fmt != "" {
		opt, size := l.next()
		total += l.padding(total, opt, size)
		switch {
		case opt == 's':
			c.argError(1, "option 's' has no fixed size")
		case opt == 'c' && size == 0:
			c.argError(1, "option 'c0' has no fixed size")
		case !isAlnum(opt):
			l.control(opt)
		}
		total += size
	}
	return c.pushNumber(float64(total))
}

func structPack(c call) int {
	l, out := newLayout(c), &buffer{c: c}
	c.L.Push(lua.LNil) // a missing argument is nil to C's code
	arg := 2
	for total := 0; l.fmt != ""; {
		opt, size := l.next()
		pad := l.padding(total, opt, size)
		total += pad
		out.add(strings.Repeat("\x00", pad))
		switch opt {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			out.add(l.bytes(toUnsigned(c.number(arg)), size))
			arg++
		case 'x':
			out.addByte(0)
		case 'f':
			out.add(l.bytes(uint64(math.Float32bits(float32(c.number(arg)))), 4))
			arg++
		case 'd':
			out.add(l.bytes(math.Float64bits(c.number(arg)), 8))
			arg++
		case 'c', 's':
			size = l.packText(out, opt, arg, size)
			arg++
		default:
			l.control(opt)
		}
		total += size
	}
	return c.pushText(out.text())
}

// packText writes a string, whole if size is 0, and returns how many bytes it has then.
func (l *layout) packText(out *buffer, opt byte, arg, size int) int {
	s := l.c.text(arg)
	if size == 0 {
		size = len(s)
	}
	if len(s) < size {
		l.c.argError(arg+1, "string too short")
	}
	out.add(s[:size])
	if opt == 's' {
		out.addByte(0)
		size++
	}
	return size
}

// toUnsigned converts as C does where negative numbers go through a signed integer.
func toUnsigned(f float64) uint64 {
	if f < 0 {
		return uint64(toInt64(f))
	}
	return toUint64(f)
}

func structUnpack(c call) int {
	l, data := newLayout(c), c.text(2)
	start := c.optInteger(3, 1)
	if start == 0 {
		c.argError(3, "offset must be 1 or greater")
	}
	u := unpacker{layout: l, data: data, at: int(start - 1)}
	for l.fmt != "" {
		opt, size := l.next()
		u.at += l.padding(u.at, opt, size)
		u.need(size)
		if len(u.values)+3 > maxStack {
			c.raise("stack overflow (too many results)")
		}
		u.at += u.value(opt, size)
	}
	return c.push(u.values...) + c.pushNumber(float64(u.at+1))
}

type unpacker struct {
	*layout
	data   string
	at     int
	values []lua.LValue
}

// need raises an error if so many bytes are not there. A position that is negative is far
// behind the end to C.
func (u *unpacker) need(size int) {
	if u.at < 0 || size > len(u.data) || u.at > len(u.data)-size {
		u.c.argError(2, "data string too short")
	}
}

// value reads a value and returns how many bytes it has.
func (u *unpacker) value(opt byte, size int) int {
	switch opt {
	case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
		u.add(u.signed(u.integer(u.data[u.at:u.at+size]), isLower(opt), size))
	case 'x':
	case 'f':
		u.add(lua.LNumber(math.Float32frombits(uint32(u.integer(u.data[u.at : u.at+4])))))
	case 'd':
		u.add(lua.LNumber(math.Float64frombits(u.integer(u.data[u.at : u.at+8]))))
	case 'c':
		if size == 0 {
			size = u.previousSize()
			u.need(size)
		}
		u.add(lua.LString(u.data[u.at : u.at+size]))
	case 's':
		n := strings.IndexByte(u.data[u.at:], 0)
		if n < 0 {
			u.c.raise("unfinished string in data")
		}
		u.add(lua.LString(u.data[u.at : u.at+n]))
		return n + 1
	default:
		u.control(opt)
	}
	return size
}

func (u *unpacker) add(v lua.LValue) { u.values = append(u.values, v) }

// previousSize takes the last value off, which is the size of what follows.
func (u *unpacker) previousSize() int {
	n := len(u.values)
	if n == 0 {
		u.c.raise("format 'c0' needs a previous size")
	}
	f, ok := toNumber(u.values[n-1])
	if !ok {
		u.c.raise("format 'c0' needs a previous size")
	}
	u.values = u.values[:n-1]
	if size := toUint64(f); size <= math.MaxInt {
		return int(size)
	}
	return math.MaxInt
}

// signed returns an integer of a size as a number. The sign of one of more than 8 bytes is
// that of a bit that the size wraps around to, as in C.
func (u *unpacker) signed(n uint64, signed bool, size int) lua.LNumber {
	if !signed {
		return lua.LNumber(n)
	}
	mask := ^uint64(0) << (uint(size*8-1) & 63)
	if n&mask != 0 {
		n |= mask
	}
	return lua.LNumber(int64(n))
}
