package set

import (
	"math/bits"
	"slices"
)

// Each visits the members until visit returns false: the integers in their order,
// then the others in no order that means anything.
func (s *Set) Each(visit func(member []byte) bool) {
	for c := (cursor{s: &s.ints}); c.ok(); c.next() {
		if !visit(s.spell(c.value())) {
			return
		}
	}
	if s.unread() {
		return
	}
	s.rest.EachField(visit)
}

// Random returns a member, each with the same chance as far as chance is spread
// evenly over the pages of a hash. Draw returns a number from 0 to n-1, each with
// the same chance. An empty set gives false.
func (s *Set) Random(draw func(n int) int) (member []byte, ok bool) {
	if s.Empty() {
		return nil, false
	}
	if draw(s.Len()) < s.ints.count {
		v, ok := s.ints.random(draw)
		if !ok {
			return nil, false
		}
		return s.spell(v), true
	}
	member, _, ok = s.rest.Random(0, draw)
	return member, ok
}

// random draws a run, accepts it in proportion to its members, and draws one of them. It
// returns false if the run cannot be read.
func (s *integers) random(draw func(n int) int) (v int64, ok bool) {
	const (
		attempts = 64
		most     = maxRun / 2 // members of a run: of those of one byte there are 256
	)
	for range attempts {
		k := draw(len(s.runs))
		r := s.runs[k]
		if len(s.runs) == 1 || draw(most) < r.len() {
			if !s.present(k) {
				return 0, false
			}
			return r.at(draw(r.len())), true
		}
	}
	// Most runs hold few members, each of them: a walk finds one.
	s.sample(1, draw, func(drawn int64) { v, ok = drawn, true })
	return v, ok
}

// Sample visits count different random members, or all if there are fewer.
func (s *Set) Sample(count int, draw func(n int) int, visit func(member []byte)) {
	if count >= s.Len() {
		s.Each(func(member []byte) bool { visit(member); return true })
		return
	}
	// How many of them are integers, drawn as if one by one.
	ints, total := 0, s.Len()
	for i := range count {
		if draw(total-i) < s.ints.count-ints {
			ints++
		}
	}
	s.ints.sample(ints, draw, func(v int64) { visit(s.spell(v)) })
	s.rest.Sample(0, count-ints, draw, func(member, _ []byte) { visit(member) })
}

// sample visits count different random integers in their order. Their ranks are
// drawn by Floyd's algorithm (Bentley and Floyd, Communications of the ACM 30, 1987).
func (s *integers) sample(count int, draw func(n int) int, visit func(v int64)) {
	taken := make(map[int]struct{}, count)
	ranks := make([]int, 0, count)
	for last := s.count - count; last < s.count; last++ {
		rank := draw(last + 1)
		if _, twice := taken[rank]; twice {
			rank = last
		}
		taken[rank] = struct{}{}
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks)
	before, c := 0, cursor{s: s}
	for _, rank := range ranks {
		for rank-before >= s.runs[c.k].len() {
			before += s.runs[c.k].len()
			c.enter(c.k + 1)
		}
		if !c.ok() {
			return // a run that cannot be read
		}
		c.i = rank - before
		visit(c.value())
	}
}

const (
	// intCursor is the bit of a cursor that stands among the integers. The others
	// come first, whose cursors are shorter. A double holds both.
	intCursor = 1 << 52
	// A position of an integer has a sign, and as many bits of its amount as are
	// left for it.
	positionSign = 1 << 51
	positionBits = 46
)

// position is where an integer stands in the order of a scan. It grows with the
// integers, as floating-point numbers do: up to 2^47 each has a position of its own,
// above it those have one that differ in nothing but their last few bits.
func position(v int64) uint64 {
	if v < 0 {
		return positionSign - 1 - amount(^uint64(v))
	}
	return positionSign + amount(uint64(v))
}

func amount(u uint64) uint64 {
	dropped := max(bits.Len64(u)-positionBits-1, 0)
	return uint64(dropped)<<positionBits + u>>dropped
}

// firstAt is the least integer at a position, or a lower bound of it.
func firstAt(position uint64) int64 {
	if position >= positionSign {
		return int64(leastOf(position - positionSign))
	}
	return ^int64(leastOf(positionSign-position) - 1)
}

// leastOf is the least number of an amount.
func leastOf(amount uint64) uint64 {
	if amount < 1<<(positionBits+1) {
		return amount
	}
	dropped := amount>>positionBits - 1
	return (amount - dropped<<positionBits) << dropped
}

// Scan visits about count members, at least one, and returns the cursor for the next
// call. Cursor 0 begins, and is returned at the end. A small set is visited whole.
//
// Members that are there from the first call to the last are visited at least once,
// however the set grows or shrinks meanwhile, and more than once only if it shrinks.
func (s *Set) Scan(cursor uint64, count int, visit func(member []byte)) (next uint64) {
	count = max(count, 1)
	from := position(-1 << 63)
	if cursor&intCursor != 0 {
		from = cursor & (intCursor - 1)
	} else {
		cursor = s.rest.Scan(cursor, count, 0, func(member, _ []byte) {
			count--
			visit(member)
		})
		if cursor != 0 {
			return cursor
		}
	}
	return s.scanInts(from, count, visit)
}

// scanInts visits about count integers from a position on, those with the same
// position together. If they lie in the head, it visits all.
func (s *Set) scanInts(from uint64, count int, visit func(member []byte)) (next uint64) {
	last := from
	for c := s.ints.seek(firstAt(from)); c.ok(); c.next() {
		at := position(c.value())
		if count <= 0 && at > last && !s.ints.inHead() {
			return intCursor | at
		}
		visit(s.spell(c.value()))
		last = at
		count--
	}
	return 0
}
