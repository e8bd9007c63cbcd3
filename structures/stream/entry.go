package stream

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Bytes of a page of entries. These numbers are on disk and never change; all of
// them are uvarints.
//
//	page    first ID (2) | fields | for each: string | entry ...
//	entry   milliseconds since the entry before << 2 | same << 1 | deleted
//	        | sequence number, or in the same millisecond what it is more than that before
//	        | fields and as many strings twice, field and value, unless same
//	        | as many strings, values, as the page has fields, if same
//	string  length | bytes
//
// The entry before the first one is taken to have the first ID. An entry with the
// fields of its page, in their order, is the same: those of a page are those of its
// first entry.
const (
	flagDeleted = 1
	flagSame    = 2
	flagBits    = 2
)

// Entry is an entry that is being visited. It is valid only during the visit.
type Entry struct {
	ID ID
	// names are the strings of the page's fields for an entry that has the same.
	names   []byte
	strings []byte
	pairs   int
	deleted bool
}

// Len is the number of fields.
func (e *Entry) Len() int { return e.pairs }

// Each visits the fields and their values in order.
func (e *Entry) Each(visit func(field, value []byte)) {
	names, rest := e.names, e.strings
	for range e.pairs {
		var field, value []byte
		if e.names != nil {
			field, names = cutString(names)
		} else {
			field, rest = cutString(rest)
		}
		value, rest = cutString(rest)
		visit(field, value)
	}
}

// cutString takes the first string off b, which is known to be good.
func cutString(b []byte) (s, rest []byte) {
	n, w := uint64(b[0]), 1
	if n >= 0x80 {
		n, w = binary.Uvarint(b)
	}
	end := w + int(n)
	return b[w:end:end], b[end:]
}

// span is entries in the order of their IDs: a page, or what is left of one that
// is read beside its stream. Its bytes are known to be good.
type span struct {
	buf   []byte
	names int // offset of the strings of the page's fields
	same  int // how many there are
	body  int // offset of the first entry
	// from is where reading begins and base the ID before it: what is before was deleted.
	from int
	base ID
}

// read fills e with the entry at offset at, which follows prev, and returns the
// offset behind it.
func (v *span) read(e *Entry, at int, prev ID) (end int) {
	b := v.buf
	head, w := uint64(b[at]), 1
	if head >= 0x80 {
		head, w = binary.Uvarint(b[at:])
	}
	at += w
	seq, w := uint64(b[at]), 1
	if seq >= 0x80 {
		seq, w = binary.Uvarint(b[at:])
	}
	at += w
	if delta := head >> flagBits; delta != 0 {
		e.ID = ID{prev.Ms + delta, seq}
	} else {
		e.ID = ID{prev.Ms, prev.Seq + seq}
	}
	e.deleted = head&flagDeleted != 0
	n := v.same
	if e.pairs = n; head&flagSame != 0 {
		e.names = b[v.names:v.body]
	} else {
		e.names = nil
		pairs, w := binary.Uvarint(b[at:])
		at += w
		e.pairs, n = int(pairs), 2*int(pairs)
	}
	from := at
	for range n {
		size := uint64(b[at])
		if size < 0x80 {
			at += 1 + int(size)
			continue
		}
		size, w := binary.Uvarint(b[at:])
		at += w + int(size)
	}
	e.strings = b[from:at]
	return at
}

// walk visits the entries from one ID to another, until visit returns false, which
// it reports. Deleted ones are passed over.
func (v *span) walk(from, to ID, visit func(e *Entry) bool) (more bool) {
	var e Entry
	prev := v.base
	for at := v.from; at < len(v.buf); prev = e.ID {
		at = v.read(&e, at, prev)
		switch {
		case e.deleted || e.ID.Less(from):
		case to.Less(e.ID):
			return true
		case !visit(&e):
			return false
		}
	}
	return true
}

// mark is where an entry begins, and the ID before it.
type mark struct {
	at   int
	prev ID
}

// walkBack is walk from the greatest ID to the least.
func (v *span) walkBack(from, to ID, visit func(e *Entry) bool) (more bool) {
	var room [128]mark
	marks := room[:0]
	var e Entry
	prev := v.base
	for at := v.from; at < len(v.buf); prev = e.ID {
		m := mark{at, prev}
		at = v.read(&e, at, prev)
		if to.Less(e.ID) {
			break
		}
		if !e.deleted && !e.ID.Less(from) {
			marks = append(marks, m)
		}
	}
	for i := len(marks) - 1; i >= 0; i-- {
		v.read(&e, marks[i].at, marks[i].prev)
		if !visit(&e) {
			return false
		}
	}
	return true
}

// reader takes a stored page apart, whose bytes may be anything.
type reader struct {
	b   []byte
	at  int
	bad bool
}

func (r *reader) uvarint() uint64 {
	v, w := binary.Uvarint(r.b[r.at:])
	if w <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.at += w
	return v
}

func (r *reader) string() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)-r.at) {
		r.bad = true
		return nil
	}
	s := r.b[r.at : r.at+int(n)]
	r.at += int(n)
	return s
}

// strings passes over n strings.
func (r *reader) strings(n uint64) {
	for ; n > 0 && !r.bad; n-- {
		r.string()
	}
}

// done returns ErrCorrupt if a read failed or bytes are left.
func (r *reader) done(what string) error {
	if r.bad || r.at != len(r.b) {
		return fmt.Errorf("%s at byte %d of %d: %w", what, r.at, len(r.b), structures.ErrCorrupt)
	}
	return nil
}

// id reads an ID.
func (r *reader) id() ID { return ID{r.uvarint(), r.uvarint()} }

func appendID(dst []byte, id ID) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, id.Ms), id.Seq)
}

// after returns the ID that an entry has behind prev. ok is false if it is not
// greater; the first entry of a page may be equal.
func after(prev ID, delta, seq uint64, first bool) (id ID, ok bool) {
	if delta != 0 {
		return ID{prev.Ms + delta, seq}, delta <= math.MaxUint64-prev.Ms
	}
	return ID{prev.Ms, prev.Seq + seq}, seq <= math.MaxUint64-prev.Seq && (seq > 0 || first)
}
