package stream

import (
	"fmt"
	"math"
	"slices"
)

func (m *model) group() (name string, g *groupModel) {
	name = string('A' + byte(m.rng.IntN(4)))
	return name, m.groups[name]
}

func (m *model) changeGroup() {
	name, g := m.group()
	switch {
	case g == nil:
		last := ID{}
		if m.rng.IntN(2) == 0 {
			last = m.someID()
		}
		if m.s.CreateGroup(&m.ch, []byte(name), last, Unknown) == nil || m.s.CreateGroup(nil, []byte(name), last, 0) != nil {
			m.t.Fatalf("CreateGroup %s", name)
		}
		m.groups[name] = &groupModel{last, map[ID]pendingModel{}, map[string]bool{}}
		m.done["group"]++
	case m.rng.IntN(12) == 0:
		if !m.s.DestroyGroup(&m.ch, []byte(name)) {
			m.t.Fatalf("DestroyGroup %s", name)
		}
		delete(m.groups, name)
		m.done["destroy"]++
	case m.rng.IntN(4) == 0:
		g.last = m.someID()
		m.s.Group([]byte(name)).SetID(&m.ch, g.last, 0)
		m.done["groupset"]++
	}
}

// consumer returns a consumer, which is made if it is missing.
func (m *model) consumer(name string, g *groupModel) *Consumer {
	who := fmt.Sprint("c", m.rng.IntN(1+m.rng.IntN(90)))
	group := m.s.Group([]byte(name))
	c := group.CreateConsumer(&m.ch, []byte(who), m.now)
	if (c == nil) != g.consumers[who] {
		m.t.Fatalf("CreateConsumer %s", who)
	}
	g.consumers[who] = true
	if c == nil {
		c = group.Consumer([]byte(who))
	}
	return c
}

func (m *model) deliver() {
	name, g := m.group()
	if g == nil {
		return
	}
	c, count, noAck := m.consumer(name, g), m.rng.IntN(40), m.rng.IntN(6) == 0
	var want, got []string
	for _, e := range m.entries {
		if g.last.Less(e.id) && len(want) < count {
			want = append(want, e.line)
			g.last = e.id
			if !noAck {
				g.pending[e.id] = pendingModel{c.Name(), m.now, 1}
			}
		}
	}
	n := m.s.Group([]byte(name)).Deliver(&m.ch, c, count, m.now, noAck, func(e *Entry) { got = append(got, line(e)) })
	if n != len(want) || !slices.Equal(got, want) {
		m.t.Fatalf("Deliver to %s: got %d %q, want %q", c.Name(), n, got, want)
	}
	m.done["deliver"] += n
}

// ordered lists the pending entries of a consumer behind an ID.
func (g *groupModel) ordered(consumer string, after ID) (ids []ID) {
	for id, p := range g.pending {
		if p.consumer == consumer && after.Less(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, ID.Compare)
	return ids
}

func (m *model) redeliver() {
	name, g := m.group()
	if g == nil {
		return
	}
	c, count, after := m.consumer(name, g), m.rng.IntN(10), ID{}
	if m.rng.IntN(2) == 0 {
		after = m.someID()
	}
	ids := g.ordered(c.Name(), after)
	ids = ids[:min(len(ids), count)]
	var got []ID
	m.s.Group([]byte(name)).Redeliver(&m.ch, c, after, count, m.now, func(id ID, e *Entry) {
		got = append(got, id)
		if (e != nil) != m.has(id) {
			m.t.Fatalf("Redeliver %v: entry %v", id, e)
		}
	})
	if !slices.Equal(got, ids) {
		m.t.Fatalf("Redeliver: got %v, want %v", got, ids)
	}
	for _, id := range ids {
		if p := g.pending[id]; m.has(id) {
			g.pending[id] = pendingModel{p.consumer, m.now, oneMore(p.deliveries)}
			m.done["redeliver"]++
		}
	}
}

func (m *model) ack() {
	name, g := m.group()
	if g == nil {
		return
	}
	var ids []ID
	want := 0
	for id := range g.pending {
		if ids = append(ids, id); len(ids) > m.rng.IntN(40) {
			break
		}
	}
	slices.SortFunc(ids, ID.Compare) // a map's order is no seed's
	ids = append(ids, m.someID())
	for _, id := range ids {
		if _, ok := g.pending[id]; ok {
			want++
		}
		delete(g.pending, id)
	}
	if got := m.s.Group([]byte(name)).Ack(&m.ch, ids); got != want {
		m.t.Fatalf("Ack: got %d, want %d", got, want)
	}
	m.done["ack"] += want
}

func (m *model) claim() {
	name, g := m.group()
	if g == nil {
		return
	}
	c := m.consumer(name, g)
	var entries []Pending
	for range m.rng.IntN(6) {
		p := Pending{ID: m.someID(), Time: m.now - int64(m.rng.IntN(100)), Deliveries: int64(m.rng.IntN(9))}
		entries = append(entries, p)
		g.pending[p.ID] = pendingModel{c.Name(), p.Time, p.Deliveries}
	}
	m.s.Group([]byte(name)).Claim(&m.ch, c, m.now, entries)
	m.done["claim"] += len(entries)
}

// release gives some entries back, which are those of nobody then, in the order of the call.
func (m *model) release() {
	name, g := m.group()
	if g == nil {
		return
	}
	var entries []Pending
	for id := range g.pending {
		if entries = append(entries, Pending{ID: id}); len(entries) > m.rng.IntN(6) {
			break
		}
	}
	slices.SortFunc(entries, func(a, b Pending) int { return b.ID.Compare(a.ID) })
	for i := range entries {
		e := &entries[i]
		e.Deliveries = []int64{0, 1, 7, Endless}[m.rng.IntN(4)]
	}
	group := m.s.Group([]byte(name))
	first := group.released
	group.Release(&m.ch, entries)
	for i, e := range entries { // the place is one of the group
		g.pending[e.ID] = pendingModel{"", math.MinInt64 + first + int64(i) + 1, e.Deliveries}
	}
	m.done["release"] += len(entries)
}

// holder names who has a pending entry.
func holder(p Pending) string {
	if p.Consumer == nil {
		return ""
	}
	return p.Consumer.Name()
}

func modelOf(p Pending) pendingModel { return pendingModel{holder(p), p.place, p.Deliveries} }

func oneMore(deliveries int64) int64 {
	if deliveries == Endless {
		return Endless
	}
	return deliveries + 1
}

func (m *model) deleteConsumer() {
	name, g := m.group()
	if g == nil {
		return
	}
	c := m.consumer(name, g)
	want := g.ordered(c.Name(), ID{})
	if g.pending[ID{}].consumer == c.Name() {
		want = append(want, ID{})
	}
	if got, ok := m.s.Group([]byte(name)).DeleteConsumer(&m.ch, []byte(c.Name())); got != len(want) || !ok {
		m.t.Fatalf("DeleteConsumer: got %d %v, want %d", got, ok, len(want))
	}
	for _, id := range want {
		delete(g.pending, id)
	}
	delete(g.consumers, c.Name())
	m.done["delconsumer"]++
}

func (m *model) checkGroups() {
	m.t.Helper()
	if m.s.GroupCount() != len(m.groups) {
		m.t.Fatalf("%d groups, want %d", m.s.GroupCount(), len(m.groups))
	}
	for name, g := range m.groups {
		group := m.s.Group([]byte(name))
		if group.Last() != g.last || group.Pending() != len(g.pending) || group.ConsumerCount() != len(g.consumers) {
			m.t.Fatalf("group %s: last %v, %d pending, %d consumers; want %v, %d, %d", name,
				group.Last(), group.Pending(), group.ConsumerCount(), g.last, len(g.pending), len(g.consumers))
		}
		if lag, ok := group.Lag(); ok && (lag < 0 || lag > int64(m.added)) {
			m.t.Fatalf("group %s: lag %d of %d", name, lag, m.added)
		}
		released := 0
		group.EachPending(ID{}, MaxID, func(p Pending) bool {
			if want := g.pending[p.ID]; want != modelOf(p) {
				m.t.Fatalf("group %s: %v is %v, want %v", name, p.ID, p, want)
			}
			if p.Consumer == nil {
				released++
			}
			return true
		})
		if group.Released() != released {
			m.t.Fatalf("group %s: %d entries released, counts %d", name, released, group.Released())
		}
		m.checkClaimable(group, g)
		for _, c := range group.Consumers() {
			n := 0
			group.EachPendingOf(c, ID{}, MaxID, func(p Pending) bool {
				if n++; p.Consumer != c {
					m.t.Fatalf("%v is of %s, not %s", p.ID, p.Consumer.Name(), c.Name())
				}
				return true
			})
			if n != c.Pending() {
				m.t.Fatalf("%s has %d pending entries, counts %d", c.Name(), n, c.Pending())
			}
		}
	}
}
