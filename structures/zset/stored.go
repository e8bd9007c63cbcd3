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
		s.changed, s.writing = append(s.changed, s.writing...), nil
		slices.Sort(s.changed)
		for _, num := range s.changed {
			s.visit(num, visit)
		}
	}
	s.visitChangedIndex(visit)
}

// visitLeaves visits the pages of all leaves. It ends early if one cannot be read.
func (s *Set) visitLeaves(visit func(id uint64, page []byte)) bool {
	for _, l := range s.leaves {
		if l != nil && !s.visitLeaf(l, visit) {
			return false
		}
	}
	return true
}

// visitLeaf visits the page of a leaf. It reports false if it is away and cannot be read.
func (s *Set) visitLeaf(l *leaf, visit func(id uint64, page []byte)) bool {
	c := l
	if l.away {
		if c = s.peek(l); c == nil {
			return false
		}
	}
	visit(uint64(l.num), c.buf)
	return true
}

// visitSection visits the page of a section, see visitLeaf. It returns the buffer.
func (s *Set) visitSection(sec *section, buf []byte, visit func(id uint64, page []byte)) ([]byte, bool) {
	c := section{slots: sec.slots, prefix: sec.prefix, depth: sec.depth}
	if sec.away {
		if s.pager == nil || !s.pager.ReadPage(sec.id(), func(page []byte) (err error) {
			c.slots, err = sec.load(page)
			return err
		}) {
			return buf, false
		}
	}
	buf = c.appendPage(buf[:0])
	visit(sec.id(), buf)
	return buf, true
}

// visitIndex visits the pages of all sections and branches.
func (s *Set) visitIndex(visit func(id uint64, page []byte)) {
	var buf []byte
	read := true
	s.index.each(0, func(sec *section) bool {
		buf, read = s.visitSection(sec, buf, visit)
		return read
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
		s.index.changed, s.index.writing = append(s.index.changed, s.index.writing...), nil
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
			buf, _ = s.visitSection(c.sec, buf, visit)
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
		s.visitLeaf(l, visit)
	} else if s.marks[num]&markStored != 0 {
		visit(uint64(num), nil)
	}
}

// Clean marks every page as stored. The leaf of a set that is stored in its head stays
// marked: it has no page.
func (s *Set) Clean() {
	s.promised = -1
	s.changed, s.writing, s.removed, s.due = nil, nil, nil, 0
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
		s.wrote(l)
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
		for _, list := range [2][]*section{s.index.changed, s.index.writing} {
			for _, sec := range list {
				s.index.wrote(sec)
			}
		}
		s.index.changed, s.index.writing, s.index.removed, s.index.due = nil, nil, nil, 0
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
	return s.Portion(n, visit, nil)
}

// Portion is Part, but with tails, see structures.Tailed. It visits the pages that have changed
// in the order of their numbers, and then those that changed meanwhile.
func (s *Set) Portion(n int, visit, tail func(id uint64, page []byte)) (more bool) {
	if s.inHead() {
		return false
	}
	left := n * leafBytes
	for left > 0 {
		if len(s.writing) == 0 {
			if len(s.changed) == 0 {
				break
			}
			s.writing, s.changed = s.changed, nil
			slices.SortFunc(s.writing, func(a, b uint32) int { return cmp.Compare(b, a) })
		}
		num := s.writing[len(s.writing)-1]
		s.writing = s.writing[:len(s.writing)-1]
		left -= s.write(num, visit, tail)
	}
	if s.indexed {
		s.writeIndex(left, visit, tail)
	}
	return s.waiting() > n
}

// waiting is the number of pages that are to be written, but for those of branches.
func (s *Set) waiting() int {
	n := len(s.changed) + len(s.writing)
	if n == 0 {
		s.due = 0
	}
	if x := s.index; x != nil {
		more := len(x.changed) + len(x.writing)
		if n += more; more == 0 {
			x.due = 0
		}
	}
	return n
}

// writeIndex is Portion for sections, and what is left of it.
func (s *Set) writeIndex(left int, visit, tail func(id uint64, page []byte)) {
	x := s.index
	var buf []byte
	for left > 0 {
		if len(x.writing) == 0 {
			if len(x.changed) == 0 {
				break
			}
			x.writing, x.changed = x.changed, nil
			slices.SortFunc(x.writing, func(a, b *section) int { return cmp.Compare(b.prefix, a.prefix) })
		}
		sec := x.writing[len(x.writing)-1]
		x.writing = x.writing[:len(x.writing)-1]
		if sec.gone {
			continue
		}
		if cost := sec.unwritten(); tail != nil && !sec.whole && sec.stored {
			left -= cost
			buf = sec.appendTail(buf[:0])
			tail(sec.id(), buf)
		} else {
			left -= leafBytes
			buf, _ = s.visitSection(sec, buf, visit)
		}
		x.wrote(sec)
	}
}

// write visits the page with the number of a leaf, whole or its tail, or that it is gone. It
// returns what that costs of a portion.
func (s *Set) write(num uint32, visit, tail func(id uint64, page []byte)) (cost int) {
	l, stored := s.leaf(num), s.marks[num]&markStored != 0
	s.marks[num] = 0
	switch {
	case l == nil:
		if cost = tailCost; stored {
			visit(uint64(num), nil)
		}
		s.due -= cost
		return cost
	case tail != nil && stored && !l.whole:
		cost = tailCost + l.gained.unwritten()
		page := []byte(leafMark)
		if l.gained != nil {
			page = append(page, l.gained.buf[l.gained.written:]...)
		}
		tail(uint64(num), page)
	default:
		cost = leafBytes
		s.visitLeaf(l, visit)
	}
	s.marks[num] = markStored
	if s.due -= l.cost(); s.due < 0 {
		s.due = 0
	}
	s.wrote(l)
	return cost
}

// cost is about what writing a changed leaf costs, in bytes.
func (l *leaf) cost() int {
	if l.whole {
		return leafBytes
	}
	return tailCost + l.gained.unwritten()
}

// wrote notes that a leaf was written.
func (s *Set) wrote(l *leaf) {
	l.whole = false
	switch {
	case l.gained == nil:
	case l.away:
		l.gained.written = len(l.gained.buf)
	default:
		before := l.memory()
		l.gained = nil
		s.resized(l, before)
	}
}

// unwritten is about what writing a changed section costs, in bytes.
func (s *section) unwritten() int {
	if s.whole {
		return leafBytes
	}
	return tailCost + (len(s.ops)-s.written)*8
}

// wrote notes that a section was written.
func (x *index) wrote(s *section) {
	if x.due -= s.unwritten(); x.due < 0 {
		x.due = 0
	}
	s.changed, s.stored, s.whole = false, true, false
	if s.written = len(s.ops); !s.away {
		x.dropOps(s)
	}
}
