package scheduler

import (
	"math/bits"
	"slices"
)

// Known appends to dst the parameters of all nodes, in the order of their
// slots, as who knows their rates would tell them: Rate is the estimate. It
// costs some 15 ns a node, so that a table of 10^6 nodes can be copied while a
// lock is held.
func (t *Table) Known(dst []Params) []Params {
	for _, p := range t.pages {
		if p != nil {
			dst = p.known(dst)
		}
	}
	return dst
}

func (p *page) known(dst []Params) []Params {
	// The column of each parameter in a row, -1 if the page has none.
	var at [columns]int
	for c := range at {
		at[c] = -1
		if bit := uint32(1) << c; p.mask&bit != 0 {
			at[c] = bits.OnesCount32(p.mask & (bit - 1))
		}
	}
	get := func(row []float64, c int) float64 {
		if at[c] < 0 {
			return columnDefault[c]
		}
		return row[at[c]]
	}
	for used := p.used; used != 0; used &= used - 1 {
		row := p.row(bits.TrailingZeros64(used))
		dst = append(dst, Params{Rate: get(row, colEstimate), Weight: get(row, colWeight), Decay: get(row, colDecay),
			Arrival: get(row, colArrival), Cost: get(row, colCost), MaxAge: int64(get(row, colMaxAge)),
			Precision: get(row, colPrecision), Recall: get(row, colRecall), Group: int32(get(row, colGroup)),
			Deadline: int64(get(row, colDeadline))})
	}
	return dst
}

// Clone is a copy of a table, without what groups derive: Recount makes it.
func (t *Table) Clone() Table {
	c := Table{pages: make([]*page, len(t.pages)), holes: slices.Clone(t.holes), slots: t.slots, live: t.live, bytes: t.bytes,
		Memo: slices.Clone(t.Memo), Crowd: t.Crowd, Probes: t.Probes, Price: t.Price}
	for i, p := range t.pages {
		if p != nil {
			q := *p
			q.cells = slices.Clone(p.cells)
			c.pages[i] = &q
		}
	}
	c.Groups.list = make([]*Group, len(t.Groups.list))
	for i, g := range t.Groups.list {
		if g != nil {
			of := *g
			c.Groups.list[i] = &of
		}
	}
	return c
}
