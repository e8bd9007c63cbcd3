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

// findShape finds the shape of the fields, so many as there are, nil if they have none.
func (p *pack) findShape(keys *structures.HashKeys, count int) *shapes.Shape {
	switch {
	case p.form != loose:
		return p.shape
	case p.shape != nil && p.hasShape(count):
		p.form = shaped
		return p.shape
	case count == 0 || count > bareFields:
		return nil
	}
	var list [shapes.MaxBytes]byte
	names := list[:0]
	for at := 0; at < len(p.buf); {
		e := readEntry(p.buf, at)
		if len(e.field) > bareField || len(names)+1+len(e.field) > len(list) {
			return nil
		}
		names = append(append(names, byte(len(e.field))), e.field...)
		at += e.size
	}
	if p.shape = keys.Shapes.Find(names, count, keys.Fields.Sum); p.shape != nil {
		p.form = shaped
	}
	return p.shape
}

// hasShape reports whether the fields, so many as there are, are those of the shape.
func (p *pack) hasShape(count int) bool {
	if count != p.shape.Len {
		return false
	}
	names := p.shape.Names
	for at := 0; at < len(p.buf); {
		e := readEntry(p.buf, at)
		n := 1 + int(names[0])
		if !bytes.Equal(e.field, names[1:n]) {
			return false
		}
		names = names[n:]
		at += e.size
	}
	return true
}

// appendBare appends the values of a pack whose fields are those of a shape.
func (p *pack) appendBare(dst []byte) []byte {
	if p.form == bare {
		return append(dst, p.buf...)
	}
	for at := 0; at < len(p.buf); {
		e := readEntry(p.buf, at)
		dst = append(binary.AppendUvarint(dst, uint64(len(e.value))), e.value...)
		at += e.size
	}
	return dst
}

// bareEach visits the entries of a bare pack until visit returns false.
func (p *pack) bareEach(visit func(e entry) bool) {
	names := p.shape.Names
	for at := 0; at < len(p.buf); {
		e, n := bareEntry(p.buf, at), 1+int(names[0])
		e.field, names = names[1:n:n], names[n:]
		at += e.size
		if !visit(e) {
			return
		}
	}
}

// bareFind finds a field of a bare pack.
func (p *pack) bareFind(field []byte) (entry, bool) {
	names, buf := p.shape.Names, p.buf
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

// barePut sets a field that a bare pack has, which stays bare, and reports whether that is all that
// there is to do.
func (p *pack) barePut(field, value []byte, expiry int64) bool {
	if expiry > 0 {
		return false
	}
	e, found := p.bareFind(field)
	if found && expiry != onlyNew {
		size := structures.UvarintLen(uint64(len(value)))
		p.resize(e.at, e.size, size+len(value))
		binary.PutUvarint(p.buf[e.at:], uint64(len(value)))
		copy(p.buf[e.at+size:], value)
	}
	return found
}

// bareEntry reads the value at an offset of the buffer of a bare pack.
func bareEntry(buf []byte, at int) entry {
	size, w := int(buf[at]), 1
	if size >= 0x80 {
		size, w = structures.ReadUvarint(buf[at:])
	}
	from, end := at+w, at+w+size
	return entry{value: buf[from:end:end], at: at, size: w + size}
}

// size is that of the buffer with the fields.
func (p *pack) size() int {
	if p.form != bare {
		return len(p.buf)
	}
	return len(p.buf) + len(p.shape.Names)
}

// dress puts the fields of a bare pack into its buffer. It does nothing to another one.
func (p *pack) dress() {
	if p.form != bare {
		return
	}
	// The values go to the end of the buffer, so that each entry, written from the front, ends
	// before the values that are still to be read.
	size, values := p.size(), len(p.buf)
	p.buf = slices.Grow(p.buf, size-values)[:size]
	at := size - values
	copy(p.buf[at:], p.buf[:values])
	p.form = shaped
	for names, w := p.shape.Names, 0; at < size; {
		value, n := bareEntry(p.buf, at), 1+int(names[0])
		at += value.size
		p.buf[w] = names[0] << 1
		w++
		w += binary.PutUvarint(p.buf[w:], uint64(len(value.value)))
		w += copy(p.buf[w:], names[1:n])
		w += copy(p.buf[w:], value.value)
		names = names[n:]
	}
}
