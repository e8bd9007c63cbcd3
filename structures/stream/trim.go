package stream

import "github.com/vigildb/vigil/structures"

// Trim says which entries XTRIM removes, from the first one on.
type Trim struct {
	// ByID: those before Min. Else those by which the stream is longer than Len.
	ByID bool
	Min  ID
	Len  int
	// Pages removes only whole pages, and so may leave some.
	Pages bool
	// Limit is the number of entries to remove at most, by whole pages; 0 is no limit.
	Limit int
	// References says what becomes of pending entries; those that it keeps may leave
	// the stream longer.
	References References

	ready bool // ReadyTrim was asked, and the pages are in memory that are needed
	found bool // ids are those that acked returns
	ids   []ID
}

// Trim removes entries from the beginning and returns how many. If it removes none, it
// records at most that references are gone, to entries that were deleted before.
func (s *Stream) Trim(ch *structures.Change, t Trim) (removed int) {
	if !t.ready && !s.ReadyTrim(&t, 0) || !t.ByID && s.len <= t.Len {
		return 0
	}
	if t.References == OnlyAcked && len(s.groups) > 0 {
		if !t.found {
			t.ids = s.acked(&t)
		}
		return s.Delete(ch, t.ids)
	}
	kept, all := s.keep(&t)
	none := !all && (len(s.pages) == 0 || !s.First().Less(kept))
	switch {
	case t.References != DropReferences:
	case t.ByID && (all || !t.Pages && len(s.pages) > 0):
		s.forgetBefore(ch, t.Min, false)
	case !none:
		s.forgetBefore(ch, kept, all)
	}
	if none {
		return 0
	}
	if all {
		ch.Op(opTrim, 0)
	} else {
		ch.Op(opTrim, 2)
		recordID(ch, kept)
	}
	return s.trim(kept, all)
}

// keep returns the first ID that is kept; all is true if none is. If a page cannot be read
// that is, everything is kept.
func (s *Stream) keep(t *Trim) (kept ID, all bool) {
	left := s.len // entries from page i on
	for i, p := range s.pages {
		if !t.ByID && left <= t.Len {
			return p.first(), false
		}
		if t.Limit > 0 && s.len-left+p.live > t.Limit {
			return p.first(), false
		}
		whole := left-p.live >= t.Len
		if t.ByID {
			whole = p.last.Less(t.Min)
		}
		switch {
		case whole:
			left -= p.live
			continue
		case t.Pages:
			return p.first(), false
		case t.ByID:
			return t.Min, false
		}
		if !s.touch(i) {
			return ID{}, false
		}
		return p.nth(left - t.Len), false
	}
	return ID{}, len(s.pages) > 0
}

// nth returns the ID of entry n of those that are not deleted, from 0.
func (p *page) nth(n int) (id ID) {
	p.walk(ID{}, MaxID, func(e *Entry) bool {
		id = e.ID
		n--
		return n >= 0
	})
	return id
}

// trim removes all entries before an ID, or all. The page in which the stream begins then
// has to be in memory, unless all of it is kept.
func (s *Stream) trim(kept ID, all bool) (removed int) {
	before := s.len
	n := len(s.pages)
	if !all {
		n = s.seek(kept)
	}
	for i, p := range s.pages[:n] {
		s.len -= p.live
		s.memory -= p.memory()
		s.kept.Lost(p)
		s.drop(p)
		s.pages[i] = nil
	}
	s.pages = s.pages[n:]
	if len(s.pages) == 0 {
		s.pages = nil
		return before - s.len
	}
	p := s.pages[0]
	if !p.floor().Less(kept) {
		return before - s.len
	}
	// A page whose last entries are deleted may have none left.
	if live := p.liveFrom(kept); live == 0 {
		s.len -= p.live
		s.memory -= p.memory()
		s.drop(p)
		s.pages = s.pages[1:]
	} else if live < p.live {
		s.memory -= p.memory()
		s.len -= p.live - live
		p.eraseBefore(kept)
		s.memory += p.memory()
		s.markDirty(p)
	}
	return before - s.len
}

// liveFrom counts the entries from an ID on that are not deleted.
func (p *page) liveFrom(id ID) (n int) {
	p.walk(id, MaxID, func(*Entry) bool {
		n++
		return true
	})
	return n
}

// eraseBefore marks the entries before an ID as deleted. One from it on is left.
func (p *page) eraseBefore(id ID) {
	p.own()
	var e Entry
	for {
		end := p.read(&e, p.from, p.base)
		if !e.ID.Less(id) && !e.deleted {
			return
		}
		if !e.deleted {
			p.buf[p.from] |= flagDeleted
			p.live--
		}
		p.from, p.base = end, e.ID
	}
}
