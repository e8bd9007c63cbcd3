package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/paged"
)

// leaf is what every page is: something with a number on disk.
type leaf struct {
	id uint64
	paged.State
	gone bool // no longer of the stream
}

func (l *leaf) leafOf() *leaf { return l }

// storable is a page of any sort.
type storable interface {
	leafOf() *leaf
	appendPage(dst []byte) []byte
}

// page holds entries. At least one of them is not deleted. One that is evicted has no bytes:
// body is how many they are then, and base the ID of the first entry that is not deleted.
type page struct {
	leaf
	span
	last  ID  // of the last entry, which may be deleted
	count int // entries, the deleted ones included
	live  int
	// lent: a reader beside the stream has the bytes, which must not be changed any
	// more; what is appended behind them does not matter.
	lent bool
}

const pageSize = int(unsafe.Sizeof(page{}))

// firstRoom is the least buffer of a page.
const firstRoom = 64

// newPage makes a page without entries for one with this ID and these fields.
func newPage(id uint64, first ID, pairs [][]byte) *page {
	need := entryRoom(pairs) + 24
	for i := 0; i < len(pairs); i += 2 {
		need += len(pairs[i]) + binary.MaxVarintLen32
	}
	p := &page{leaf: leaf{id: id}}
	b := appendID(make([]byte, 0, max(need, firstRoom)), first)
	p.same = len(pairs) / 2
	b = binary.AppendUvarint(b, uint64(p.same))
	p.names = len(b)
	for i := 0; i < len(pairs); i += 2 {
		b = appendString(b, pairs[i])
	}
	p.buf, p.body, p.from = b, len(b), len(b)
	p.base, p.last = first, first
	return p
}

func appendString(dst, s []byte) []byte {
	return structures.Append(binary.AppendUvarint(dst, uint64(len(s))), s)
}

// entryRoom bounds the bytes of an entry.
func entryRoom(pairs [][]byte) int {
	n := 2*binary.MaxVarintLen64 + binary.MaxVarintLen32
	for _, s := range pairs {
		n += len(s) + binary.MaxVarintLen32
	}
	return n
}

// fits reports whether the difference between two times has room in an entry.
func fits(prev, id ID) bool { return id.Ms-prev.Ms < 1<<(64-flagBits) }

// isSame reports whether pairs have the fields of the page in their order.
func (p *page) isSame(pairs [][]byte) bool {
	if len(pairs) != 2*p.same {
		return false
	}
	rest := p.buf[p.names:p.body]
	for i := 0; i < len(pairs); i += 2 {
		var name []byte
		if name, rest = cutString(rest); !bytes.Equal(name, pairs[i]) {
			return false
		}
	}
	return true
}

// add appends an entry.
func (p *page) add(id ID, pairs [][]byte) {
	same := p.isSame(pairs)
	head, seq := (id.Ms-p.last.Ms)<<flagBits, id.Seq
	if id.Ms == p.last.Ms {
		seq -= p.last.Seq
	}
	if same {
		head |= flagSame
	}
	if need := entryRoom(pairs); cap(p.buf)-len(p.buf) < need {
		p.grow(need)
	}
	b := binary.AppendUvarint(binary.AppendUvarint(p.buf, head), seq)
	if !same {
		b = binary.AppendUvarint(b, uint64(len(pairs)/2))
	}
	for i, s := range pairs {
		if !same || i%2 == 1 {
			b = appendString(b, s)
		}
	}
	p.buf, p.last = b, id
	p.count++
	p.live++
}

// grow makes room for n bytes: it doubles the buffer up to some kilobytes, and a
// bigger one grows by what is needed.
func (p *page) grow(n int) {
	size := max(min(2*cap(p.buf), len(p.buf)+n+1024), len(p.buf)+n)
	b := make([]byte, len(p.buf), size)
	structures.Copy(b, p.buf)
	p.buf = b
}

// clip gives back the room behind a page that is full.
func (p *page) clip() {
	if cap(p.buf)-len(p.buf) > len(p.buf)/16 {
		p.buf = structures.Clone(p.buf)
	}
}

// erase marks the entry at offset at, whose ID before is prev, as deleted,
// and moves the beginning if it was the first.
func (p *page) erase(at int) {
	p.own()
	p.buf[at] |= flagDeleted
	p.live--
	var e Entry
	for p.from < len(p.buf) {
		end := p.read(&e, p.from, p.base)
		if !e.deleted {
			return
		}
		p.from, p.base = end, e.ID
	}
}

// own makes the bytes those of the page alone.
func (p *page) own() {
	if p.lent {
		p.buf, p.lent = structures.Clone(p.buf), false
	}
}

// find returns the offset of an entry that is not deleted; ok is false if there
// is none with this ID. e is filled with it.
func (p *page) find(e *Entry, id ID) (at int, ok bool) {
	prev := p.base
	for at = p.from; at < len(p.buf); prev = e.ID {
		end := p.read(e, at, prev)
		if !e.ID.Less(id) {
			return at, e.ID == id && !e.deleted
		}
		at = end
	}
	return 0, false
}

// first is the ID of the first entry that is not deleted.
func (p *page) first() ID {
	if p.Evicted {
		return p.base
	}
	var e Entry
	p.read(&e, p.from, p.base)
	return e.ID
}

func (p *page) memory() int { return pageSize + cap(p.buf) + 8 }

func (p *page) appendPage(dst []byte) []byte { return structures.Append(dst, p.buf) }

// loadPage makes a page of stored bytes, which are copied. Bytes that are no page
// give ErrCorrupt.
func loadPage(id uint64, b []byte) (*page, error) {
	r := reader{b: b}
	p := &page{leaf: leaf{id: id, State: paged.State{Stored: true}}}
	first := r.id()
	same := r.uvarint()
	p.names = r.at
	r.strings(same)
	p.same, p.body, p.from = int(same), r.at, r.at
	p.base, p.last = first, first
	for !r.bad && r.at < len(b) {
		head, seq := r.uvarint(), r.uvarint()
		id, ok := after(p.last, head>>flagBits, seq, p.count == 0)
		if ok = ok && (p.count > 0 || id == first); !ok {
			return nil, fmt.Errorf("entry %d behind %v: %w", p.count, p.last, structures.ErrCorrupt)
		}
		p.last = id
		if head&flagSame != 0 {
			r.strings(same)
		} else {
			n := r.uvarint()
			r.strings(n) // twice, as the double may overflow
			r.strings(n)
		}
		p.count++
		switch {
		case head&flagDeleted == 0:
			p.live++
		case p.live == 0:
			p.from, p.base = r.at, id
		}
	}
	if err := r.done("page of a stream"); err != nil {
		return nil, err
	}
	if p.live == 0 || p.last == (ID{}) {
		return nil, fmt.Errorf("page of %d deleted entries: %w", p.count, structures.ErrCorrupt)
	}
	p.buf = structures.Clone(b)
	return p, nil
}
