package zset

import "github.com/vigildb/vigil/structures"

// End is an end of a sorted set.
type End byte

const (
	Least    End = 0
	Greatest End = 1
)

// Before returns the number of members that a bound is behind: the rank of the
// first one that it is not behind.
func (s *Set) Before(b Bound) int {
	if s.count == 0 {
		return 0
	}
	s.makeRoom()
	_, _, rank := s.seek(&b)
	return rank
}

// Between returns the rank of the first member between two bounds, and how many
// there are.
func (s *Set) Between(from, to Bound) (rank, count int) {
	rank = s.Before(from)
	return rank, max(s.Before(to)-rank, 0)
}

// Range visits members in order from a rank on: count of them at most, until visit
// returns false.
func (s *Set) Range(rank, count int, visit func(member []byte, score float64) bool) {
	count = min(count, s.count-rank)
	if count <= 0 {
		return
	}
	l, i := s.at(rank)
	s.walk(l, i, count, visit)
}

// From visits members in order from a bound on until visit returns false.
func (s *Set) From(b Bound, visit func(member []byte, score float64) bool) {
	if s.count == 0 {
		return
	}
	s.makeRoom()
	if l, i, _ := s.seek(&b); l != nil {
		s.walk(l, i, s.count, visit)
	}
}

// walk visits entries from entry i of a leaf on: count of them at most, until visit
// returns false, or a page cannot be read.
func (s *Set) walk(l *leaf, i, count int, visit func(member []byte, score float64) bool) {
	for passed := 0; l != nil; l, i, passed = next(l), 0, passed+1 {
		v, ok := s.pages.View(s.paging(), uint64(l.num), l, passed)
		if !ok {
			return
		}
		for ; i < v.len(); i++ {
			b, member := v.entry(i)
			if !visit(member, scoreOf(b)) {
				return
			}
			if count--; count == 0 {
				return
			}
		}
	}
}

// Reverse visits members from a rank on downwards: count of them at most, until visit
// returns false.
func (s *Set) Reverse(rank, count int, visit func(member []byte, score float64) bool) {
	count = min(count, rank+1)
	if count <= 0 {
		return
	}
	l, i := s.at(rank)
	for passed := 0; ; passed++ {
		v, ok := s.pages.View(s.paging(), uint64(l.num), l, passed)
		if !ok {
			return
		}
		for ; i >= 0; i-- {
			b, member := v.entry(i)
			if !visit(member, scoreOf(b)) {
				return
			}
			if count--; count == 0 {
				return
			}
		}
		l = previous(l)
		i = l.len() - 1
	}
}

// Pop removes up to count members at an end and visits each, the outermost first. It
// records one operation, or none if there is nothing to remove.
func (s *Set) Pop(ch *structures.Change, end End, count int, visit func(member []byte, score float64)) {
	count = min(count, s.count)
	rank := (s.count - count) * int(end)
	if count <= 0 || !s.readyPop(rank, count, visit) {
		return
	}
	ch.Op(opPopLeast+byte(end), 1)
	ch.Uint(uint64(count))
	s.pop(end, count, visit)
}

func (s *Set) pop(end End, count int, visit func(member []byte, score float64)) {
	if visit != nil {
		each := func(member []byte, score float64) bool {
			visit(member, score)
			return true
		}
		if end == Least {
			s.Range(0, count, each)
		} else {
			s.Reverse(s.count-1, count, each)
		}
	}
	if end == Least {
		s.removeRange(0, count)
	} else {
		s.removeRange(s.count-count, count)
	}
}

// RemoveRange removes up to count members from a rank on and returns how many there
// were. It records one operation, or none if there were none.
func (s *Set) RemoveRange(ch *structures.Change, rank, count int) int {
	count = min(count, s.count-rank)
	s.makeRoom()
	if count <= 0 || !s.readyRange(rank, count) {
		return 0
	}
	ch.Op(opRemoveRange, 2)
	ch.Uint(uint64(rank))
	ch.Uint(uint64(count))
	s.removeRange(rank, count)
	return count
}

func (s *Set) removeRange(rank, count int) {
	if count == s.count {
		s.clear()
		return
	}
	s.count -= count
	for count > 0 {
		l, i := s.at(rank)
		n := min(count, l.len()-i)
		if s.index != nil {
			for j := i; j < i+n; j++ {
				_, member := l.entry(j)
				s.index.remove(s.hashOf(member), l.num)
			}
		}
		s.cut(l, i, i+n)
		s.thin(l)
		count -= n
	}
}

// clear removes all members.
func (s *Set) clear() {
	s.paging().Each(0, func(id uint64, l *leaf) bool {
		s.pages.Remove(s.paging(), id, l)
		return true
	})
	s.dropIndex()
	s.root, s.only, s.count = nil, nil, 0
	s.numbered, s.free, s.live, s.memory = nil, nil, 0, 0
}
