package lualib

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxUnpacked is how deeply arrays and maps nest in what is unpacked. C's stack ends
// somewhat later, and with it redis-server.
const maxUnpacked = 1000

// A msgpackDecoder reads values off the start of s.
type msgpackDecoder struct {
	c     call
	s     string
	depth int
}

// take returns the next n bytes, without which the input is cut off.
func (d *msgpackDecoder) take(n int) string {
	if len(d.s) < n {
		d.c.raise("Missing bytes in input.")
	}
	b := d.s[:n]
	d.s = d.s[n:]
	return b
}

// number returns the next n bytes as a big-endian number.
func (d *msgpackDecoder) number(n int) uint64 {
	var b [8]byte
	copy(b[8-n:], d.take(n))
	return binary.BigEndian.Uint64(b[:])
}

func (d *msgpackDecoder) value() lua.LValue {
	d.c.step(1)
	kind := d.take(1)[0]
	switch {
	case kind < 0x80:
		return lua.LNumber(kind)
	case kind < 0x90:
		return d.mapping(int(kind & 0xf))
	case kind < 0xa0:
		return d.array(int(kind & 0xf))
	case kind < 0xc0:
		return lua.LString(d.take(int(kind & 0x1f)))
	case kind >= 0xe0:
		return lua.LNumber(int8(kind))
	}
	return d.long(kind)
}

// long reads a value whose size or number follows its type.
func (d *msgpackDecoder) long(kind byte) lua.LValue {
	switch kind {
	case 0xc0:
		return lua.LNil
	case 0xc2, 0xc3:
		return lua.LBool(kind == 0xc3)
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(d.number(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(d.number(8)))
	case 0xcc, 0xcd, 0xce:
		return lua.LNumber(d.number(1 << (kind - 0xcc)))
	case 0xcf: // C takes it for a signed one
		return lua.LNumber(int64(d.number(8)))
	case 0xd0:
		return lua.LNumber(int8(d.number(1)))
	case 0xd1:
		return lua.LNumber(int16(d.number(2)))
	case 0xd2:
		return lua.LNumber(int32(d.number(4)))
	case 0xd3:
		return lua.LNumber(int64(d.number(8)))
	case 0xd9, 0xda, 0xdb:
		return lua.LString(d.take(int(d.number(1 << (kind - 0xd9)))))
	case 0xdc, 0xdd:
		return d.array(int(d.number(2 << (kind - 0xdc))))
	case 0xde, 0xdf:
		return d.mapping(int(d.number(2 << (kind - 0xde))))
	}
	d.c.raise("Bad data format in input.")
	return nil
}

// descend enters an array or map and returns its table, with room for a few of its entries.
func (d *msgpackDecoder) descend(list, entries int) *lua.LTable {
	if d.depth++; d.depth > maxUnpacked {
		d.c.raise("Too many nested arrays and maps in input.")
	}
	d.c.take(tableSize)
	return d.c.L.CreateTable(min(list, 8), min(entries, 8))
}

// array reads n elements. Memory is taken as they come, whatever n says.
func (d *msgpackDecoder) array(n int) lua.LValue {
	t := d.descend(n, 0)
	for i := 1; i <= n; i++ {
		if i&(i-1) == 0 {
			d.c.take(i * valueSize) // it doubles
		}
		t.RawSetInt(i, d.value())
	}
	d.depth--
	return t
}

func (d *msgpackDecoder) mapping(n int) lua.LValue {
	t := d.descend(0, n)
	for range n {
		key := d.value()
		v := d.value()
		d.c.take(entrySize)
		d.c.rawSet(t, key, v)
	}
	d.depth--
	return t
}
