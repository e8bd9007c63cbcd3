package zset

import (
	"cmp"
	"slices"
)

// What is in this file tells the store which pages changed.

// Pages visits changed or all pages, see structures.Value.
func (s *Set) Pages(all bool, visit func(id uint64, page []byte)) {
	if all {
		if !s.inHead() && s.visitLeaves(visit) && s.indexed {
			s.visitIndex(visit)
		}
		return
	}
	if s.inHead() {
		for num, m := range s.marks {
			if m&markStored != 0 {
				visit(uint64(num), nil)
			}
		}
	} else {
		slices.Sort(s.changed)
		for _, num := range s.changed {
			s.visit(num, visit)
		}
	}
	s.visitChangedIndex(visit)
}

// visitLeaves visits the pages of all leaves. It ends early if one cannot be read.
func (s *Set) visitLeaves(visit func(id uint64, page []byte)) bool {
	for num, l := range s.leaves {
		switch {
		case l == nil:
		case l.away:
			if !s.visitAway(uint64(num), visit) {
				return false
			}
		default:
			visit(uint64(num), l.buf)
		}
	}
	return true
}

// visitAway visits a page that is away.
func (s *Set) visitAway(id uint64, visit func(id uint64, page []byte)) bool {
	return s.pager != nil && s.pager.ReadPage(id, func(page []byte) error {
		visit(id, page)
		return nil
	})
}

// visitIndex visits the pages of all sections and branches.
func (s *Set) visitIndex(visit func(id uint64, page []byte)) {
	var buf []byte
	read := true
	s.index.each(0, func(sec *section) bool {
		if sec.away {
			read = s.visitAway(sec.id(), visit)
			return read
		}
		buf = sec.appendPage(buf[:0])
		visit(sec.id(), buf)
		return true
	})
	if !read {
		return
	}
	var twigs []*branch
	eachTwig(s.root, func(n *branch) { twigs = append(twigs, n) })
	slices.SortFunc(twigs, func(a, b *branch) int { return cmp.Compare(a.page.num, b.page.num) })
	for _, n := range twigs {
		buf = n.appendPage(buf[:0])
		visit(n.page.id(), buf)
	}
}

// visitChangedIndex visits the pages of sections and branches that changed or are gone.
func (s *Set) visitChangedIndex(visit func(id uint64, page []byte)) {
	type change struct {
		id  uint64
		sec *section
		n   *branch
	}
	var list []change
	removed := s.removed
	if s.index != nil {
		removed = slices.Concat(removed, s.index.removed)
		for _, sec := range s.index.changed {
			if !sec.gone {
				list = append(list, change{id: sec.id(), sec: sec})
			}
		}
	}
	for _, n := range s.twigs {
		if n.page.num != 0 {
			list = append(list, change{id: n.page.id(), n: n})
		}
	}
	for _, id := range removed {
		if !s.has(id) {
			list = append(list, change{id: id})
		}
	}
	slices.SortFunc(list, func(a, b change) int { return cmp.Compare(a.id, b.id) })
	var buf []byte
	for i, c := range list {
		switch {
		case i > 0 && list[i-1].id == c.id:
		case c.sec != nil:
			buf = c.sec.appendPage(buf[:0])
			visit(c.id, buf)
		case c.n != nil:
			buf = c.n.appendPage(buf[:0])
			visit(c.id, buf)
		default:
			visit(c.id, nil)
		}
	}
}

// has reports that there is a section with the number of a page that another one had.
// Numbers of branches are not used again.
func (s *Set) has(id uint64) bool {
	return s.indexed && id < firstTwig && s.index.section(hashOfSection(id)).id() == id
}

// visit visits a page that changed. A leaf may have come and gone since Clean.
func (s *Set) visit(num uint32, visit func(id uint64, page []byte)) {
	if l := s.leaf(num); l != nil {
		visit(uint64(num), l.buf)
	} else if s.marks[num]&markStored != 0 {
		visit(uint64(num), nil)
	}
}

// Clean marks every page as stored. The leaf of a set that is stored in its head stays
// marked: it has no page.
func (s *Set) Clean() {
	s.promised = -1
	s.changed, s.removed = nil, nil
	s.cleanIndex()
	s.marks = s.marks[:len(s.leaves)]
	if cap(s.marks) > 4*len(s.marks)+sparse {
		s.marks = slices.Clone(s.marks)
	}
	stay := !s.inHead()
	for num, l := range s.leaves {
		s.marks[num] = 0
		if l == nil {
			continue
		}
		if stay {
			s.marks[num] = markStored
		} else {
			s.touch(l.num)
		}
	}
}

func (s *Set) cleanIndex() {
	for _, n := range s.twigs {
		n.page.changed, n.page.stored = false, n.page.num != 0
	}
	s.twigs = nil
	if s.index != nil {
		for _, sec := range s.index.changed {
			sec.changed, sec.stored = false, true
		}
		s.index.changed, s.index.removed = nil, nil
	}
}

// Taint marks every page as changed. None is away: all that are have been stored as
// they are.
func (s *Set) Taint() {
	for _, l := range s.leaves {
		if l != nil && !l.away {
			s.touch(l.num)
		}
	}
	if s.indexed {
		s.taintIndex()
	}
}

// Part visits up to n of the pages that changed since Clean, as Pages does, marks them
// as stored, and reports whether there may be more than n others. Pages of branches come
// with Pages: the first leaves of a set change them again and again.
func (s *Set) Part(n int, visit func(id uint64, page []byte)) (more bool) {
	if s.inHead() {
		return false
	}
	left := n
	for ; left > 0 && len(s.changed) > 0; left-- {
		num := s.changed[len(s.changed)-1]
		s.changed = s.changed[:len(s.changed)-1]
		s.visit(num, visit)
		s.marks[num] = 0
		if s.leaf(num) != nil {
			s.marks[num] = markStored
		}
	}
	if !s.indexed {
		return len(s.changed) > n
	}
	x := s.index
	var buf []byte
	for left > 0 && len(x.changed) > 0 {
		sec := x.changed[len(x.changed)-1]
		x.changed = x.changed[:len(x.changed)-1]
		if sec.gone {
			continue
		}
		left--
		buf = sec.appendPage(buf[:0])
		visit(sec.id(), buf)
		sec.changed, sec.stored = false, true
	}
	return len(s.changed)+len(x.changed) > n
}
