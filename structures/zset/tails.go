package zset

import (
	"math"
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// A page that only gained entries since it was written is written by these, and one of the
// index by what changed in it. On disk they follow the page:
//
//	leaf      entry ... | tail ...
//	tail      255 | 255 | entry ...       no score begins so; in any order
//	section   entries | tail ...          see twig.go
//	tail      128 | 0 | { hash - the least one of the section | number of the leaf << 1, and 1
//	          if the entry is gone } ... (uvarints)
//
// The last that is said of an entry counts. So it does no harm if a tail is there twice, or
// if the set still has what is in a tail that is there: a page that is away keeps what it gained
// until that is sure to be on disk. For the same reason a tail cannot tell of two entries of the
// index that are the same; such a section is written whole.
//
// So a member that the filter of its section does not know is added without a page being read, if
// its leaf has room for it.
const (
	leafMark    = "\xff\xff"
	sectionMark = "\x80\x00"
	// tailCost is what a tail costs more than its bytes, about: its key, and places for it.
	tailCost = 96
)

// gains is what a leaf got since its page was written, and if it is away what may
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

// bytes is the size of the entries of a leaf.
func (l *leaf) bytes() int {
	switch {
	case !l.away:
		return len(l.buf)
	case l.gained == nil:
		return int(l.size)
	}
	return int(l.size) + len(l.gained.buf)
}

// changedBytes is what a changed leaf takes in memory beside what stays when it is away.
func (l *leaf) changedBytes() int {
	if l.away {
		return l.gained.memory()
	}
	return len(l.buf)
}

// takes reports that an entry of a new member can be added to a leaf that is away without
// reading it: behind its first entry, which stays what is known of it.
func (l *leaf) takes(b uint64, need int) bool {
	return l.away && orderOf(b) > l.first() && l.bytes()+need <= leafBytes && l.len() < math.MaxUint16
}

// gain notes that a leaf got an entry.
func (s *Set) gain(l *leaf, b uint64, member []byte) {
	stored := s.marks[l.num]&markStored != 0
	if s.pager == nil || !s.indexed || l.whole || !stored || l.gained.unwritten() > leafBytes/4 && !l.away {
		s.touch(l.num)
		return
	}
	before := l.memory()
	if s.mark(l.num) {
		s.due += tailCost
	}
	if l.gained == nil {
		l.gained = &gains{}
	}
	s.due += entrySize(member)
	l.gained.add(b, member)
	s.resized(l, before)
}

// gainAway adds an entry to a leaf that is away and takes it.
func (s *Set) gainAway(l *leaf, b uint64, member []byte, hash uint32) {
	s.gain(l, b, member)
	s.index.put(hash, l.num)
	s.settle(l)
}

// forgetLeaf has what a leaf gained that is away leave memory. The disk has it.
func (s *Set) forgetLeaf(l *leaf) (freed int) {
	before := l.memory()
	l.size, l.count = uint32(l.bytes()), uint16(l.len())
	l.gained = nil
	s.resized(l, before)
	return before - l.memory()
}

// addGained adds entries that a leaf gained to a copy of what the disk has.
func (l *leaf) addGained(g *gains) {
	g.each(0, func(b uint64, member []byte) { l.addOnce(b, member) })
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

// loadTails adds the entries of tails of a leaf's page.
func (l *leaf) loadTails(tails []byte) error {
	for len(tails) > 0 {
		if isTail(tails, leafMark) {
			tails = tails[len(leafMark):]
			continue
		}
		b, member, size, err := parseEntry(tails)
		if err != nil {
			return err
		}
		if l.addOnce(b, member); len(l.buf) > leafBytes {
			return errLargePage
		}
		tails = tails[size:]
	}
	return nil
}

func isTail(b []byte, mark string) bool { return len(b) >= len(mark) && string(b[:len(mark)]) == mark }

// twin reports that a leaf in memory has another member with the hash of an entry.
func (s *Set) twin(l *leaf, i int, hash uint32) bool {
	for j, slot := range l.slots {
		if j != i && uint16(slot) == tagOf(hash) && s.hashOf(l.member(j)) == hash {
			return true
		}
	}
	return false
}
