package stream

import (
	"math"

	"github.com/vigildb/vigil/structures"
)

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	ID         ID
	Consumer   *Consumer // nil: nobody, it was released
	Time       int64     // unix ms of the last delivery; 0 if it was released
	Deliveries int64     // counted up to 2^32-2, or Endless

	place int64 // Time, or what it was given when it was released, which is before all times
}

// Endless is a number of deliveries that does not grow.
const Endless = math.MaxInt64

func (g *Group) pendingOf(r *record) Pending {
	p := Pending{ID: r.id, Deliveries: int64(r.deliveries), place: r.time}
	if r.consumer != nobody {
		p.Consumer, p.Time = g.byNumber[r.consumer], r.time
	}
	if r.deliveries == math.MaxUint32 {
		p.Deliveries = Endless
	}
	return p
}

// clampDeliveries is a number of deliveries as a record has it.
func clampDeliveries(n int64) uint32 {
	if n == Endless {
		return math.MaxUint32
	}
	return uint32(max(0, min(n, math.MaxUint32-1)))
}

// Deliver gives a consumer up to count of the entries that are new to the group, and
// visits them. They become pending, unless noAck is set. It returns how many they
// were, and records nothing if there are none.
func (g *Group) Deliver(ch *structures.Change, c *Consumer, count int, now int64, noAck bool, visit func(e *Entry)) (n int) {
	from, ok := g.last.Next()
	if !ok || count <= 0 || !g.ReadyNew(count) {
		return 0
	}
	g.s.Each(from, MaxID, func(e *Entry) bool {
		g.advance(e.ID)
		if !noAck {
			g.put(e.ID, c, now, 1)
		}
		if visit != nil {
			visit(e)
		}
		n++
		return n < count
	})
	if n == 0 {
		return 0
	}
	c.seen, c.active = now, now
	g.touchConsumer(c)
	g.s.markDirty(g)
	op := byte(opDeliver)
	if noAck {
		op = opDeliverNoAck
	}
	ch.Op(op, 4)
	ch.String(g.name)
	ch.String(c.name)
	ch.Int(now)
	ch.Uint(uint64(n))
	return n
}

// advance notes that the group read the entry behind what it read before.
func (g *Group) advance(id ID) {
	if g.read != Unknown && !g.s.holed(g.last) {
		g.read++
	} else if g.s.added > 0 {
		g.read = g.s.Position(id)
	}
	g.last = id
}

// Redeliver gives a consumer again up to count of the entries behind after that it
// has not acknowledged, and visits them; e is nil for one that was deleted, which
// is not counted as delivered. It returns how many they were. It records nothing if
// there is none that is still there.
func (g *Group) Redeliver(ch *structures.Change, c *Consumer, after ID, count int, now int64, visit func(id ID, e *Entry)) (n int) {
	var e Entry
	var last ID
	from, ok := after.Next()
	if !ok || count <= 0 || !g.pinPending(c, from, MaxID, count) {
		return 0
	}
	changed := false
	g.eachOf(c, from, MaxID, func(p *pendingPage, r *record) bool {
		last = r.id
		if g.s.Get(&e, r.id) {
			g.deliverAgain(p, r, now)
			changed = true
			visit(r.id, &e)
		} else {
			visit(r.id, nil)
		}
		n++
		return n < count
	})
	if !changed {
		return n
	}
	ch.Op(opRedeliver, 7)
	ch.String(g.name)
	ch.String(c.name)
	ch.Int(now)
	recordID(ch, after)
	recordID(ch, last)
	return n
}

// deliverAgain notes that an entry that is there was delivered once more.
func (g *Group) deliverAgain(p *pendingPage, r *record, now int64) {
	r.time, p.oldest = now, 0
	if r.deliveries < math.MaxUint32-1 {
		r.deliveries++
	}
	g.s.markDirty(p)
}

// Ack forgets that entries are pending and returns how many were. It records
// nothing if none was.
func (g *Group) Ack(ch *structures.Change, ids []ID) int {
	var room [8]ID // most calls name few entries
	found := room[:0]
	for _, id := range ids {
		if g.take(id) {
			found = append(found, id)
		}
	}
	if len(found) == 0 {
		return 0
	}
	g.s.markDirty(g)
	ch.Op(opAck, 1+2*len(found))
	ch.String(g.name)
	for _, id := range found {
		recordID(ch, id)
	}
	return len(found)
}

// Claim makes entries pending for a consumer, whatever they were before, with the
// times and deliveries given. now is when the consumer is active.
func (g *Group) Claim(ch *structures.Change, c *Consumer, now int64, entries []Pending) {
	if len(entries) == 0 {
		return
	}
	ch.Op(opClaim, 3+4*len(entries))
	ch.String(g.name)
	ch.String(c.name)
	ch.Int(now)
	for i := range entries {
		e := &entries[i]
		recordID(ch, e.ID)
		ch.Int(e.Time)
		ch.Int(e.Deliveries)
		g.put(e.ID, c, e.Time, clampDeliveries(e.Deliveries))
	}
	c.seen, c.active = now, now
	g.touchConsumer(c)
	g.s.markDirty(g)
}

// Find returns what is known of a pending entry; ok is false if it is not pending.
func (g *Group) Find(id ID) (p Pending, ok bool) {
	_, r := g.find(id)
	if r == nil {
		return Pending{}, false
	}
	return g.pendingOf(r), true
}

// EachPending visits the pending entries from one ID to another, both included,
// until visit returns false.
func (g *Group) EachPending(from, to ID, visit func(p Pending) bool) {
	for i := seek(g.pending, from); i < len(g.pending); i++ {
		p := g.pending[i]
		at, _ := p.find(from)
		for ; at < len(p.records); at++ {
			if to.Less(p.records[at].id) || !visit(g.pendingOf(&p.records[at])) {
				return
			}
		}
	}
}

// EachPendingOf is EachPending for the entries of one consumer.
func (g *Group) EachPendingOf(c *Consumer, from, to ID, visit func(p Pending) bool) {
	g.eachOf(c, from, to, func(_ *pendingPage, r *record) bool { return visit(g.pendingOf(r)) })
}

func (g *Group) eachOf(c *Consumer, from, to ID, visit func(p *pendingPage, r *record) bool) {
	for i := seek(c.pages, from); i < len(c.pages); i++ {
		p := c.pages[i]
		at, _ := p.find(from)
		for ; at < len(p.records); at++ {
			r := &p.records[at]
			if to.Less(r.id) || r.consumer == c.number && !visit(p, r) {
				return
			}
		}
	}
}

// PendingSpan returns the least and the greatest ID of the pending entries. There
// must be some.
func (g *Group) PendingSpan() (first, last ID) {
	return g.pending[0].first(), g.pending[len(g.pending)-1].last()
}
