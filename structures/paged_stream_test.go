package structures_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/stream"
)

// streamModel is a stream with groups, kept the obvious way.
type streamModel struct {
	entries []entryModel // in the order of IDs
	groups  map[string]*groupModel
	limits  stream.PageLimits
}

type entryModel struct {
	id    stream.ID
	value string
}

type groupModel struct {
	last    stream.ID
	pending map[stream.ID]deliveryModel
}

type deliveryModel struct {
	consumer   string
	deliveries int64
}

func (m *streamModel) create() structures.Paged                     { return stream.New() }
func (m *streamModel) decode(head []byte) (structures.Paged, error) { return stream.Decode(head) }

// from is the index of the first entry from an ID on.
func (m *streamModel) from(id stream.ID) int {
	i, _ := slices.BinarySearchFunc(m.entries, id, func(e entryModel, id stream.ID) int { return e.id.Compare(id) })
	return i
}

func (m *streamModel) has(id stream.ID) bool {
	i := m.from(id)
	return i < len(m.entries) && m.entries[i].id == id
}

// someID is mostly that of an entry.
func (m *streamModel) someID(r *rand.Rand) stream.ID {
	if len(m.entries) == 0 || r.IntN(8) == 0 {
		return stream.ID{Ms: r.Uint64N(3000), Seq: r.Uint64N(3)}
	}
	return m.entries[r.IntN(len(m.entries))].id
}

// someIDs are of entries that lie side by side, or anywhere.
func (m *streamModel) someIDs(r *rand.Rand) (ids []stream.ID) {
	if r.IntN(3) == 0 && len(m.entries) > 0 {
		at := r.IntN(len(m.entries))
		if r.IntN(2) == 0 {
			at = max(0, len(m.entries)-30)
		}
		for _, e := range m.entries[at:min(len(m.entries), at+r.IntN(60))] {
			ids = append(ids, e.id)
		}
	}
	for range r.IntN(5) {
		ids = append(ids, m.someID(r))
	}
	return ids
}

// change makes a change, and makes it in the model if it was recorded.
func (m *streamModel) change(t testing.TB, r *rand.Rand, v structures.Paged, ch *structures.Change) {
	t.Helper()
	s := v.(*stream.Stream)
	name := fmt.Sprint("group-", r.IntN(3))
	g := m.groups[name]
	switch op := r.IntN(20); {
	case op < 9 || len(m.entries) < 100:
		m.add(r, s, ch)
	case op < 12:
		m.remove(t, r, s, ch)
	case op < 14:
		m.trim(t, r, s, ch)
	case g == nil:
		last := m.someID(r)
		if s.CreateGroup(ch, []byte(name), last, stream.Unknown) != nil {
			m.groups[name] = &groupModel{last, map[stream.ID]deliveryModel{}}
		}
	case op == 14:
		last := m.someID(r)
		s.Group([]byte(name)).SetID(ch, last, stream.Unknown)
		g.last = last
	default:
		m.changeGroup(t, r, s.Group([]byte(name)), g, ch)
	}
}

func (m *streamModel) add(r *rand.Rand, s *stream.Stream, ch *structures.Change) {
	for range 1 + r.IntN(20) {
		id := s.Last()
		if id.Seq++; r.IntN(3) == 0 {
			id = stream.ID{Ms: id.Ms + 1 + r.Uint64N(3)}
		}
		e := entryModel{id, fmt.Sprintf("%0*d", r.IntN(300), r.IntN(1000))}
		before := ch.Len()
		s.Add(ch, id, [][]byte{[]byte("field"), []byte(e.value)}, m.limits)
		if ch.Len() > before {
			m.entries = append(m.entries, e)
		}
	}
}

func (m *streamModel) remove(t testing.TB, r *rand.Rand, s *stream.Stream, ch *structures.Change) {
	ids, before, had := m.someIDs(r), ch.Len(), len(m.entries)
	n := s.Delete(ch, ids)
	if ch.Len() == before {
		return
	}
	m.entries = slices.DeleteFunc(m.entries, func(e entryModel) bool { return slices.Contains(ids, e.id) })
	if n != had-len(m.entries) {
		t.Fatalf("Delete: got %d, want %d", n, had-len(m.entries))
	}
}

// trim trims the stream exactly, mostly not by much.
func (m *streamModel) trim(t testing.TB, r *rand.Rand, s *stream.Stream, ch *structures.Change) {
	cut := r.IntN(40)
	if r.IntN(20) == 0 {
		cut = r.IntN(len(m.entries) + 1)
	}
	x := stream.Trim{Len: len(m.entries) - cut, References: stream.References(r.IntN(3))}
	had, kept := m.entries, func(i int) bool { return i >= cut }
	if r.IntN(2) == 0 && cut < len(m.entries) {
		x.ByID, x.Min = true, m.entries[cut].id
	}
	if x.References == stream.OnlyAcked && len(m.groups) > 0 {
		all := kept
		removable := 0
		kept = func(i int) bool {
			used := m.referenced(had[i].id)
			if x.ByID {
				return all(i) || used
			}
			if !used {
				removable++
			}
			return used || removable > cut
		}
	}
	if r.IntN(2) == 0 && !s.ReadyTrim(&x, 0) {
		return
	}
	before := ch.Len()
	n := s.Trim(ch, x)
	if ch.Len() == before {
		return
	}
	m.entries = nil
	for i, e := range had {
		if kept(i) {
			m.entries = append(m.entries, e)
		}
	}
	if x.References == stream.DropReferences {
		m.forget(x)
	}
	if n != len(had)-len(m.entries) {
		t.Fatalf("Trim %+v: got %d, want %d", x, n, len(had)-len(m.entries))
	}
}

// forget forgets that entries are pending which a trim removed, or others had removed before.
func (m *streamModel) forget(x stream.Trim) {
	kept := x.Min
	if !x.ByID {
		if kept = stream.MaxID; len(m.entries) > 0 {
			kept = m.entries[0].id
		}
	}
	for _, g := range m.groups {
		maps.DeleteFunc(g.pending, func(id stream.ID, _ deliveryModel) bool { return id.Less(kept) })
	}
}

func (m *streamModel) referenced(id stream.ID) bool {
	for _, g := range m.groups {
		if _, ok := g.pending[id]; ok || g.last.Less(id) {
			return true
		}
	}
	return false
}

func (m *streamModel) changeGroup(t testing.TB, r *rand.Rand, s *stream.Group, g *groupModel, ch *structures.Change) {
	name := fmt.Sprint("consumer-", r.IntN(3))
	c := s.Consumer([]byte(name))
	if c == nil {
		c = s.CreateConsumer(ch, []byte(name), 1)
	}
	before, count := ch.Len(), r.IntN(60)
	switch r.IntN(5) {
	case 0:
		ids := m.someIDs(r)
		if s.Ack(ch, ids); ch.Len() > before {
			for _, id := range ids {
				delete(g.pending, id)
			}
		}
	case 1:
		e := stream.Pending{ID: m.someID(r), Time: 5, Deliveries: 7}
		if s.Claim(ch, c, 6, []stream.Pending{e}); ch.Len() > before {
			g.pending[e.ID] = deliveryModel{name, 7}
		}
	case 2:
		after := m.someID(r)
		var got, want []stream.ID
		s.Redeliver(ch, c, after, count, 3, func(id stream.ID, e *stream.Entry) {
			if got = append(got, id); (e != nil) != m.has(id) {
				t.Fatalf("Redeliver %v: entry %v", id, e)
			}
		})
		for id, p := range g.pending {
			if p.consumer == name && after.Less(id) {
				want = append(want, id)
			}
		}
		slices.SortFunc(want, stream.ID.Compare)
		want = want[:min(len(want), count)]
		if ch.Len() == before {
			return
		}
		if !slices.Equal(got, want) {
			t.Fatalf("Redeliver: got %v, want %v", got, want)
		}
		for _, id := range want {
			if p := g.pending[id]; m.has(id) {
				g.pending[id] = deliveryModel{name, p.deliveries + 1}
			}
		}
	default:
		var got []entryModel
		noAck := r.IntN(5) == 0
		s.Deliver(ch, c, count, 2, noAck, func(e *stream.Entry) { got = append(got, entryOf(e)) })
		if ch.Len() == before {
			return
		}
		next, _ := g.last.Next()
		want := m.entries[m.from(next):]
		if want = want[:min(len(want), count)]; !slices.Equal(got, want) {
			t.Fatalf("Deliver: got %d entries, want %d, or they differ", len(got), len(want))
		}
		for _, e := range want {
			if g.last = e.id; !noAck {
				g.pending[e.id] = deliveryModel{name, 1}
			}
		}
	}
}

func entryOf(e *stream.Entry) (m entryModel) {
	m.id = e.ID
	e.Each(func(_, value []byte) { m.value = string(value) })
	return m
}

func (m *streamModel) check(t testing.TB, r *rand.Rand, v structures.Paged) {
	t.Helper()
	s := v.(*stream.Stream)
	var got []entryModel
	visit := func(e *stream.Entry) bool { got = append(got, entryOf(e)); return true }
	switch r.IntN(4) {
	case 0:
		s.Each(stream.ID{}, stream.MaxID, visit)
	case 1:
		s.Backward(stream.ID{}, stream.MaxID, visit)
		slices.Reverse(got)
	case 2:
		s.Lend(stream.ID{}, stream.MaxID, s.Len(), false).Each(visit)
	default:
		var e stream.Entry
		for i := range m.entries {
			if s.Get(&e, m.entries[i].id) {
				got = append(got, entryOf(&e))
			}
		}
	}
	if !slices.Equal(got, m.entries) || s.Len() != len(m.entries) {
		t.Fatalf("got %d entries, length %d, want %d, or they differ", len(got), s.Len(), len(m.entries))
	}
	if n := len(m.entries); n > 0 && (s.First() != m.entries[0].id || s.Newest() != m.entries[n-1].id) {
		t.Fatalf("from %v to %v, want %v to %v", s.First(), s.Newest(), m.entries[0].id, m.entries[n-1].id)
	}
	m.checkGroups(t, s)
}

func (m *streamModel) checkGroups(t testing.TB, s *stream.Stream) {
	t.Helper()
	if s.GroupCount() != len(m.groups) {
		t.Fatalf("%d groups, want %d", s.GroupCount(), len(m.groups))
	}
	for name, want := range m.groups {
		g := s.Group([]byte(name))
		n := 0
		g.EachPending(stream.ID{}, stream.MaxID, func(p stream.Pending) bool {
			if n++; want.pending[p.ID] != (deliveryModel{p.Consumer.Name(), p.Deliveries}) {
				t.Fatalf("%s: %v is %v, want %v", name, p.ID, p, want.pending[p.ID])
			}
			return true
		})
		if n != len(want.pending) || g.Last() != want.last {
			t.Fatalf("%s: %d pending, last %v, want %d, %v", name, n, g.Last(), len(want.pending), want.last)
		}
	}
}
