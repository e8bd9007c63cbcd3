package hash

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/shapes"
)

// A small hash rests without its fields if they are those of a shape (see shapes.Shapes): its
// buffer has the values alone, in the order of the shape:
//
//	length of the value (uvarint) | value ...
//
// It stays bare for as long as it is only read, and is dressed before it changes.

// The fields of a shape: so many at most, and each so short that its entry has one byte for its
// length.
const (
	bareFields = 32
	bareField  = 0x7f >> 1
)

// findShape returns the shape of the fields of a small hash, nil if it has none. One with an expiry
// has none.
func (h *Hash) findShape() *shapes.Shape {
	switch {
	case h.table != nil || h.tagged || h.keys.Shapes == nil:
		return nil
	case h.shape != nil:
		return h.shape
	case h.last != nil && h.hasShape(h.last):
		h.shape = h.last
		return h.last
	case h.count == 0 || h.count > bareFields:
		return nil
	}
	var list [shapes.MaxBytes]byte
	names := list[:0]
	for at := 0; at < len(h.pack); {
		e := readEntry(h.pack, at)
		if len(e.field) > bareField || len(names)+1+len(e.field) > len(list) {
			return nil
		}
		names = append(append(names, byte(len(e.field))), e.field...)
		at += e.size
	}
	h.shape = h.keys.Shapes.Find(names, h.count, h.keys.Fields.Sum)
	h.last = h.shape
	return h.shape
}

// hasShape reports whether the fields are those of a shape.
func (h *Hash) hasShape(shape *shapes.Shape) bool {
	if h.count != shape.Len {
		return false
	}
	names := shape.Names
	for at := 0; at < len(h.pack); {
		e := readEntry(h.pack, at)
		n := 1 + int(names[0])
		if !bytes.Equal(e.field, names[1:n]) {
			return false
		}
		names = names[n:]
		at += e.size
	}
	return true
}

// appendBare appends the values of a hash whose fields are those of a shape.
func (h *Hash) appendBare(dst []byte) []byte {
	if h.bare {
		return append(dst, h.pack...)
	}
	for at := 0; at < len(h.pack); {
		e := readEntry(h.pack, at)
		dst = append(binary.AppendUvarint(dst, uint64(len(e.value))), e.value...)
		at += e.size
	}
	return dst
}

// bareEach visits the entries of a bare hash until visit returns false.
func (h *Hash) bareEach(visit func(e entry) bool) {
	names := h.shape.Names
	for at := 0; at < len(h.pack); {
		e, n := bareEntry(h.pack, at), 1+int(names[0])
		e.field, names = names[1:n:n], names[n:]
		at += e.size
		if !visit(e) {
			return
		}
	}
}

// bareFind finds a field of a bare hash.
func (h *Hash) bareFind(field []byte) (entry, bool) {
	names, buf := h.shape.Names, h.pack
	for at := 0; at < len(buf); {
		n := 1 + int(names[0])
		if n == 1+len(field) && bytes.Equal(names[1:n], field) {
			e := bareEntry(buf, at)
			e.field = names[1:n:n]
			return e, true
		}
		names = names[n:]
		if size := int(buf[at]); size < 0x80 { // as usual
			at += 1 + size
		} else {
			at += bareEntry(buf, at).size
		}
	}
	return entry{}, false
}

// barePut sets a field that a bare hash has, which stays bare, and reports whether that is all that
// there is to do.
func (h *Hash) barePut(field, value []byte, expiry int64) bool {
	if expiry > 0 {
		return false
	}
	e, found := h.bareFind(field)
	if found && expiry != onlyNew {
		size := structures.UvarintLen(uint64(len(value)))
		h.packResize(e.at, e.size, size+len(value))
		binary.PutUvarint(h.pack[e.at:], uint64(len(value)))
		copy(h.pack[e.at+size:], value)
	}
	return found
}

// bareEntry reads the value at an offset of the buffer of a bare hash.
func bareEntry(buf []byte, at int) entry {
	size, w := int(buf[at]), 1
	if size >= 0x80 {
		size, w = structures.ReadUvarint(buf[at:])
	}
	from, end := at+w, at+w+size
	return entry{value: buf[from:end:end], at: at, size: w + size}
}

// dressed is the size of the buffer of a small hash with its fields.
func (h *Hash) dressed() int {
	if !h.bare {
		return len(h.pack)
	}
	return len(h.pack) + len(h.shape.Names)
}

// dress puts the fields of a bare hash into its buffer. It does nothing to another one.
func (h *Hash) dress() {
	if !h.bare {
		return
	}
	// The values go to the end of the buffer, so that each entry, written from the front, ends
	// before the values that are still to be read.
	size, bare := h.dressed(), len(h.pack)
	h.pack = slices.Grow(h.pack, size-bare)[:size]
	at := size - bare
	copy(h.pack[at:], h.pack[:bare])
	h.bare = false
	for names, w := h.shape.Names, 0; at < size; {
		value, n := bareEntry(h.pack, at), 1+int(names[0])
		at += value.size
		h.pack[w] = names[0] << 1
		w++
		w += binary.PutUvarint(h.pack[w:], uint64(len(value.value)))
		w += copy(h.pack[w:], names[1:n])
		w += copy(h.pack[w:], value.value)
		names = names[n:]
	}
}
