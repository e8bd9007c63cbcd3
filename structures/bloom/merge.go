package bloom

import (
	"errors"
	"math"
)

var (
	// ErrShape is returned by Merge for filters whose layers differ.
	ErrShape = errors.New("structures: Bloom filters of different layers")
	// ErrCrowded is returned by Merge if a layer would have more items than it was made for.
	ErrCrowded = errors.New("structures: Bloom filter layer has no room for the items of others")
)

// Merge returns a new filter that has what any of the others has: bits at the same place mean the same
// in layers of one shape, so that the bits of all are set (Bloom 1970, section 4). A filter may have
// fewer layers than another one, whose first layers are as its own.
//
// An item that several have is counted once, by what the bits tell: see union. The errors are
// ErrShape, ErrUnread, and ErrCrowded if the rate of false positives would no longer be what was asked for.
func Merge(filters []*Filter) (*Filter, error) {
	longest := filters[0]
	for _, f := range filters {
		if len(f.layers) > len(longest.layers) {
			longest = f
		}
	}
	sum := &Filter{options: longest.options, growth: longest.growth}
	for _, f := range filters {
		if f.options != sum.options || f.growth != sum.growth {
			return nil, ErrShape
		}
		for i := range f.layers {
			if !f.layers[i].like(&longest.layers[i]) {
				return nil, ErrShape
			}
		}
	}
	for i := range longest.layers {
		if err := sum.union(filters, i, longest.layers[i]); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// like reports whether bits at the same place mean the same in both layers.
func (l *layer) like(m *layer) bool {
	return l.bytes == m.bytes && l.bits == m.bits && l.n2 == m.n2 && l.hashes == m.hashes && l.entries == m.entries && l.rate == m.rate
}

// union puts a layer on top with the bits of layer i of all filters that have it, which are like shape.
//
// If X of m bits are set, by k hashes an item, it is estimated to have n items
// (Swamidass and Baldi 2007):
//
//	n = -m/k ln(1 - X/m)
//
// which is no less than the items of one filter, and no more than those of all. If the bits are those of one
// filter alone, it has the items of that filter.
func (f *Filter) union(filters []*Filter, i int, shape layer) error {
	shape.pages, shape.items = nil, 0
	f.push(shape)
	sum := f.top()
	least, most, equal := uint64(0), uint64(0), uint64(0)
	set := make([]uint64, len(filters))
	for n, g := range filters {
		if i >= len(g.layers) {
			continue
		}
		l := &g.layers[i]
		var ok bool
		if set[n], ok = f.or(sum, g, l); !ok {
			return ErrUnread
		}
		least = max(least, l.items)
		if most += l.items; most < l.items { // a header may lie
			most = math.MaxUint64
		}
	}
	all := uint64(0)
	for k := range sum.pages {
		if p := &sum.pages[k]; p.here() {
			all += uint64(p.bits.BitSet().Count())
		}
	}
	for n, g := range filters {
		if i < len(g.layers) && set[n] == all {
			equal = max(equal, g.layers[i].items)
		}
	}
	m := float64(sum.modulus())
	estimate := -m / float64(sum.hashes) * math.Log1p(-float64(all)/m)
	switch {
	case equal > 0:
		sum.items = max(equal, least)
	case estimate >= float64(most): // also if all bits are set
		sum.items = most
	default:
		sum.items = max(least, uint64(math.Round(estimate)))
	}
	if sum.items > max(sum.entries, least) {
		return ErrCrowded
	}
	f.items += sum.items
	return nil
}

// or sets the bits in a layer that are set in l, a layer of g of the same shape, and returns how many these are. It
// reports false if a page cannot be read.
func (f *Filter) or(sum *layer, g *Filter, l *layer) (set uint64, ok bool) {
	for k := range l.pages {
		p, ok := g.view(l, k)
		if !ok {
			return 0, false
		}
		if p != nil {
			set += uint64(p.bits.BitSet().Count())
			q := f.open(sum, k)
			q.bits.BitSet().InPlaceUnion(p.bits.BitSet())
			f.alter(q)
		}
	}
	return set, true
}
