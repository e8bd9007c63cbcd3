package paged

// Set is a [Resident] that knows what the disk has of the pages. The zero Set is that of a value without pager, all of whose
// pages are new.
type Set[P Page] struct {
	Resident[P]
	// Gone are the numbers of pages that the disk had at the last Clean and that are gone, or have another number.
	Gone Gone

	changed int
	part    uint64 // number of the page at which Flush goes on
}

// Alter notes that a page is about to change, which is in memory.
func (s *Set[P]) Alter(p P) {
	if st := p.state(); !st.Dirty {
		st.Dirty = true
		s.changed++
	}
}

// Remove notes that the page with a number is about to go.
func (s *Set[P]) Remove(p P, id uint64) {
	st := p.state()
	if st.Stored {
		s.Gone = append(s.Gone, id)
	}
	if st.Dirty {
		s.changed--
	}
	s.Lost(p)
}

// Renumber notes that a page which is in memory is about to have another number than id.
func (s *Set[P]) Renumber(p P, id uint64) {
	st := p.state()
	if st.Stored {
		s.Gone = append(s.Gone, id)
	}
	st.Stored = false
	s.Alter(p)
}

// Changed is how many pages changed since Clean.
func (s *Set[P]) Changed() int { return s.changed }

// Visit visits pages, with their numbers and bytes in the order of the numbers: all, or those that changed since Clean, and
// with nil those that are gone.
func (s *Set[P]) Visit(of Stored[P], all bool, visit func(id uint64, page []byte)) {
	var gone Gone
	if !all {
		gone = s.Gone.sorted()
	}
	var buf []byte
	read := true
	of.Each(0, func(id uint64, p P) bool {
		var again bool // by another page
		gone, again = gone.pass(id, visit)
		switch st := p.state(); {
		case st.Evicted:
			read = !all || s.Copy(id, visit)
		case of.InHead():
			if !all && (st.Stored || again) {
				visit(id, nil)
			}
		case all || st.unwritten():
			buf = of.Append(buf[:0], p)
			visit(id, buf)
		}
		return read
	})
	gone.visit(visit)
}

// Flush visits up to size of the pages that changed since Clean, marks them as stored, and reports whether there may be
// more than size others. It goes round again for pages that changed behind it. Pages that are gone are visited by Visit.
func (s *Set[P]) Flush(of Stored[P], size int, visit func(id uint64, page []byte)) (more bool) {
	if of.InHead() {
		return false
	}
	left, from := size, s.part
	s.part = 0
	var buf []byte
	of.Each(from, func(id uint64, p P) bool {
		st := p.state()
		if st.Evicted || !st.unwritten() {
			return true
		}
		if left == 0 {
			s.part, more = id, true
			return false
		}
		left--
		buf = of.Append(buf[:0], p)
		visit(id, buf)
		if st.Dirty {
			s.changed--
		}
		st.Dirty, st.Stored = false, true
		return true
	})
	return more || s.changed > size
}

// Clean marks every page as stored.
func (s *Set[P]) Clean(of Stored[P]) {
	stored := !of.InHead()
	of.Each(0, func(_ uint64, p P) bool {
		st := p.state()
		st.Dirty, st.Stored = false, stored
		return true
	})
	s.Gone, s.changed, s.part = nil, 0, 0
}

// MarkAllDirty marks every page as changed. None is evicted: all that are have been stored as they are.
func (s *Set[P]) MarkAllDirty(of Stored[P]) {
	of.Each(0, func(_ uint64, p P) bool {
		if !p.state().Evicted {
			s.Alter(p)
		}
		return true
	})
}
