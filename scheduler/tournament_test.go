package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// scanValues are the values that a scan compares, written down once more.
var scanValues = map[string]func(n *Node, age int64) float64{
	"index":      ageIndex,
	"sqrtage":    func(n *Node, age int64) float64 { return math.Sqrt(n.Worth()) * float64(age) },
	"greedy":     greedyValue,
	"whittle":    func(n *Node, age int64) float64 { return InterestOf(n).Index(age) },
	"freshness":  SignalsIndex,
	"roundrobin": func(n *Node, age int64) float64 { return float64(age) },
}

func greedyValue(n *Node, age int64) float64 {
	if n.Decay == 0 {
		return n.Worth() * float64(age)
	}
	m := InterestOf(n)
	if n.MaxAge > 0 {
		age = min(age, n.MaxAge)
	}
	return m.Weight * m.Arrival / m.Decay / m.Cost * -math.Expm1(-m.Decay*float64(age))
}

// scanned is what a scan of the table would pick.
func scanned(t *Table, policy string, step int64, count int) []int {
	type node struct {
		value float64
		slot  int
	}
	var all []node
	for slot := t.After(0); slot >= 0; slot = t.After(slot + 1) {
		n := t.Node(slot)
		v := scanValues[policy](&n, n.Age(step))
		if !(v > 0) || t.Hidden(slot) || (policy == "roundrobin" && n.Worth() == 0) {
			continue
		}
		if count == 1 && len(all) == 1 {
			if v > all[0].value {
				all[0] = node{v, slot}
			}
			continue
		}
		all = append(all, node{v, slot})
	}
	slices.SortStableFunc(all, func(a, b node) int { return cmp.Compare(b.value, a.value) })
	var picks []int
	for _, n := range all[:min(count, len(all))] {
		picks = append(picks, n.slot)
	}
	return picks
}

// world is a table that a random walk changes, and a policy that is told.
type world struct {
	rng    *rand.Rand
	table  *Table
	name   string
	policy Policy
	step   int64
	slots  int // nodes are put into slots below
	// node draws parameters.
	node func(rng *rand.Rand) Node
}

func (w *world) change() {
	slot := w.rng.IntN(w.slots)
	switch w.rng.IntN(13) {
	case 12:
		if !w.table.Has(slot) {
			return
		}
		if n := w.table.Node(slot); n.Precision != Unknown || n.Trust > 0 { // a signal
			n.Hear(&w.table.Crowd, n.SignalNats(&w.table.Crowd))
			w.table.Store(slot, &n)
		}
	case 0, 1, 2:
		w.put(slot)
	case 3:
		w.table.Remove(slot)
	case 4, 5:
		w.table.Hide(slot, w.rng.IntN(2) == 0)
	case 6:
		if w.table.Has(slot) { // edited
			n := w.node(w.rng)
			n.Last = w.table.Node(slot).Last
			w.table.Store(slot, &n)
		}
	case 7: // many nodes at once
		for range w.rng.IntN(30) {
			w.put(slot)
			slot = (slot + 1) % w.slots
		}
		return
	default:
		if !w.table.Has(slot) {
			return
		}
		n := w.table.Node(slot)
		n.Last = max(0, w.step-int64(w.rng.IntN(3)))
		w.table.Store(slot, &n)
	}
	w.policy.Touch(slot)
}

func (w *world) put(slot int) {
	n := w.node(w.rng)
	n.Last = max(0, w.step-int64(w.rng.IntN(4)*w.rng.IntN(100)))
	if w.rng.IntN(50) == 0 {
		n.Last = w.step + int64(w.rng.IntN(20)) // the future, as a damaged file may say
	}
	w.table.Put(slot, n)
	w.policy.Touch(slot)
}

// walk compares every pick of a random walk with the scan's.
func (w *world) walk(t *testing.T, name string, steps int) {
	t.Helper()
	w.table = new(Table)
	w.policy.Attach(w.table)
	for range steps {
		for range w.rng.IntN(4) {
			w.change()
		}
		switch w.rng.IntN(20) {
		case 0: // the same step again
		case 1:
			w.step += w.rng.Int64N(50)
		case 2:
			if w.rng.IntN(20) == 0 {
				w.step += w.rng.Int64N(100_000)
			}
		default:
			w.step++
		}
		count := 1
		if w.rng.IntN(10) == 0 {
			count = w.rng.IntN(20)
		}
		got, want := w.policy.Pick(nil, w.step, count, nil), scanned(w.table, w.name, w.step, count)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: step %d: picks %v, a scan picks %v", name, w.step, got, want)
		}
		for _, slot := range got {
			if w.rng.IntN(4) == 0 {
				w.table.Hide(slot, true)
				w.policy.Touch(slot)
			}
			if w.rng.IntN(8) > 0 {
				n := w.table.Node(slot)
				n.Last = max(n.Last, w.step)
				n.Discard()
				w.table.Store(slot, &n)
				w.table.Hide(slot, false)
				w.policy.Touch(slot)
			}
		}
	}
}

// kinds of nodes to draw: with ties, with zeros, alike, of all sizes.
var kinds = map[string]func(rng *rand.Rand) Node{
	"ties": func(rng *rand.Rand) Node {
		n := NewNode(DefaultParams(), 0)
		n.Estimate = float64(rng.IntN(5)) / 4
		n.Decay, n.Arrival = float64(1+rng.IntN(3))/50, float64(rng.IntN(3))
		n.MaxAge = int64(rng.IntN(2) * rng.IntN(40))
		return n
	},
	"uniform": func(rng *rand.Rand) Node {
		n := NewNode(DefaultParams(), 0)
		n.Estimate, n.Decay, n.Weight, n.Cost = rng.Float64(), rng.Float64()/20, 1+rng.Float64(), .5+rng.Float64()
		return n
	},
	"alike": func(rng *rand.Rand) Node {
		n := NewNode(DefaultParams(), 0)
		n.Estimate, n.Decay = 1, .01
		return n
	},
	"near": func(rng *rand.Rand) Node { // last bits differ
		n := NewNode(DefaultParams(), 0)
		n.Estimate, n.Decay = .3+float64(rng.IntN(4))*1e-16, .01+float64(rng.IntN(4))*1e-17
		return n
	},
	"signals": func(rng *rand.Rand) Node {
		n := NewNode(DefaultParams(), 0)
		n.Estimate, n.Weight, n.Decay = float64(1+rng.IntN(8))/20, 1+rng.Float64(), .02
		switch rng.IntN(6) {
		case 0: // none
		case 1: // learnt
			n.Trust, n.Silent, n.Heard, n.Listened = .1+rng.Float64(), rng.Float64()/20, float64(rng.IntN(9)), float64(rng.IntN(99))
		default:
			n.Precision, n.Recall = float64(rng.IntN(21))/20, float64(rng.IntN(6))/5
		}
		for range rng.IntN(4) {
			n.Hear(new(Crowd), n.SignalNats(new(Crowd)))
		}
		return n
	},
	"scales": func(rng *rand.Rand) Node {
		n := NewNode(DefaultParams(), 0)
		size := func(power float64) float64 { return exp10((rng.Float64()*2 - 1) * power) }
		n.Estimate, n.Decay, n.Weight, n.Cost = size(12), size(12), size(14), size(14)
		if rng.IntN(4) == 0 {
			n.Weight = size(300)
		}
		return n
	},
}

func exp10(x float64) float64 {
	v := 1.0
	for ; x >= 1; x-- {
		v *= 10
	}
	for ; x <= -1; x++ {
		v /= 10
	}
	return v * (1 + x)
}

func argmaxPolicies() []PolicySpec {
	var list []PolicySpec
	for _, spec := range Policies() {
		if _, ok := spec.New().(*tournament); ok {
			list = append(list, spec)
		}
	}
	return list
}

func TestTournamentPicksWhatAScanPicks(t *testing.T) {
	for _, spec := range argmaxPolicies() {
		for kind, node := range kinds {
			for _, slots := range []int{3, 64, 500} {
				for seed := range testscale.Rounds(uint64(2)) {
					name := fmt.Sprintf("%s %s slots=%d seed=%d", spec.Name, kind, slots, seed)
					w := &world{rng: rand.New(rand.NewPCG(seed, uint64(slots))), name: spec.Name, policy: spec.New(), slots: slots, node: node,
						step: 1 + int64(seed)*1000}
					w.policy.(*tournament).window = 1 << (2 * seed) // parks soon
					w.walk(t, name, 400)
				}
			}
		}
	}
}
