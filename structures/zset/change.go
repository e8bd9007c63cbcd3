package zset

import "math"

// What is in this file changes leaves: it keeps them within their bounds, and tells
// the index and the branches.

// drop frees an empty leaf that is out of line. If numbers have become sparse,
// leaves with the largest get some that are free.
func (s *Set) drop(l *leaf) {
	s.memory -= l.memory()
	s.live--
	s.vacate(l)
	for len(s.numbered) > 2*s.live+sparse {
		last := s.numbered[len(s.numbered)-1]
		if !s.resident(last, 0, last.len()) {
			return
		}
		s.alterBranch(last.up)
		old := last.num
		s.vacate(last)
		s.number(last)
		s.reindex(last, 0, last.len(), old)
	}
}

// reindex notes in the index that entries of a leaf came from another
// one.
func (s *Set) reindex(l *leaf, from, to int, old uint32) {
	if s.index == nil {
		return
	}
	for i := from; i < to; i++ {
		_, member := l.entry(i)
		s.index.move(s.hashOf(member), old, l.num)
	}
}

// insert adds a member that is not in the set.
func (s *Set) insert(b uint64, member []byte, hash uint32) {
	s.count++
	s.peak = max(s.peak, uint32(min(s.count, math.MaxUint32)))
	s.longest = max(s.longest, uint32(len(member)))
	s.place(b, member, hash)
}

// place puts an entry into the leaf where it belongs.
func (s *Set) place(b uint64, member []byte, hash uint32) {
	if s.only == nil && s.root == nil {
		s.only = s.newLeaf()
		s.fill(s.only, 0, b, member, hash)
		return
	}
	bound := Bound{by: byBoth, order: orderOf(b), member: member}
	if !s.whole() {
		if l, _ := s.leafOf(&bound); l.takes(b, entrySize(member)) {
			s.gain(l, b, member)
			s.index.put(hash, l.num)
			s.settle(l)
			return
		}
	}
	l, i, _ := s.seek(&bound)
	s.placeAt(l, i, b, member, hash)
}

// placeAt is place for an entry that belongs before entry i of a leaf.
func (s *Set) placeAt(l *leaf, i int, b uint64, member []byte, hash uint32) {
	if need := entrySize(member); need > leafBytes || l.big() {
		s.placeAside(l, i, b, member, hash)
		return
	}
	ascending := i == l.len() && next(l) == nil
	s.fill(l, i, b, member, hash)
	s.settle(l)
	if len(l.buf) > leafBytes {
		s.split(l, ascending)
	}
}

// fill makes an entry the one with index i of a leaf that has room.
func (s *Set) fill(l *leaf, i int, b uint64, member []byte, hash uint32) {
	before := l.memory()
	l.insert(i, b, member, tagOf(hash))
	s.resized(l, before)
	s.gain(l, b, member)
	if s.index != nil {
		s.index.put(hash, l.num)
	}
}

// placeAside puts an entry next to index i of a leaf, one of which is so big that it
// has a leaf of its own.
func (s *Set) placeAside(l *leaf, i int, b uint64, member []byte, hash uint32) {
	need := entrySize(member)
	if n := next(l); i == l.len() && n != nil && !n.Evicted && len(n.buf)+need <= leafBytes {
		s.fill(n, 0, b, member, hash)
		s.settle(n)
		return
	}
	if s.index == nil {
		s.makeIndex()
		hash = s.hashOf(member)
	}
	if i > 0 && i < l.len() {
		s.splitAt(l, i, true)
	}
	own := s.newLeaf()
	s.fill(own, 0, b, member, hash)
	s.joinLine(own, l, i > 0)
}

// makeIndex makes the index of a set that has one leaf and is to get others.
func (s *Set) makeIndex() {
	s.index = newIndex(&s.leaves, 0)
	s.index.pages.Gone, s.branches.Gone = s.branches.Gone, nil
	l := s.only
	for i, slot := range l.slots {
		_, member := l.entry(i)
		hash := s.hashOf(member)
		l.slots[i] = slot&^0xffff | slotTag(hash)
		s.index.put(hash, l.num)
	}
}

func slotTag(hash uint32) slot { return slot(tagOf(hash)) }

// split makes leaves of a size of one that has grown too large. If it grew at the
// end of the set, most stays: others will follow there.
func (s *Set) split(l *leaf, ascending bool) {
	if s.index == nil {
		s.makeIndex()
	}
	at, tail := l.half(ascending)
	other := s.splitAt(l, at, tail)
	for _, part := range [2]*leaf{l, other} {
		if part.big() && part.len() > 1 {
			s.split(part, false)
		}
	}
}

// half returns where a leaf is to be split, and whether what is behind moves: what remains
// is the larger part, so that few members move.
func (l *leaf) half(ascending bool) (at int, tail bool) {
	at = 1
	half := len(l.buf) / 2
	if ascending {
		half = len(l.buf) - len(l.buf)/16
	}
	for at+1 < l.len() && l.offset(at) < half {
		at++
	}
	return at, len(l.buf)-l.offset(at) <= l.offset(at)
}

// splitAt moves the entries from index i on, or those before it, to a new leaf,
// which it returns.
func (s *Set) splitAt(l *leaf, i int, tail bool) *leaf {
	other := s.newLeaf()
	before := l.memory() + other.memory()
	if tail {
		other.take(l, i, l.len())
		l.cut(i, l.len())
	} else {
		other.take(l, 0, i)
		l.cut(0, i)
	}
	s.memory += l.memory() + other.memory() - before
	s.alter(l)
	s.reindex(other, 0, other.len(), l.num)
	s.settle(l)
	s.joinLine(other, l, tail)
	return other
}

// take removes entry i of a leaf.
func (s *Set) take(l *leaf, i int, hash uint32) {
	s.count--
	s.unplace(l, i, hash)
	s.thin(l)
}

func (s *Set) unplace(l *leaf, i int, hash uint32) {
	if s.index != nil {
		s.index.remove(hash, l.num)
	}
	s.cut(l, i, i+1)
}

// cut removes entries that the index does not have any more from a leaf, and the
// leaf if it is empty.
func (s *Set) cut(l *leaf, from, to int) {
	before := l.memory()
	l.cut(from, to)
	s.resized(l, before)
	s.alter(l)
	if l.len() == 0 {
		s.leave(l)
		return
	}
	s.settle(l)
}

// thin joins a leaf that has lost entries with a neighbour that has room for what is left.
func (s *Set) thin(l *leaf) {
	if l.up == nil || len(l.buf) >= sparseBytes {
		return
	}
	n := l.up
	i := n.placeOfLeaf(l)
	if i > 0 && s.join(n.leaves[i-1], l) {
		return
	}
	if i+1 < n.len() {
		s.join(l, n.leaves[i+1])
	}
}

// leave takes an empty leaf out. A set of one leaf does without its index.
func (s *Set) leave(l *leaf) {
	s.leaveLine(l)
	if s.root == nil && s.index != nil {
		s.dropIndex()
		if s.only != nil {
			for i := range s.only.slots {
				s.only.slots[i] &^= 0xffff
			}
		}
	}
	s.drop(l)
}

// join makes one leaf of two neighbours if they have little, which it reports. The
// smaller one moves.
func (s *Set) join(left, right *leaf) bool {
	if left.Evicted || right.Evicted || len(left.buf)+len(right.buf) > joinedBytes || !s.whole() && s.distant(1) {
		return false
	}
	gone := right
	if right.len() > left.len() {
		gone = left
	}
	if !s.resident(gone, 0, gone.len()) {
		return false
	}
	before := left.memory() + right.memory()
	kept := left
	n, moved := left.len(), right.len()
	if moved > n {
		kept = right
		joined := leaf{}
		joined.take(left, 0, n)
		joined.take(right, 0, moved)
		right.buf, right.slots = joined.buf, joined.slots
		n, moved = 0, n
	} else {
		left.take(right, 0, moved)
	}
	s.reindex(kept, n, n+moved, gone.num)
	gone.cut(0, gone.len())
	s.memory += left.memory() + right.memory() - before
	s.alter(kept)
	s.settle(kept)
	s.leave(gone)
	return true
}

// move gives entry i of a leaf another score: in its place if it stays between its
// neighbours.
func (s *Set) move(l *leaf, i int, b uint64, member []byte, hash uint32) {
	if s.stays(l, i, b, member) {
		l.setScore(i, b)
		s.alter(l)
		if i == 0 {
			s.settle(l)
		}
		return
	}
	// It is found where it goes first: without the leaf, the way there may need other pages.
	bound := Bound{by: byBoth, order: orderOf(b), member: member}
	to, j, _ := s.seek(&bound)
	if to == l && l.len() == 1 {
		l.setScore(0, b)
		s.alter(l)
		s.settle(l)
		return
	}
	if to == l && j > i {
		j--
	}
	s.unplace(l, i, hash)
	if s.index == nil {
		hash = 0
	}
	s.placeAt(to, j, b, member, hash)
	s.thin(l)
}

// stays reports whether entry i of a leaf would be in order with another score. At
// the ends of a leaf it may not go to where the neighbour begins, unless there is none.
func (s *Set) stays(l *leaf, i int, b uint64, member []byte) bool {
	bound := Bound{by: byBoth, order: orderOf(b), member: member}
	old := l.order(i)
	switch {
	case i > 0 && !bound.after(l, i-1):
		return false
	case i == 0 && bound.order < old && previous(l) != nil:
		return false
	case i+1 < l.len():
		return !bound.after(l, i+1)
	}
	return bound.order <= old || next(l) == nil
}
