package lualib

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxPacked is how deeply tables nest in what is packed; deeper ones become nil.
const maxPacked = 16

// msgpackPack returns its arguments packed one after the other.
func msgpackPack(c call) int {
	n := c.L.GetTop()
	if n == 0 {
		c.argError(0, "MessagePack pack needs input.")
	}
	e := msgpackEncoder{c, &buffer{c: c}}
	for i := 1; i <= n; i++ {
		e.value(c.L.Get(i), 0)
	}
	return c.pushText(e.out.text())
}

type msgpackEncoder struct {
	c   call
	out *buffer
}

// head writes a type and a big-endian number of 1, 2, 4 or 8 bytes.
func (e msgpackEncoder) head(kind byte, n uint64, size int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	e.out.addByte(kind)
	e.out.add(string(b[8-size:]))
}

func (e msgpackEncoder) value(v lua.LValue, depth int) {
	e.c.step(1)
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.number(float64(v))
	case lua.LBool:
		if v {
			e.out.addByte(0xc3)
		} else {
			e.out.addByte(0xc2)
		}
	case *lua.LTable:
		if depth == maxPacked {
			e.out.addByte(0xc0)
			return
		}
		e.table(v, depth)
	default:
		e.out.addByte(0xc0)
	}
}

func (e msgpackEncoder) text(s string) {
	switch n := len(s); {
	case n < 32:
		e.out.addByte(0xa0 | byte(n))
	case n <= math.MaxUint8:
		e.head(0xd9, uint64(n), 1)
	case n <= math.MaxUint16:
		e.head(0xda, uint64(n), 2)
	default:
		e.head(0xdb, uint64(n), 4)
	}
	e.c.step(len(s) / 1024)
	e.out.add(s)
}

// number writes an integer of 64 bits as one in as few bytes as it needs, and other
// numbers as a float, of 4 bytes if that is exact.
func (e msgpackEncoder) number(f float64) {
	n := toInt64(f)
	switch {
	case !math.IsInf(f, 0) && float64(n) == f:
		e.integer(n)
	case float64(float32(f)) == f:
		e.head(0xca, uint64(math.Float32bits(float32(f))), 4)
	default:
		e.head(0xcb, math.Float64bits(f), 8)
	}
}

func (e msgpackEncoder) integer(n int64) {
	switch {
	case n >= 0 && n <= math.MaxInt8 || n < 0 && n >= -32:
		e.out.addByte(byte(n))
	case n >= 0 && n <= math.MaxUint8:
		e.head(0xcc, uint64(n), 1)
	case n >= 0 && n <= math.MaxUint16:
		e.head(0xcd, uint64(n), 2)
	case n >= 0 && n <= math.MaxUint32:
		e.head(0xce, uint64(n), 4)
	case n >= 0:
		e.head(0xcf, uint64(n), 8)
	case n >= math.MinInt8:
		e.head(0xd0, uint64(n), 1)
	case n >= math.MinInt16:
		e.head(0xd1, uint64(n), 2)
	case n >= math.MinInt32:
		e.head(0xd2, uint64(n), 4)
	default:
		e.head(0xd3, uint64(n), 8)
	}
}

// table writes a table as an array if its keys are 1 to n, as a map otherwise.
func (e msgpackEncoder) table(t *lua.LTable, depth int) {
	n, list := e.count(t)
	if list {
		e.size(0x90, 0xdc, n)
		for i := 1; i <= n; i++ {
			e.value(e.c.L.GetTable(t, lua.LNumber(i)), depth+1)
		}
		return
	}
	e.size(0x80, 0xde, n)
	for key, v := t.Next(lua.LNil); key != lua.LNil; key, v = t.Next(key) {
		e.value(key, depth+1)
		e.value(v, depth+1)
	}
}

// size writes the size of an array or map: in the byte of its type, or in two or four
// bytes after the types long and long+1.
func (e msgpackEncoder) size(short, long byte, n int) {
	switch {
	case n <= 15:
		e.out.addByte(short | byte(n))
	case n <= math.MaxUint16:
		e.head(long, uint64(n), 2)
	default:
		e.head(long+1, uint64(n), 4)
	}
}

// count returns how many entries a table has and whether their keys are 1 to n.
func (e msgpackEncoder) count(t *lua.LTable) (n int, list bool) {
	most := 0.0
	list = true
	for key, _ := t.Next(lua.LNil); key != lua.LNil; key, _ = t.Next(key) {
		e.c.step(1)
		n++
		k, ok := key.(lua.LNumber)
		if !ok || k <= 0 || lua.LNumber(toInt32(float64(k))) != k {
			list = false
		}
		most = max(most, float64(k))
	}
	return n, list && most == float64(n)
}
