package paged

// DeltaState is the State of a page that can be written by what it gained since it was written, a delta
// ([structures.Incremental]).
type DeltaState struct {
	State
	Whole bool // it changed otherwise than by what a delta tells: it is to be written whole
}

func (s *DeltaState) deltaState() *DeltaState { return s }

// deltaCost is what a delta costs more than its bytes, about: its key, and places for it.
const deltaCost = 128

// ByDelta reports that a changed page is to be written by a delta. One in memory, of here bytes, that gained a lot is
// written whole.
func (s *DeltaState) ByDelta(gained, here int) bool {
	return s.Stored && !s.Whole && (s.Evicted || gained <= here/2)
}

// Cost is about what writing a page costs, in bytes: 0 if it did not change. The page gained some bytes, has some here, and
// some in all.
func (s *DeltaState) Cost(gained, here, all int) int {
	switch {
	case !s.Dirty:
		return 0
	case s.ByDelta(gained, here):
		return deltaCost + gained
	}
	return all
}

// DeltaPage is a page in which DeltaState is embedded.
type DeltaPage interface {
	Page
	deltaState() *DeltaState
}

// DeltaPages are pages that an [Incremental] writes. An evicted page can change by what it gains: Decode adds that.
type DeltaPages[P DeltaPage] interface {
	Pages[P]
	Stored[P]
	// Cost is what DeltaState.Cost says of a page, and ByDelta what that says.
	Cost(p P) int
	ByDelta(p P) bool
	// AppendDelta appends what a page gained since it was written, and Wrote notes that it was.
	AppendDelta(dst []byte, p P) []byte
	Wrote(p P)
	// Kept is how many bytes an evicted page keeps in memory of what it gained, and Forget drops these,
	// which the disk has.
	Kept(p P) int
	Forget(p P)
}

// Incremental is a [Resident] that knows what the disk has of the pages, which can be written by deltas. The zero Incremental is that of
// a value without pager, all of whose pages are new.
type Incremental[P DeltaPage] struct {
	Resident[P]
	// Gone are the numbers of pages that the disk had at the last Clean and that are gone.
	Gone Gone
	// Due is about what writing the changed pages costs, in bytes. Whoever changes a page by what a delta tells adds what
	// its Cost has become less what that was.
	Due int

	part uint64 // number of the page at which FlushDeltas goes on
}

// Alter notes that a page changed, or is about to, otherwise than by what a delta tells.
func (t *Incremental[P]) Alter(of DeltaPages[P], p P) {
	if st := p.deltaState(); !st.Dirty || !st.Whole {
		t.Due -= of.Cost(p)
		st.Dirty, st.Whole = true, true
		t.Due += of.Cost(p)
	}
}

// Remove notes that the page with a number is about to go, or to have another number, which is noted by Alter.
func (t *Incremental[P]) Remove(of DeltaPages[P], id uint64, p P) {
	t.Due -= of.Cost(p)
	t.Lost(p)
	st := p.deltaState()
	if st.Stored {
		t.Gone = append(t.Gone, id)
	}
	st.Dirty, st.Stored = false, false
}

// Evict evicts pages of about so many bytes, see [structures.Paged], and of what evicted pages keep.
func (t *Incremental[P]) Evict(of DeltaPages[P], bytes int) (freed, changed int) {
	return t.round(of, bytes, func(id uint64, p P) (freed, changed int) { return t.evict(of, id, p) })
}

// Spare is Evict but for pages that were used since Evict came by, such as those that the command under way holds.
func (t *Incremental[P]) Spare(of DeltaPages[P], bytes int) {
	t.round(of, bytes, func(id uint64, p P) (freed, changed int) {
		if p.state().Recent {
			return 0, 0
		}
		return t.evict(of, id, p)
	})
}

// evict evicts a page, if it may, or what one that is evicted keeps.
func (t *Incremental[P]) evict(of DeltaPages[P], id uint64, p P) (freed, changed int) {
	if !p.state().Evicted {
		return t.Resident.evict(of, id, p)
	}
	kept := of.Kept(p)
	switch {
	case kept == 0:
	case p.state().Dirty:
		return 0, kept
	case !t.held(id):
		of.Forget(p)
		return kept, 0
	}
	return 0, 0
}

// Visit visits pages, with their numbers and bytes in the order of the numbers: all, or those that changed since Clean, and
// with nil those that are gone.
func (t *Incremental[P]) Visit(of DeltaPages[P], all bool, visit func(id uint64, page []byte)) {
	var gone Gone
	if !all {
		gone = t.Gone.sorted()
	}
	var buf []byte
	inHead := of.InHead()
	of.Each(0, func(id uint64, p P) (read bool) {
		var again bool // by another page
		gone, again = gone.pass(id, visit)
		switch read = true; {
		case inHead:
			if !all && (p.state().Stored || again) {
				visit(id, nil)
			}
		case all || p.state().Dirty:
			buf, read = t.visit(of, id, p, buf, visit)
		}
		return read
	})
	gone.visit(visit)
}

// visit visits a page whole. It returns the buffer, and false if the page cannot be read.
func (t *Incremental[P]) visit(of DeltaPages[P], id uint64, p P, buf []byte, visit func(id uint64, page []byte)) ([]byte, bool) {
	if p.state().Evicted {
		var ok bool
		if p, ok = t.Peek(of, id, p); !ok {
			return buf, false
		}
	}
	buf = of.Append(buf[:0], p)
	visit(id, buf)
	return buf, true
}

// FlushDeltas visits changed pages, of about as many bytes as n full ones of size bytes, and marks them as stored: whole ones, or
// deltas if there is a function for these. It reports whether there may be more than that again. It goes round again for
// pages that changed behind it. Pages that are gone are visited by Visit.
func (t *Incremental[P]) FlushDeltas(of DeltaPages[P], n, size int, visit, delta func(id uint64, page []byte)) (more bool) {
	if t.Due == 0 || of.InHead() {
		return false
	}
	cost := func(p P) int {
		if delta != nil && of.ByDelta(p) {
			return of.Cost(p)
		}
		return size
	}
	from, left := t.part, n*size
	t.part = 0
	var buf []byte
	of.Each(from, func(id uint64, p P) (ok bool) {
		if !p.state().Dirty {
			return true
		}
		if left <= 0 {
			t.part, more = id, true
			return false
		}
		left -= cost(p)
		if delta != nil && of.ByDelta(p) {
			buf = of.AppendDelta(buf[:0], p)
			delta(id, buf)
		} else if buf, ok = t.visit(of, id, p, buf, visit); !ok {
			return false
		}
		t.wrote(of, p)
		return true
	})
	if more {
		return true
	}
	left = n * size
	of.Each(0, func(_ uint64, p P) bool {
		if p.state().Dirty {
			left -= cost(p)
		}
		return left >= 0
	})
	return left < 0
}

func (t *Incremental[P]) wrote(of DeltaPages[P], p P) {
	t.Due -= of.Cost(p)
	st := p.deltaState()
	st.Dirty, st.Whole, st.Stored = false, false, true
	of.Wrote(p)
}

// Clean marks every page as stored. One in the head stays changed: the disk does not have it.
func (t *Incremental[P]) Clean(of DeltaPages[P]) {
	t.Gone, t.part = nil, 0
	inHead := of.InHead()
	of.Each(0, func(_ uint64, p P) bool {
		if t.wrote(of, p); inHead {
			p.state().Stored = false
			t.Alter(of, p)
		}
		return true
	})
}

// MarkAllDirty marks every page as changed. None is evicted: all that are have been stored as they are.
func (t *Incremental[P]) MarkAllDirty(of DeltaPages[P]) {
	of.Each(0, func(_ uint64, p P) bool {
		if !p.state().Evicted {
			t.Alter(of, p)
		}
		return true
	})
}
