package scheduler

import "math"

// stridePolicy probes the nodes that are due first: node i has the frequency f_i
// of [Frequencies], proportional to sqrt(pi_i) but for the ceiling f_i <= 1, with
// sum f = c, and after each probe its due time moves on by 1/f_i. That is stride
// scheduling (Waldspurger and Weihl 1995) with the frequencies that minimise
// LB2.
//
// Virtual time. Let s be the price with f_i = min(1, sqrt(pi_i)/s). Counting time
// in steps divided by s, a due time moves on by
//
//	1/sqrt(pi_i)
//
// and f, a function of all rates, is not needed: the order of the due times is
// the same. Nor is the ceiling: a node with sqrt(pi_i) > s is due again before
// the next step, whatever else is due, but probed once a step, and what it
// leaves goes to the others in proportion to their roots, as water-filling
// does. A change of one rate therefore moves one node, and costs O(log n), at
// once, with any estimator.
//
// State. The memo of a node is its base b: the time it was due when it was last
// probed, or the virtual now when it was added. Table.Memo holds the virtual now
// v, the greatest due time that was served in turn. Node i is due at
//
//	b + g_i/sqrt(pi_i)   before its first probe, g_i = i phi mod 1,
//	b + 1/sqrt(pi_i)     after it.
//
// A new rate counts from the last probe. Phases g_i spread by the golden ratio
// phi keep nodes of frequencies with a common measure from being due together
// for ever: without them 2^-i costs 1.14 of LB3, with them 1.04.
// A probe of a node that is more than maxLate of its own strides late, because it
// is at the ceiling, was leased for long or had no rate, sets b to maxLate strides
// before v: a node never makes up for more missed probes. A failed probe changes
// nothing, so the node is due at once. Exploration may probe a node before it is
// due: that stands for the probe to come.
//
// Measured cost at most 1.041 of LB3, 1.001 for 1000 nodes by Zipf's law. There is
// no formula for it. Wall clocks that jump make no difference: time is virtual.
//
// Complexity: Pick O(count log n), Touch O(log n), with base 64 (see dueTree);
// Attach O(n). Ties go to the lowest slot. With weights and costs pi is w pi/C.
var stridePolicy = PolicySpec{
	Name: "stride", Number: 6, Estimator: "change", Memo: 1,
	Limit: strideLimit,
	New:   func() Policy { return new(stride) },
}

type stride struct {
	table  *Table
	tree   dueTree
	probes []uint32 // of each slot, as they were when it was last looked at
	out    []int    // reused by Pick
}

func (d *stride) Attach(t *Table) {
	d.table = t
	d.tree.reset()
	d.probes = append(d.probes[:0], make([]uint32, t.Len())...)
	var n Node
	for slot := t.After(0); slot >= 0; slot = t.After(slot + 1) {
		t.Load(slot, &n)
		d.probes[slot] = uint32(n.Probes)
		d.tree.fill(slot, d.due(slot, &n), !t.Hidden(slot))
	}
	d.tree.settle()
}

// now is the virtual time.
func (d *stride) now() float64 {
	if len(d.table.Memo) != 1 || !finite(d.table.Memo[0]) {
		return 0 // not written yet, or a foreign payload
	}
	return d.table.Memo[0]
}

// finite says that x is a time that may be reckoned with.
func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

// maxLate is how many strides late a node may be and keep its frequency. One is
// too few just below the ceiling with several probes a step: frequencies lost
// 0.5 %; with 4 all are exact.
const maxLate = 4

// golden is 2^32 divided by the golden ratio.
const golden = 2654435769

// due is when a node is due, infinity if never. It gets a base if it has none.
func (d *stride) due(slot int, n *Node) float64 {
	memo := d.table.MemoOf(slot)
	if len(memo) != 1 || !finite(memo[0]) {
		memo = d.table.SetMemo(slot, 1)
		memo[0] = d.now()
	}
	root := math.Sqrt(n.Worth())
	if !(root > 0) {
		return math.Inf(1)
	}
	part := 1.0
	if n.Probes == 0 {
		part = math.Ldexp(float64(uint32(slot)*golden), -32)
	}
	return memo[0] + part/root
}

// Touch notices a probe by the count of probes, so that a probe without
// a report of what it found moves the due time as well.
func (d *stride) Touch(slot int) {
	for len(d.probes) <= slot {
		d.probes = append(d.probes, 0)
	}
	var n Node
	if !d.table.Load(slot, &n) {
		d.probes[slot] = 0
		d.tree.set(slot, math.Inf(1), false)
		return
	}
	if memo := d.table.MemoOf(slot); len(memo) == 1 && uint32(n.Probes) != d.probes[slot] {
		d.probed(slot, memo)
	}
	d.probes[slot] = uint32(n.Probes)
	d.tree.set(slot, d.due(slot, &n), !d.table.Hidden(slot))
}

// probed moves the base of a node to where it was due, and the virtual time if
// the node was next: a probe out of turn, by exploration, stands for its next one
// and says nothing of the time.
func (d *stride) probed(slot int, memo []float64) {
	now, due := d.now(), d.tree.at(slot)
	if math.IsInf(due, 1) {
		memo[0] = max(memo[0], now) // by exploration, or its rate was zero
		return
	}
	length := due - memo[0]
	// Of the nodes picked in the same step, those that came before may be due
	// again before this one was.
	c := max(1, d.table.Probes)
	if due > now && d.tree.between(now, due, c, lookEffort+c) >= c {
		memo[0] = min(due, now+length)
		return
	}
	if due > now {
		if len(d.table.Memo) != 1 {
			d.table.Memo = make([]float64, 1)
		}
		now = due
		d.table.Memo[0] = now
	}
	memo[0] = max(due, now-maxLate*length)
}

// lookEffort bounds the search for nodes that were due before one which was
// probed, in blocks: those with nodes that are late have to be looked into, few
// as a rule.
const lookEffort = 64

func (d *stride) Learn(int, int64, float64) {}

// Regroup does nothing: Pick passes over nodes of closed groups.
func (d *stride) Regroup(int) {}

// Value is the frequency that the node has in proportion to others: the root of
// its worth.
func (d *stride) Value(slot int, _ int64) float64 { return math.Sqrt(d.table.worth(slot)) }

func (d *stride) Bytes() int { return d.tree.bytes() + 4*cap(d.probes) + 8*cap(d.out) }

// Pick takes the nodes out of the tree one by one and puts them back.
func (d *stride) Pick(dst []int, step int64, count int, _ Source) []int {
	d.out = d.out[:0]
	rooms := d.table.Begin()
	for ; count > 0; count-- {
		slot := d.tree.first()
		for slot >= 0 && !(d.table.older(slot, step) && rooms.Take(d.table.GroupOf(slot))) {
			d.take(slot)
			slot = d.tree.first()
		}
		if slot < 0 {
			break
		}
		d.take(slot)
		dst = append(dst, slot)
	}
	for _, slot := range d.out {
		d.tree.set(slot, d.tree.at(slot), true)
	}
	return dst
}

func (d *stride) take(slot int) {
	d.tree.set(slot, d.tree.at(slot), false)
	d.out = append(d.out, slot)
}
