package stream

import (
	"cmp"
	"slices"
)

// every lists all pages.
func (s *Stream) every() []storable {
	list := make([]storable, 0, len(s.pages))
	for _, p := range s.pages {
		list = append(list, p)
	}
	if s.names != nil {
		for _, p := range s.names.pages {
			list = append(list, p)
		}
	}
	for _, g := range s.groups {
		list = append(list, g)
		for _, sh := range g.sheets {
			list = append(list, sh)
		}
		for _, p := range g.pending {
			list = append(list, p)
		}
	}
	return list
}

func sortPages(list []storable) {
	slices.SortFunc(list, func(a, b storable) int { return cmp.Compare(a.leafOf().id, b.leafOf().id) })
}

// Pages visits changed or all pages, see structures.Value.
func (s *Stream) Pages(all bool, visit func(id uint64, page []byte)) {
	if s.inHead() {
		if !all {
			for _, id := range s.absent() {
				visit(id, nil)
			}
		}
		return
	}
	s.bury()
	list, gone := s.dirty, s.absent()
	if all {
		list, gone = s.every(), nil
	}
	sortPages(list)
	var buf []byte
	for _, p := range list {
		id := p.leafOf().id
		for len(gone) > 0 && gone[0] <= id {
			if gone[0] < id {
				visit(gone[0], nil)
			}
			gone = gone[1:]
		}
		if e, ok := p.(*page); ok && e.Evicted {
			if !s.kept.Copy(e.id, visit) {
				return
			}
			continue
		}
		buf = p.appendPage(buf[:0])
		visit(id, buf)
	}
	for _, id := range gone {
		visit(id, nil)
	}
}

// bury forgets pages that changed and are gone.
func (s *Stream) bury() {
	s.dirty = slices.DeleteFunc(s.dirty, func(p storable) bool { return p.leafOf().gone })
	s.dead = 0
}

// absent lists the pages that the disk has and that are to be removed, in order.
func (s *Stream) absent() []uint64 {
	gone := slices.Clone(s.gone)
	if s.inHead() {
		for _, p := range s.pages {
			if p.Stored {
				gone = append(gone, p.id)
			}
		}
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

// Clean marks every page as stored. The page of a stream without pages stays
// changed, in case the stream comes to have some.
func (s *Stream) Clean() {
	paged := !s.inHead()
	s.gone = nil
	list := s.dirty
	s.dirty, s.dead = nil, 0
	for _, p := range list {
		p.leafOf().Dirty, p.leafOf().Stored = false, true
	}
	if paged {
		return
	}
	for _, p := range s.pages {
		p.Stored = false
		s.markDirty(p)
	}
}

// MarkAllDirty marks every page as changed that is not evicted: those are stored as they are.
func (s *Stream) MarkAllDirty() {
	if s.inHead() {
		return
	}
	for _, p := range s.every() {
		if e, ok := p.(*page); !ok || !e.Evicted {
			s.markDirty(p)
		}
	}
}

// Flush visits up to n of the pages that changed since Clean, as Pages does, marks
// them as stored, and tells whether there are others. Those that are gone come
// first, as a page may have got the number of one of them.
func (s *Stream) Flush(n int, visit func(id uint64, page []byte)) (more bool) {
	if s.inHead() {
		return false
	}
	s.bury()
	var buf []byte
	for ; n > 0 && len(s.gone)+len(s.dirty) > 0; n-- {
		if last := len(s.gone) - 1; last >= 0 {
			visit(s.gone[last], nil)
			s.gone = s.gone[:last]
			continue
		}
		last := len(s.dirty) - 1
		l := s.dirty[last].leafOf()
		buf = s.dirty[last].appendPage(buf[:0])
		visit(l.id, buf)
		l.Dirty, l.Stored = false, true
		s.dirty[last] = nil
		s.dirty = s.dirty[:last]
	}
	return len(s.gone)+len(s.dirty) > 0
}
