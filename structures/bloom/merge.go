package bloom

import (
	"errors"
	"math"
	"math/bits"
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
// An item that several have is counted once, as far as the bits tell: see union. The errors are
// ErrShape, and ErrCrowded if the rate of false positives would no longer be what was asked for.
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
		l, err := union(filters, i, longest.layers[i])
		if err != nil {
			return nil, err
		}
		for id := range l.pages {
			if l.exists(id) {
				sum.held += l.pageBytes(id)
			}
		}
		sum.push(l)
		sum.items += l.items
	}
	return sum, nil
}

// like reports whether bits at the same place mean the same in both layers.
func (l *layer) like(m *layer) bool {
	return l.bytes == m.bytes && l.bits == m.bits && l.n2 == m.n2 && l.hashes == m.hashes && l.entries == m.entries && l.rate == m.rate
}

// union returns a layer with the bits of layer i of all filters that have it, which are like shape.
//
// Of m bits, X of which are set by k hashes an item, it is estimated to have n items
// (Swamidass and Baldi 2007):
//
//	n = -m/k ln(1 - X/m)
//
// which is no less than the items of one filter, and no more than those of all. If the bits are those of one
// filter alone, it has the items of that filter.
func union(filters []*Filter, i int, shape layer) (layer, error) {
	sum := shape
	sum.pages, sum.changed, sum.items = nil, nil, 0
	least, most, equal := uint64(0), uint64(0), uint64(0)
	for _, f := range filters {
		if i >= len(f.layers) {
			continue
		}
		l := &f.layers[i]
		sum.or(l)
		least = max(least, l.items)
		if most += l.items; most < l.items { // a header may lie
			most = math.MaxUint64
		}
	}
	set := sum.ones()
	for _, f := range filters {
		if i < len(f.layers) && f.layers[i].ones() == set {
			equal = max(equal, f.layers[i].items)
		}
	}
	m := float64(sum.modulus())
	estimate := -m / float64(sum.hashes) * math.Log1p(-float64(set)/m)
	switch {
	case equal > 0:
		sum.items = max(equal, least)
	case estimate >= float64(most): // also if all bits are set
		sum.items = most
	default:
		sum.items = max(least, uint64(math.Round(estimate)))
	}
	if sum.items > max(sum.entries, least) {
		return layer{}, ErrCrowded
	}
	return sum, nil
}

// or sets the bits of another layer of the same shape.
func (l *layer) or(m *layer) {
	for id := range m.pages {
		if !m.exists(id) {
			continue
		}
		page, _ := l.page(id)
		words := page.BitSet().Words()
		for i, w := range m.pages[id].BitSet().Words() {
			words[i] |= w
		}
		l.touch(id)
	}
}

// ones is the number of bits that are set.
func (l *layer) ones() (n uint64) {
	for id := range l.pages {
		if l.exists(id) {
			for _, w := range l.pages[id].BitSet().Words() {
				n += uint64(bits.OnesCount64(w))
			}
		}
	}
	return n
}
