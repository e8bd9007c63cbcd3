package hash

import "math"

// take removes slot i, whose entry is e, from a segment.
func (h *Hash) take(s *segment, i int, e *entry) {
	memory, live, due := s.memory(), s.live(), s.unwritten()
	s.remove(i, e)
	h.pages.Due += s.unwritten() - due
	h.table.memory += s.memory() - memory
	h.table.live += s.live() - live
}

// settle looks after a segment that lost fields: an empty one is removed, and
// a small one joins its neighbour. The segment is not to be used afterwards.
func (h *Hash) settle(s *segment) {
	if len(s.slots) == 0 {
		h.removeSegment(s)
		return
	}
	for s != nil && s.depth > 0 && s.live() <= joinedBytes {
		s = h.join(s)
	}
}

// removeSegment empties the places of a segment, and removes the branches that
// this leaves empty.
func (h *Hash) removeSegment(s *segment) {
	h.retire(s)
	if s.depth == 0 {
		h.table.only = nil
		return
	}
	for level := levelOf(s.depth); ; level-- {
		b := h.table.branchAt(s.prefix, level)
		if level == levelOf(s.depth) {
			b.fill(s.prefix, s.depth, level, nil)
		} else {
			b[placeOf(s.prefix, level)] = nil
		}
		if *b != (branch{}) {
			return
		}
		if level == 0 {
			h.table.removeRoot(nil)
			return
		}
		h.table.memory -= segmentSize + branchSize
	}
}

// removeRoot removes the first branch, so that a segment of depth 0 is the only one, or none is.
func (t *table) removeRoot(only *segment) {
	t.root, t.only = nil, only
	t.memory -= branchSize
}

// retire takes a segment out of the account and notes that its page is gone.
func (h *Hash) retire(s *segment) {
	h.table.memory -= s.memory()
	h.table.live -= s.live()
	h.pages.Remove(h.paging(), s.id(), s)
	h.table.segments--
}

// branchAt returns the branch of a level on the way to a hash.
func (t *table) branchAt(hash uint64, level int) *branch {
	b := t.root
	for l := range level {
		b = b[placeOf(hash, l)].below
	}
	return b
}

// join puts a segment and its neighbour, the one whose prefix differs in the
// last bit, into one segment that it returns. It returns nil, and does
// nothing, if the neighbour is divided or too large.
func (h *Hash) join(s *segment) *segment {
	level := levelOf(s.depth)
	b := h.table.branchAt(s.prefix, level)
	bit := uint64(1) << (64 - s.depth)
	first, second := s, s
	if !b.empty(s.prefix^bit, s.depth, level) {
		at, _ := span(s.prefix^bit, s.depth, level)
		other := b[at]
		if other == nil || other.below != nil || other.Evicted || other.depth != s.depth || s.live()+other.live() > joinedBytes {
			return nil
		}
		if second = other; other.prefix < s.prefix {
			first, second = other, s
		}
	}
	to := &segment{depth: s.depth - 1, prefix: s.prefix &^ bit, nextExpiry: math.MaxInt64, DeltaState: fresh}
	if first == second {
		to.reserve(len(first.slots), first.live())
	} else {
		to.reserve(len(first.slots)+len(second.slots), first.live()+second.live())
		h.move(to, first, first.slots)
		h.retire(first)
	}
	h.move(to, second, second.slots)
	h.retire(second)
	h.table.memory += to.memory()
	h.table.live += to.live()
	h.pages.Due += to.unwritten()
	h.table.segments++
	if to.depth == 0 {
		h.table.removeRoot(to)
		return to
	}
	if up := levelOf(to.depth); up < level {
		// The branch is down to one segment, which goes into its place.
		b, level = h.table.branchAt(to.prefix, up), up
		h.table.memory -= segmentSize + branchSize
	}
	b.fill(to.prefix, to.depth, level, to)
	return to
}
