package hash

import (
	"bytes"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures/shapes"
)

// A small hash is packed while it has no more than this.
const (
	packFields = 64
	packBytes  = 4096
	// restedPuts is how often one that has rested is changed before packFields count. By then the searches have taken as long as
	// making a table of it.
	restedPuts = 32
)

// pack is a small hash: one buffer of entries in the order of their arrival, which is
// searched from the front. For a few dozen fields that is as fast as a table
// and takes no memory but the fields'.
type pack struct {
	buf []byte
	// shape has the fields in their order unless the pack is loose. Then it is the one
	// that the pack, or the one that had this memory before, had last, if any.
	shape *shapes.Shape
	form  form
}

// form is what is known of the fields of a pack.
type form uint8

const (
	loose  form = iota
	shaped      // they are those of the shape
	bare        // and the buffer has the values alone, see bare.go
)

// find finds a field.
func (p *pack) find(field []byte) (entry, bool) {
	if p.form == bare {
		return p.bareFind(field)
	}
	buf := p.buf
	for at := 0; at < len(buf); {
		head, size := int(buf[at]), int(buf[at+1])
		if head|size >= 0x80 {
			e := readEntry(buf, at)
			if bytes.Equal(e.field, field) {
				return e, true
			}
			at += e.size
			continue
		}
		// The usual entry has one byte for each length, and is read only if
		// its field has the right length and last byte.
		end := at + 2 + (head&1)*8 + head>>1
		if head>>1 == len(field) && (head < 2 || buf[end-1] == field[len(field)-1]) &&
			bytes.Equal(buf[end-head>>1:end], field) {
			return readEntry(buf, at), true
		}
		at = end + size
	}
	return entry{}, false
}

// each visits the entries until visit returns false.
func (p *pack) each(visit func(e entry) bool) {
	if p.form == bare {
		p.bareEach(visit)
		return
	}
	for at := 0; at < len(p.buf); {
		e := readEntry(p.buf, at)
		if !visit(e) {
			return
		}
		at += e.size
	}
}

// put sets a field, and returns the expiry that it had (0 for none).
func (p *pack) put(field, value []byte, expiry int64) (was int64, created bool) {
	if p.form == bare && p.barePut(field, value, expiry) {
		return 0, false
	}
	p.dress()
	e, found := p.find(field)
	if !found {
		expiry = max(expiry, 0)
		e.at, p.form = len(p.buf), loose
	} else if expiry == onlyNew {
		return e.expiry, false
	} else if expiry == keepExpiry {
		expiry = e.expiry
	}
	need := hashEntrySize(field, value, expiry)
	p.resize(e.at, e.size, need)
	writeHashEntry(p.buf[e.at:], field, value, expiry)
	return e.expiry, !found
}

// remove takes out an entry. The pack must not be bare.
func (p *pack) remove(e *entry) {
	p.form = loose
	p.resize(e.at, e.size, 0)
}

// resize gives the bytes at an offset another size. It moves what follows
// and leaves the bytes themselves undefined.
func (p *pack) resize(at, size, want int) {
	buf := p.buf
	end := len(buf) + want - size
	if end > cap(buf) {
		room := max(end, min(end+end/4, packBytes))
		grown := slices.Grow([]byte(nil), room)[:end]
		copy(grown, buf[:at])
		copy(grown[at+want:], buf[at+size:])
		p.buf = grown
		return
	}
	if want > size {
		buf = buf[:end]
	}
	copy(buf[at+want:], p.buf[at+size:])
	p.buf = buf[:end]
	if cap(p.buf) > 256 && end < cap(p.buf)/4 {
		p.buf = slices.Clone(p.buf)
	}
}

// expire deletes up to limit expired fields, and returns the earliest expiry of the others.
func (p *pack) expire(now int64, limit int, expire func(e *entry)) int64 {
	nextExpiry := int64(math.MaxInt64)
	for at := 0; at < len(p.buf); {
		e := readEntry(p.buf, at)
		if e.expired(now) && limit > 0 {
			expire(&e)
			p.remove(&e)
			limit--
			continue
		}
		if e.expiry != 0 {
			nextExpiry = min(nextExpiry, e.expiry)
		}
		at += e.size
	}
	return nextExpiry
}
