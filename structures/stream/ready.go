package stream

import (
	"iter"
	"slices"
)

// A method that changes something has the pages in memory that it needs before it records
// anything: one that cannot be read must not leave a change half made. A command that
// makes several changes asks for the pages of all of them before the first.

// Unread reports that a page could not be read for the command under way.
func (s *Stream) Unread() bool { return s.kept.Unread() }

// pinAll makes sure that pages are in memory together, and reports whether it could.
func (s *Stream) pinAll(pages iter.Seq[int]) bool {
	bytes := 0
	for i := range pages {
		if p := s.pages[i]; p.Evicted {
			bytes += p.size()
		}
	}
	if bytes > 0 {
		s.kept.MakeRoom(s.paging(), bytes)
		for i := range pages {
			if !s.kept.Pin(s.paging(), s.pages[i].id, s.pages[i]) {
				return false
			}
		}
	}
	return !s.Unread()
}

// pagesOf yields the pages that may have entries.
func (s *Stream) pagesOf(ids iter.Seq[ID]) iter.Seq[int] {
	return func(yield func(int) bool) {
		for id := range ids {
			if i := s.seek(id); i < len(s.pages) && !id.Less(s.pages[i].floor()) && !yield(i) {
				return
			}
		}
	}
}

// Ready makes sure that the pages of entries are in memory: what is done to these entries
// then does not fail half way. It reports false if one of the pages cannot be read.
func (s *Stream) Ready(ids ...ID) bool {
	if s.kept.Whole() {
		return true
	}
	if !s.pinAll(s.pagesOf(slices.Values(ids))) {
		return false
	}
	// The last pages may go with their entries, and then another one is the last.
	last := len(s.pages) - 1
	tail := s.pages[last]
	if !slices.ContainsFunc(ids, func(id ID) bool { return !id.Less(tail.floor()) && !tail.last.Less(id) }) {
		return true
	}
	for i := last; i >= max(0, last-len(ids)); i-- {
		if s.pages[i].Evicted {
			return s.kept.Pin(s.paging(), s.pages[i].id, s.pages[i])
		}
	}
	return true
}

// ReadyNew is Ready for up to count of the entries that are new to the group.
func (g *Group) ReadyNew(count int) bool {
	s := g.s
	if s.kept.Whole() {
		return true
	}
	from, ok := g.last.Next()
	i := s.seek(from)
	if !ok || count <= 0 || i == len(s.pages) {
		return !s.Unread()
	}
	first := s.pages[i]
	fresh := first.live
	if first.floor().Less(from) { // how many of its entries are new is not known without it
		if !s.touch(i) {
			return false
		}
		fresh = first.liveFrom(from)
	}
	return s.pinAll(func(yield func(int) bool) {
		left := count
		for at := i; at < len(s.pages) && left > 0 && yield(at); at++ {
			if at > i {
				left -= s.pages[at].live
			} else {
				left -= fresh
			}
		}
	})
}

// ReadyAgain is Ready for up to count of the entries behind one that a consumer has not
// acknowledged.
func (g *Group) ReadyAgain(c *Consumer, behind ID, count int) bool {
	from, ok := behind.Next()
	return !ok || g.pinPending(c, from, MaxID, count)
}

// pinPending is ReadyAgain for the entries from one ID to another.
func (g *Group) pinPending(c *Consumer, from, to ID, count int) bool {
	return g.s.kept.Whole() || g.s.pinAll(g.s.pagesOf(func(yield func(ID) bool) {
		left := count
		g.eachOf(c, from, to, func(_ *pendingPage, r *record) bool {
			left--
			return left >= 0 && yield(r.id)
		})
	}))
}

// ReadyTrim is Ready for a Trim, behind a number of entries that are added before it. What
// it finds out is kept in t.
func (s *Stream) ReadyTrim(t *Trim, added int) bool {
	was := t.Len
	t.Len -= added
	t.ready = s.kept.Whole() || s.pinTrim(t)
	t.Len = was
	return t.ready
}

func (s *Stream) pinTrim(t *Trim) bool {
	if !t.ByID && s.len <= t.Len {
		return !s.Unread()
	}
	if t.References == OnlyAcked && len(s.groups) > 0 {
		t.ids = s.acked(t)
		t.found = true
		return !s.Unread() && s.Ready(t.ids...)
	}
	kept, all := s.keep(t)
	return !s.Unread() && s.pinCut(kept, all)
}

// pinCut makes sure that the page is in memory in which a stream begins that is
// trimmed, unless all of it is kept.
func (s *Stream) pinCut(kept ID, all bool) bool {
	if all || s.kept.Whole() {
		return true
	}
	i := s.seek(kept)
	return i == len(s.pages) || !s.pages[i].floor().Less(kept) || s.kept.Pin(s.paging(), s.pages[i].id, s.pages[i])
}
