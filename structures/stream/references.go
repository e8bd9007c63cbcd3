package stream

import (
	"cmp"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// References says what removing an entry does to groups in which it is pending.
type References int

// References of entries that are removed.
const (
	// KeepReferences leaves the entry pending.
	KeepReferences References = iota
	// DropReferences forgets that it is pending.
	DropReferences
	// OnlyAcked removes only entries that every group has read and acknowledged.
	OnlyAcked
)

// Referenced reports whether a group has not read an entry yet, or has not
// acknowledged it.
func (s *Stream) Referenced(id ID) bool {
	for _, g := range s.groups {
		if _, r := g.find(id); r != nil || g.last.Less(id) {
			return true
		}
	}
	return false
}

// Forget forgets in all groups that entries are pending, whether or not the stream
// still has them. It records nothing if none of them is.
func (s *Stream) Forget(ch *structures.Change, ids []ID) {
	for _, g := range s.Groups() {
		g.Ack(ch, ids)
	}
}

// forgetBefore forgets that entries are pending that are to be trimmed: those before
// kept, or all, also those that were deleted before.
func (s *Stream) forgetBefore(ch *structures.Change, kept ID, all bool) {
	for _, g := range s.Groups() {
		var ids []ID
		g.EachPending(ID{}, MaxID, func(p Pending) bool {
			if !all && !p.ID.Less(kept) {
				return false
			}
			ids = append(ids, p.ID)
			return true
		})
		g.Ack(ch, ids)
	}
}

// acked returns the entries that Trim removes if no group may refer to them: they lie
// between others that are referred to.
func (s *Stream) acked(t *Trim) (ids []ID) {
	read := MaxID // up to here every group has read
	for _, g := range s.groups {
		if g.last.Less(read) {
			read = g.last
		}
	}
	for i, p := range s.pages {
		whole := s.len-len(ids)-p.live >= t.Len
		if t.ByID {
			whole = p.last.Less(t.Min)
		}
		if t.Pages && !whole || t.Limit > 0 && len(ids)+p.live > t.Limit {
			break
		}
		if read.Less(p.floor()) {
			break
		}
		if p = s.entries(i, i); p == nil {
			break
		}
		more := p.walk(ID{}, read, func(e *Entry) bool {
			if t.ByID && !e.ID.Less(t.Min) || !t.ByID && s.len-len(ids) <= t.Len {
				return false
			}
			if !s.Referenced(e.ID) {
				ids = append(ids, e.ID)
			}
			return true
		})
		if !more || read.Less(p.last) {
			break
		}
	}
	return ids
}

// Claimable returns up to count pending entries of the group that were last
// delivered at the unix ms until or before, the longest ago first, and before them those
// that were released. The stream may have deleted them.
func (g *Group) Claimable(until int64, count int) []Pending {
	until = max(until, releasedBefore)
	var pages []*pendingPage
	for _, p := range g.pending {
		if p.since() <= until {
			pages = append(pages, p)
		}
	}
	slices.SortStableFunc(pages, func(a, b *pendingPage) int { return cmp.Compare(a.since(), b.since()) })
	var list []Pending
	sorted := 0 // of the list, once it had count entries
	for _, p := range pages {
		if sorted > 0 && list[sorted-1].place <= p.since() {
			break
		}
		for i := range p.records {
			if r := &p.records[i]; r.time <= until {
				list = append(list, g.pendingOf(r))
			}
		}
		// Sorting now and then bounds what is kept.
		if len(list)-sorted >= max(count, pageRecords) || len(list) >= count && sorted == 0 {
			list, sorted = longestAgo(list, count), count
		}
	}
	return longestAgo(list, count)
}

// longestAgo sorts pending entries and keeps the first count of them.
func longestAgo(list []Pending, count int) []Pending {
	slices.SortFunc(list, func(a, b Pending) int {
		return cmp.Or(cmp.Compare(a.place, b.place), a.ID.Compare(b.ID))
	})
	return list[:min(len(list), count)]
}

// Oldest returns the unix ms of the delivery that is the longest ago, of those that
// were not acknowledged, 0 if one was released; ok is false if there is none.
func (g *Group) Oldest() (time int64, ok bool) {
	for i, p := range g.pending {
		if at := p.since(); i == 0 || at < time {
			time = at
		}
	}
	return max(time, 0), len(g.pending) > 0
}
