package stream

// Each visits the entries from one ID to another, both included, until visit
// returns false. It ends early if a page cannot be read.
func (s *Stream) Each(from, to ID, visit func(e *Entry) bool) {
	first := s.seek(from)
	for i := first; i < len(s.pages) && !to.Less(s.pages[i].floor()); i++ {
		p := s.entries(i, i-first)
		if p == nil || !p.walk(from, to, visit) {
			return
		}
	}
}

// Backward is Each from the greatest ID to the least.
func (s *Stream) Backward(from, to ID, visit func(e *Entry) bool) {
	first := min(s.seek(to), len(s.pages)-1)
	for i := first; i >= 0 && !s.pages[i].last.Less(from); i-- {
		p := s.entries(i, first-i)
		if p == nil || !p.walkBack(from, to, visit) {
			return
		}
	}
}

// floor is an ID that no entry of the page is before.
func (p *page) floor() ID { return p.span.base }

// Spanned is the number of pages that have the entries from one ID to another, and
// one more at most: so much has to be read for them.
func (s *Stream) Spanned(from, to ID) int {
	return max(0, min(s.seek(to)+1, len(s.pages))-s.seek(from))
}

// Range is entries that stay as they are while the stream changes.
type Range struct {
	spans    []span
	from, to ID
	back     bool
}

// Lend returns the entries from one ID to another, in reverse order if back is
// set. If they are more than count, only the first count have to be visited, and
// some behind them may be left out.
func (s *Stream) Lend(from, to ID, count int, back bool) *Range {
	r := &Range{from: from, to: to, back: back}
	held := 0
	lend := func(i int) (enough bool) {
		p := s.entries(i, len(r.spans))
		if p == nil {
			return true
		}
		p.lent = true
		v := p.span
		v.buf = v.buf[:len(v.buf):len(v.buf)]
		r.spans = append(r.spans, v)
		// Of the first page some entries may be outside of the range.
		if len(r.spans) > 1 {
			held += p.live
		}
		return held >= count
	}
	if back {
		for i := min(s.seek(to), len(s.pages)-1); i >= 0 && !s.pages[i].last.Less(from); i-- {
			if lend(i) {
				break
			}
		}
		return r
	}
	for i := s.seek(from); i < len(s.pages) && !to.Less(s.pages[i].floor()); i++ {
		if lend(i) {
			break
		}
	}
	return r
}

// Each visits the entries, until visit returns false.
func (r *Range) Each(visit func(e *Entry) bool) {
	for i := range r.spans {
		walk := r.spans[i].walk
		if r.back {
			walk = r.spans[i].walkBack
		}
		if !walk(r.from, r.to, visit) {
			return
		}
	}
}

// HasFrom reports whether there is an entry from an ID on.
func (s *Stream) HasFrom(id ID) bool {
	return s.len > 0 && !s.Newest().Less(id)
}

// Newest returns the ID of the last entry, 0-0 if there is none.
func (s *Stream) Newest() (id ID) {
	n := len(s.pages)
	if n == 0 {
		return ID{}
	}
	p := s.pages[n-1]
	if p.live == p.count {
		return p.last
	}
	p.walkBack(ID{}, MaxID, func(e *Entry) bool {
		id = e.ID
		return false
	})
	return id
}
