package placement

import (
	"cmp"
	"math/bits"
	"slices"
)

// Preview tells what a change would move, before it is made and without
// looking at objects: expected shares of all objects, exact within 1e-9, the
// hash functions taken as ideal. Of a map with objects that are assigned, what moves
// of these is counted.
type Preview struct {
	Moved   float64 // share of the objects that change their unit
	Optimum float64 // what no faithful strategy can avoid: sum of (c_i - c'_i) over i with c_i > c'_i
	Pairs   []Pair  // by slot of From, then of To; at most MaxPairs
	Rest    float64 // moves of pairs that Pairs leaves out: all if there are too many
}

// MaxPairs bounds the pairs of a preview: SIEVE moves a little between all
// pairs of units, which are a hundred million at n = 10,000.
const MaxPairs = 1 << 17

// Bounds of PreviewPairs, about a second of work. The pieces that cutpaste cuts
// take more time and memory than the pairs of others.
const (
	maxPreviewPairs  = 1 << 25
	maxCutPastePairs = 1 << 23
	// maxSummedPairs is from where a mover adds all up and lists no pairs.
	maxSummedPairs = 1 << 20
)

// mover is a strategy that adds up its Moves in less time than it lists them.
type mover interface {
	Moved(to Strategy) Fraction
}

// summed returns the strategy if it adds up what a change of so many units
// moves, because listing the pairs would take long; nil if it does not.
func (m *Map) summed(changed int) mover {
	if t, ok := m.strategy.(mover); ok && m.pairs(changed) > maxSummedPairs {
		return t
	}
	return nil
}

// PreviewPairs returns how many pairs of units a preview of a change of so many
// units looks at, about: it is what the preview costs.
func (m *Map) PreviewPairs(changed int) int {
	if m.summed(changed) != nil {
		return len(m.names) + changed
	}
	return m.pairs(changed)
}

// pairs returns between how many pairs of units such a change may move objects.
func (m *Map) pairs(changed int) int {
	n := len(m.names)
	switch m.opts.Strategy {
	case "sieve": // all capacities are relative to the total
		return n * (n + changed)
	case "static", "twochoice", "slots":
		return n + changed
	}
	return n * changed
}

// Pair is the moves from one unit to another.
type Pair struct {
	From, To string
	Share    float64
}

// PreviewSet tells what Set of these units would move; errors as of Set, and
// ErrPreview for more pairs than a second of work. A map without units moves nothing.
func (m *Map) PreviewSet(units ...Unit) (Preview, error) {
	p, changes, err := m.planSet(units)
	if err != nil {
		return Preview{}, err
	}
	return m.preview(p, changes)
}

// PreviewRemove tells what Remove of these units would move; errors as of Remove,
// and ErrPreview.
func (m *Map) PreviewRemove(names ...string) (Preview, error) {
	p, changes, err := m.planRemove(names)
	if err != nil {
		return Preview{}, err
	}
	return m.preview(p, changes)
}

func (m *Map) preview(p plan, changes []Change) (Preview, error) {
	limit := maxPreviewPairs
	if m.opts.Strategy == "cutpaste" {
		limit = maxCutPastePairs
	}
	if len(changes) > 0 && m.PreviewPairs(len(changes)) > limit {
		return Preview{}, ErrPreview
	}
	var out Preview
	if m.Assigned() > 0 {
		out.Optimum = optimum(capacitiesOf(m.slots), capacitiesOf(p.slots))
		err := m.previewHeld(&out, p, changes)
		return out, err
	}
	next, err := changedTo(m.strategy.Clone(), p, changes)
	if err != nil || len(m.names) == 0 {
		return out, err
	}
	out.Optimum = optimum(capacitiesOf(m.slots), capacitiesOf(p.slots))
	if t := m.summed(len(changes)); t != nil {
		out.Moved = float64(t.Moved(next))
		out.Rest = out.Moved
		return out, nil
	}
	l := listing{out: &out, shares: map[uint64]float64{}}
	m.strategy.Moves(next, l.add)
	l.list(m.slots, p.slots)
	return out, nil
}

// previewHeld counts what a change moves of the objects that are assigned.
func (m *Map) previewHeld(out *Preview, p plan, changes []Change) error {
	next := m.Clone()
	if err := next.commit(p, changes); err != nil {
		return err
	}
	l, share := listing{out: out, shares: map[uint64]float64{}}, Fraction(1/float64(m.held.count))
	for _, hash := range m.held.sorted() { // in one order, as sums depend on it
		from, _ := m.held.slot(hash)
		if to, _ := next.held.slot(hash); to != from {
			l.add(from, to, share)
		}
	}
	l.list(m.slots, p.slots)
	return nil
}

// listing adds moves up by pair.
type listing struct {
	out    *Preview
	shares map[uint64]float64
}

func (l *listing) add(from, to int, share Fraction) {
	l.out.Moved += float64(share)
	key := uint64(from)<<32 | uint64(to)
	if _, known := l.shares[key]; known || len(l.shares) < MaxPairs {
		l.shares[key] += float64(share)
		return
	}
	l.out.Rest += float64(share)
}

// list lists the pairs.
func (l *listing) list(before, after []slot) {
	keys := make([]uint64, 0, len(l.shares))
	for k := range l.shares {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare)
	for _, k := range keys {
		from, to := k>>32, k&(1<<32-1)
		l.out.Pairs = append(l.out.Pairs, Pair{before[from].name, after[to].name, l.shares[k]})
	}
}

func capacitiesOf(slots []slot) []Capacity {
	out := make([]Capacity, len(slots))
	for i, s := range slots {
		out[i] = s.capacity
	}
	return out
}

// optimum returns the sum of (c_i - c'_i) over i with c_i > c'_i, c and c' the
// shares of two lists of capacities. The differences are taken exactly, as
// numerators over the product of both totals.
func optimum(from, to []Capacity) float64 {
	var w, v uint64
	for _, c := range from {
		w += uint64(c)
	}
	for _, c := range to {
		v += uint64(c)
	}
	if w == 0 || v == 0 {
		return 0
	}
	sum := 0.0
	for i, c := range from {
		var d Capacity
		if i < len(to) {
			d = to[i]
		}
		ahi, alo := bits.Mul64(uint64(c), v)
		bhi, blo := bits.Mul64(uint64(d), w)
		lo, borrow := bits.Sub64(alo, blo, 0)
		hi, negative := bits.Sub64(ahi, bhi, borrow)
		if negative == 0 {
			sum += (float64(hi)*(1<<64) + float64(lo)) / float64(w) / float64(v)
		}
	}
	return sum
}
