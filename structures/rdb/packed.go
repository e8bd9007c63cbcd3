package rdb

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/vigildb/vigil/structures"
)

// walker visits the elements of a value that Redis packs into one string. An
// element is valid during its call. The first error of visit ends the walk.
type walker func(b []byte, visit func(elem []byte) error) error

func damaged(what string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), structures.ErrCorrupt)
}

// packEnd ends ziplists, zipmaps and listpacks.
const packEnd = 0xff

// signed reads an integer of up to 8 bytes, little endian.
func signed(b []byte) int64 {
	var v uint64
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	shift := 64 - 8*len(b)
	return int64(v<<shift) >> shift
}

// entry is what the first bytes of an element say: a number, or that size bytes
// of text follow head bytes.
type entry struct {
	number     int64
	isNumber   bool
	head, size int // bytes before the text; bytes of the text
}

// text returns the element. A number is spelt into room.
func (e *entry) text(b, room []byte) []byte {
	if e.isNumber {
		return strconv.AppendInt(room[:0], e.number, 10)
	}
	return b[e.head : e.head+e.size]
}

// walkListpack visits the elements of a listpack:
//
//	bytes (4) | elements (2), 65535: more than that | element... | 0xff
//	element = head | text | bytes of both, in groups of 7 bits to be read from behind
func walkListpack(b []byte, visit func(elem []byte) error) error {
	if len(b) < 7 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)) || b[len(b)-1] != packEnd {
		return damaged("listpack of %d bytes", len(b))
	}
	count, seen := int(binary.LittleEndian.Uint16(b[4:])), 0
	var room [20]byte
	for rest := b[6 : len(b)-1]; len(rest) > 0; seen++ {
		e, ok := listpackEntry(rest)
		if !ok || e.size > len(rest)-e.head {
			return damaged("element %d of a listpack", seen)
		}
		n := e.head + e.size
		back := backLength(n)
		if back > len(rest)-n || !isBackLength(rest[n:n+back], n) {
			return damaged("length of element %d of a listpack", seen)
		}
		if err := visit(e.text(rest, room[:])); err != nil {
			return err
		}
		rest = rest[n+back:]
	}
	if count != seen && count != 0xffff {
		return damaged("listpack of %d elements has %d", count, seen)
	}
	return nil
}

// walkIntset visits the elements of an intset, spelt as text:
//
//	bytes of an integer (4): 2, 4 or 8 | integers (4) | integer..., little endian, ascending
func walkIntset(b []byte, visit func(elem []byte) error) error {
	if len(b) < 8 {
		return damaged("intset of %d bytes", len(b))
	}
	width, count := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	rest := b[8:]
	if width != 2 && width != 4 && width != 8 || uint64(width)*uint64(count) != uint64(len(rest)) {
		return damaged("intset of %d integers of %d bytes in %d", count, width, len(rest))
	}
	var room [20]byte
	for last := int64(0); len(rest) > 0; rest = rest[width:] {
		v := signed(rest[:width])
		if len(rest) < len(b)-8 && v <= last {
			return damaged("intset with %d behind %d", v, last)
		}
		last = v
		if err := visit(strconv.AppendInt(room[:0], v, 10)); err != nil {
			return err
		}
	}
	return nil
}

// numberEntry reads an element that is a number of n bytes after its first one,
// in either form.
func numberEntry(b []byte, n int) (entry, bool) {
	if len(b) <= n {
		return entry{}, false
	}
	return entry{number: signed(b[1 : 1+n]), isNumber: true, head: 1 + n}, true
}

// listpackEntry reads the head of an element.
func listpackEntry(b []byte) (e entry, ok bool) {
	first := b[0]
	switch {
	case first < 0x80: // 7 bits
		return entry{number: int64(first), isNumber: true, head: 1}, true
	case first < 0xc0:
		return entry{head: 1, size: int(first & 0x3f)}, true
	case first < 0xe0: // 13 bits
		if len(b) < 2 {
			return entry{}, false
		}
		v := int64(first&0x1f)<<8 | int64(b[1])
		return entry{number: v << 51 >> 51, isNumber: true, head: 2}, true
	case first < 0xf0:
		if len(b) < 2 {
			return entry{}, false
		}
		return entry{head: 2, size: int(first&0xf)<<8 | int(b[1])}, true
	case first == 0xf0:
		if len(b) < 5 {
			return entry{}, false
		}
		return entry{head: 5, size: int(binary.LittleEndian.Uint32(b[1:]))}, true
	case first <= 0xf3: // 16, 24, 32 bits
		return numberEntry(b, int(first)-0xef)
	case first == 0xf4:
		return numberEntry(b, 8)
	}
	return entry{}, false
}

// backLength is the number of bytes in which a listpack writes a length. The
// bounds are the same as in Redis: some lengths take a byte more than they
// need.
func backLength(n int) int {
	switch {
	case n <= 1<<7-1:
		return 1
	case n < 1<<14-1:
		return 2
	case n < 1<<21-1:
		return 3
	case n < 1<<28-1:
		return 4
	}
	return 5
}

// isBackLength reports whether b is n: the lowest 7 bits stand last, and every
// byte but the first says that more are before it.
func isBackLength(b []byte, n int) bool {
	for i := len(b) - 1; i >= 0; i-- {
		want := byte(n & 0x7f)
		if i > 0 {
			want |= 0x80
		}
		if b[i] != want {
			return false
		}
		n >>= 7
	}
	return n == 0
}
