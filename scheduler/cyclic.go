package scheduler

import "math"

// cyclicPolicy is the deterministic schedule D of P1 (Lemma 2, Theorem 2) and
// its form D^c for c probes a step (Corollary 3). Every node is probed exactly
// every 2^r_i slots:
//
//	n_i = sum over j of sqrt(pi_j) / sqrt(pi_i)
//	r_i = the least integer >= 0 with 2^r_i >= n_i
//
// so that sum 2^-r_i <= 1 (Kraft) and all fit. Nodes are laid out by (r_i, slot
// number); with K the sum of 2^-r of those before it, node i has the offset
//
//	o_i = K 2^r_i with its r_i bits reversed,
//
// and owns the slots t = 0, 1, ... with t mod 2^r_i = o_i. The numbers K 2^r are
// the code words of a prefix code, so no two nodes own a slot. Slots that nobody
// owns are idle: rounding up to powers of two wastes up to half of them. D^c
// takes slots k c ... k c + c - 1 in its step k = 0, 1, ..., and a node that owns
// two of them is probed once.
//
// Steps of this package begin at 1, so k is step - 1 under either clock. When a
// wall clock jumps, the slots in between are lost, as those of a leased node
// are. c is Table.Probes whatever number Pick is asked for: it returns the first
// of the step's nodes.
//
// Powers of two. log2 n_i may be an integer but for rounding, as for equal
// rates, so it is rounded up only if it exceeds an integer by more than
// logTolerance, relatively. Kraft's sum is then checked in integers, and where
// tolerance broke it one exponent is raised by one: the greatest of those that
// suffice, of its last node. Exponents end at maxExponent.
//
// Cost at known rates: [CyclicCost]. Within 3 + (c-1)/c of the optimum (Theorem
// 2, Corollary 3); measured 1.27 to 1.6 of LB3.
//
// Misprints in P1: Lemma 2's proof says "every 2^-i steps" for 2^r_i.
//
// Complexity: Pick O(c times the number of distinct exponents, at most 63), and
// O(n) in the first Pick after the worth of a node changed: all exponents depend
// on the sum, and the places on all exponents. That is some ms for 10^6 nodes,
// so it suits the estimator fixed. Touch is O(1). The table of 2^rho slots is
// never built.
var cyclicPolicy = PolicySpec{
	Name: "cyclic", Number: 7, Estimator: "fixed",
	Cost: CyclicCost,
	New:  func() Policy { return new(cyclic) },
}

// cyclic keeps the square roots of the worths, to see which changed and to
// build from, and the layout.
//
// Memory: 13 bytes a slot.
type cyclic struct {
	table *Table
	roots []float64
	stale bool
	plan  cycle
}

func (y *cyclic) Attach(t *Table) {
	y.table, y.stale = t, true
	y.roots = append(y.roots[:0], make([]float64, t.Len())...)
	for slot := t.After(0); slot >= 0; slot = t.After(slot + 1) {
		y.roots[slot] = math.Sqrt(t.worth(slot))
	}
}

func (y *cyclic) Touch(slot int) {
	root := math.Sqrt(y.table.worth(slot))
	for len(y.roots) <= slot {
		y.roots = append(y.roots, 0)
	}
	if y.roots[slot] != root {
		y.roots[slot], y.stale = root, true
	}
}

func (y *cyclic) Learn(int, int64, float64) {}

// Regroup does nothing: Pick passes over nodes of closed groups.
func (y *cyclic) Regroup(int) {}

func (y *cyclic) Bytes() int {
	return 8*cap(y.roots) + 4*cap(y.plan.order) + cap(y.plan.exponent)
}

// Value is the share of slots that the node owns, 2^-r; 0 for a node of rate
// zero.
func (y *cyclic) Value(slot int, _ int64) float64 {
	y.ready()
	if uint(slot) >= uint(len(y.plan.exponent)) || y.plan.exponent[slot] == noExponent {
		return 0
	}
	return math.Ldexp(1, -int(y.plan.exponent[slot]))
}

func (y *cyclic) ready() {
	if y.stale {
		y.plan.build(y.roots)
		y.stale = false
	}
}

func (y *cyclic) Pick(dst []int, step int64, count int, _ Source) []int {
	y.ready()
	first, c := len(dst), uint64(max(1, y.table.Probes))
	// Modulo 2^64, a multiple of every period.
	from := uint64(step-1) * c
	var seen chosen
	rooms := y.table.Begin()
	for t := from; t != from+c && count > len(dst)-first && step > 0; t++ {
		slot := y.plan.owner(t)
		if slot < 0 || y.table.Hidden(slot) || !y.table.older(slot, step) || seen.has(dst[first:], slot) ||
			!rooms.Take(y.table.GroupOf(slot)) {
			continue
		}
		dst = append(dst, slot)
	}
	return dst
}

// older says that the last probe of a node in use was before a step: a wall
// clock may ask twice in one.
func (t *Table) older(slot int, step int64) bool {
	p, i := t.find(slot)
	return p != nil && p.get(i, colLast) < float64(step)
}
