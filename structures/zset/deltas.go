package zset

import (
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// A page that only gained entries since it was written is written by these, and one of the
// index by what changed in it. On disk they follow the page:
//
//	leaf      entry ... | delta ...
//	delta     255 | 255 | entry ...       no score begins so; in any order
//	bucket    entries | delta ...          see indexed.go
//	delta     128 | 0 | { hash - the least one of the bucket | number of the leaf << 1, and 1
//	          if the entry is gone } ... (uvarints)
//
// The last that is said of an entry counts. So it does no harm if a delta is there twice, or
// if the set still has what is in a delta that is there: an evicted page keeps what it gained
// until that is sure to be on disk. For the same reason a delta cannot tell of two entries of the
// index that are the same; such a bucket is written whole.
//
// So a member that the filter of its bucket does not know is added without a page being read, if
// its leaf has room for it.
const (
	leafMark   = "\xff\xff"
	bucketMark = "\x80\x00"
)

// gains is what a leaf got since its page was written, and if it is evicted what may
// not be on disk yet.
type gains struct {
	buf     []byte // entries
	count   int
	written int // bytes of buf that were written
}

func (g *gains) memory() int {
	if g == nil {
		return 0
	}
	return int(unsafe.Sizeof(*g)) + cap(g.buf)
}

func (g *gains) unwritten() int {
	if g == nil {
		return 0
	}
	return len(g.buf) - g.written
}

func (g *gains) add(b uint64, member []byte) {
	n := len(g.buf)
	g.buf = structures.Grow(g.buf, entrySize(member))[:n+entrySize(member)]
	writeEntry(g.buf[n:], b, member)
	g.count++
}

// each visits the entries from an offset on.
func (g *gains) each(from int, visit func(b uint64, member []byte)) {
	for at := from; g != nil && at < len(g.buf); {
		b, member, size := readEntry(g.buf, at)
		at += size
		visit(b, member)
	}
}

// addOnce adds an entry that may be there.
func (l *leaf) addOnce(b uint64, member []byte) {
	bound := Bound{by: byBoth, order: orderOf(b), member: member}
	i := bound.in(l)
	if i < l.len() {
		if old, m := l.entry(i); old == b && string(m) == string(member) {
			return
		}
	}
	l.insert(i, b, member, 0)
}

// loadDeltas adds the entries of deltas of a leaf's page.
func (l *leaf) loadDeltas(deltas []byte) error {
	for len(deltas) > 0 {
		if isDelta(deltas, leafMark) {
			deltas = deltas[len(leafMark):]
			continue
		}
		b, member, size, err := parseEntry(deltas)
		if err != nil {
			return err
		}
		if l.addOnce(b, member); len(l.buf) > leafBytes {
			return errLargePage
		}
		deltas = deltas[size:]
	}
	return nil
}

func isDelta(b []byte, mark string) bool { return len(b) >= len(mark) && string(b[:len(mark)]) == mark }
