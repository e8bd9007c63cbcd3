package zset

import "slices"

// What is in this file gives leaves their numbers, and notes which pages changed.

// number gives a leaf a free number. Of those in s.free some are not: they were given
// up, and may have come into use again since.
func (s *Set) number(l *leaf) {
	for n := len(s.free); n > 0; n = len(s.free) {
		num := s.free[n-1]
		s.free = s.free[:n-1]
		if int(num) < len(s.leaves) && s.leaves[num] == nil {
			l.num, l.recent = num, true
			s.leaves[num] = l
			s.touch(num)
			return
		}
	}
	l.num, l.recent = uint32(len(s.leaves)), true
	s.leaves = append(s.leaves, l)
	if len(s.marks) < len(s.leaves) {
		s.marks = append(s.marks, 0)
	}
	s.touch(l.num)
}

// touch notes that the page with a number is to be written whole, or to go.
func (s *Set) touch(num uint32) {
	first := s.mark(num)
	l := s.leaf(num)
	switch {
	case l == nil && first:
		s.due += tailCost
	case l != nil && !l.whole:
		if s.due += leafBytes; !first {
			s.due -= l.cost()
		}
		l.whole = true
		before := l.memory()
		l.gained = nil
		s.resized(l, before)
	}
}

// mark notes that the page with a number is not what it was, and reports that it was
// before.
func (s *Set) mark(num uint32) (first bool) {
	if first = s.marks[num]&markChanged == 0; first {
		s.marks[num] |= markChanged
		s.changed = append(s.changed, num)
	}
	return first
}

// vacate makes a number a free one. Free numbers above those of all leaves are
// given up.
func (s *Set) vacate(num uint32) {
	s.leaves[num] = nil
	s.touch(num)
	s.free = append(s.free, num)
	n := len(s.leaves)
	for n > 0 && s.leaves[n-1] == nil {
		n--
	}
	if s.leaves = s.leaves[:n]; cap(s.leaves) > 4*n+sparse {
		s.leaves, s.free = slices.Clone(s.leaves), s.vacant()
	}
}

// vacant lists the numbers below the largest that are free.
func (s *Set) vacant() (free []uint32) {
	for num, l := range s.leaves {
		if l == nil {
			free = append(free, uint32(num))
		}
	}
	return free
}
