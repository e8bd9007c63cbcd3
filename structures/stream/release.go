package stream

import (
	"cmp"
	"math"
	"slices"

	"github.com/vigildb/vigil/structures"
)

// A consumer may give back entries that it was given. They stay pending, of nobody, and
// stand in a queue before all entries that are idle. The place in the queue is kept as the
// time of the delivery: it is before all times.

const (
	nobody = math.MaxUint32 // the number in the place of that of a consumer
	// releasedBefore is behind every place in the queue, and before every time.
	releasedBefore = math.MinInt64 / 2
)

// Released is how many pending entries are of nobody.
func (g *Group) Released() int { return g.nobody.pending }

// EachReleased visits those entries, in the order in which they were released, until visit returns false.
func (g *Group) EachReleased(visit func(p Pending) bool) {
	var queue []Pending
	g.EachPendingOf(g.nobody, ID{}, MaxID, func(p Pending) bool {
		queue = append(queue, p)
		return true
	})
	slices.SortFunc(queue, func(a, b Pending) int { return cmp.Compare(a.place, b.place) })
	for _, p := range queue {
		if !visit(p) {
			return
		}
	}
}

// MayRelease returns an error if entries may not be released.
func MayRelease(ch *structures.Change) error { return ch.Permit(opRelease) }

// Release makes entries pending of nobody, whatever they were before, with the deliveries
// given, at the end of the queue of those that were released. MayRelease has allowed it.
func (g *Group) Release(ch *structures.Change, entries []Pending) {
	if len(entries) == 0 {
		return
	}
	ch.Op(opRelease, 1+4*len(entries))
	ch.String(g.name)
	for i := range entries {
		e := &entries[i]
		g.released++
		recordID(ch, e.ID)
		ch.Int(g.released)
		ch.Int(e.Deliveries)
		g.put(e.ID, g.nobody, math.MinInt64+g.released, clampDeliveries(e.Deliveries))
	}
	g.s.markDirty(g)
}

func (g *Group) applyRelease(args *structures.Args) error {
	if args.Left()%4 != 0 {
		return misfit("release of %d numbers", args.Left())
	}
	var entries []Pending
	for range args.Left() / 4 {
		entries = append(entries, Pending{ID: readID(args), place: args.Int(), Deliveries: args.Int()})
	}
	if err := args.Done(); err != nil {
		return err
	}
	for _, e := range entries {
		if e.place < 1 || e.place > math.MaxInt64/2 {
			return misfit("place %d in the queue", e.place)
		}
		g.released = e.place - 1
		g.Release(nil, []Pending{e})
	}
	return nil
}
