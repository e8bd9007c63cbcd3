package stream

import (
	"slices"
	"testing"
)

// forget is Forget in the model; it returns in how many groups the entry was pending.
func (m *model) forget(id ID) (n int) {
	for _, g := range m.groups {
		if _, ok := g.pending[id]; ok {
			delete(g.pending, id)
			n++
		}
	}
	return n
}

// forgetTrimmed forgets what a trim has passed over that removed the first n entries: also what
// was deleted before. By whole pages it may leave some of what is behind the last of these.
func (m *model) forgetTrimmed(tr Trim, n int) {
	exact := tr.ByID && !tr.Pages
	if n == 0 && (!exact || len(m.entries) == 0) {
		return
	}
	for name, g := range m.groups {
		group := m.s.Group([]byte(name))
		for id := range g.pending {
			gone := exact && id.Less(tr.Min)
			if !exact {
				gone = n == len(m.entries) && (!tr.ByID || id.Less(tr.Min)) || n < len(m.entries) && id.Less(m.entries[n].id)
			}
			if _, r := group.find(id); tr.Pages && m.entries[n-1].id.Less(id) {
				gone = r == nil && (n == len(m.entries) || gone) // as the pages are
			}
			if gone {
				delete(g.pending, id)
				m.done["unreferenced"]++
			}
		}
	}
}

func (m *model) forgetSome() {
	ids := []ID{m.someID(), m.someID()}
	for _, id := range ids {
		m.done["forget"] += m.forget(id)
	}
	m.s.Forget(&m.ch, ids)
}

// referenced is Referenced in the model.
func (m *model) referenced(id ID) bool {
	for _, g := range m.groups {
		if _, pending := g.pending[id]; pending || g.last.Less(id) {
			return true
		}
	}
	return false
}

// trimAcked trims what no group refers to. With whole pages or a limit, some of the
// last entries that could be removed may be left.
func (m *model) trimAcked(tr Trim) {
	var can []ID
	for _, e := range m.entries {
		if m.s.Referenced(e.id) != m.referenced(e.id) {
			m.t.Fatalf("Referenced %v: got %v", e.id, m.s.Referenced(e.id))
		}
		if tr.ByID && !e.id.Less(tr.Min) || !tr.ByID && len(m.entries)-len(can) <= tr.Len {
			break
		}
		if !m.referenced(e.id) {
			can = append(can, e.id)
		}
	}
	got := m.s.Trim(&m.ch, tr)
	if got > len(can) || tr.Limit > 0 && got > tr.Limit || !tr.Pages && tr.Limit == 0 && got != len(can) {
		m.t.Fatalf("Trim %+v: got %d, want %d", tr, got, len(can))
	}
	for _, id := range can[:got] {
		m.entries = slices.DeleteFunc(m.entries, func(e entryModel) bool { return e.id == id })
		if m.maxDeleted.Less(id) {
			m.maxDeleted = id
		}
	}
	m.done["trimacked"] += got
}

// checkOldest checks what pages know of their oldest deliveries, and makes all of them
// know it.
func (m *model) checkOldest() {
	for _, g := range m.s.groups {
		for _, p := range g.pending {
			known := p.since()
			if p.oldest = 0; p.since() != known {
				m.t.Fatalf("page of %d records: since %d, was known as %d", len(p.records), p.since(), known)
			}
		}
	}
}

// checkClaimable compares the entries that were delivered the longest ago.
func (m *model) checkClaimable(group *Group, g *groupModel) {
	until, count := m.now-int64(m.rng.IntN(300)), 1+m.rng.IntN(60)
	if m.rng.IntN(4) == 0 {
		count = 1 << 30
	}
	var want, got []int64
	for _, p := range g.pending {
		if p.time <= until {
			want = append(want, p.time)
		}
	}
	slices.Sort(want)
	oldest := int64(-1)
	for _, p := range g.pending {
		if at := max(p.time, 0); oldest < 0 || at < oldest {
			oldest = at
		}
	}
	if at, ok := group.Oldest(); ok != (len(g.pending) > 0) || ok && at != oldest {
		m.t.Fatalf("Oldest: got %d %v, want %d", at, ok, oldest)
	}
	for _, p := range group.Claimable(until, count) {
		if q, ok := g.pending[p.ID]; !ok || q != modelOf(p) {
			m.t.Fatalf("Claimable: got %v, want %v", p, q)
		}
		got = append(got, p.place)
	}
	if want = want[:min(len(want), count)]; !slices.Equal(got, want) {
		m.t.Fatalf("Claimable until %d, %d entries: got deliveries at %v, want %v", until, count, got, want)
	}
	m.done["claimable"] += len(got)
}

// Pages that are split or joined know anew which of their deliveries is the oldest.
func TestOldestDeliveryOfSplitAndJoinedPages(t *testing.T) {
	s := New()
	g := s.CreateGroup(nil, []byte("g"), ID{}, 0)
	c := g.CreateConsumer(nil, []byte("c"), 0)
	deliver := func(ms uint64, time int64) {
		g.Claim(nil, c, 0, []Pending{{ID: ID{Ms: ms}, Time: time}})
	}
	oldest := func(want int64) {
		t.Helper()
		if got, _ := g.Oldest(); got != want {
			t.Fatalf("oldest delivery at %d, want %d", got, want)
		}
	}
	for i := range uint64(pageRecords) {
		deliver(2*i+2, 100)
	}
	deliver(2*pageRecords, 50)
	oldest(50)
	deliver(2*pageRecords-1, 100) // splits the page
	g.Ack(nil, []ID{{Ms: 2 * pageRecords}})
	oldest(100)
	deliver(2*pageRecords-1, 50)
	// Two thirds of the first page, then so much of the second that it joins the first.
	for i := range uint64(pageRecords - 2) {
		if i < 44 || i >= pageRecords/2 {
			g.Ack(nil, []ID{{Ms: 2*i + 2}})
		}
		oldest(50)
	}
	if len(g.pending) != 1 {
		t.Fatalf("%d pages, want 1", len(g.pending))
	}
}
