package set

import "slices"

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

// Random returns a member, each with the same chance if chance is spread
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
			if !s.touch(k) {
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
