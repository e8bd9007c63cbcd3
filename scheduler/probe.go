package scheduler

import "math"

// Enter puts a new node into a slot in the given step, with the estimate that
// its estimator begins with. The policy must be told by Touch.
func Enter(t *Table, e Estimator, slot int, p Params, step int64) {
	n := NewNode(p, step)
	e.Refresh(&n)
	t.Put(slot, n)
}

// Observe completes a probe of the node in a slot that took place in step and
// found items: it teaches policy and estimator, and the node's age starts anew.
// All signals of the node are taken to be older than the probe. Nothing happens if
// the slot is free.
// The policy may be nil: it is not told then, and must be attached later.
func Observe(t *Table, p Policy, e Estimator, slot int, items float64, step int64) {
	ObserveWhile(t, p, e, slot, items, step, math.Inf(1), math.Inf(1))
}

// ObserveWhile is Observe of a probe that was under way for some time: nats and
// count are what Signals said when it began. What came since is of the next period.
func ObserveWhile(t *Table, p Policy, e Estimator, slot int, items float64, step int64, nats, count float64) {
	n := &t.probed
	if !t.Load(slot, n) {
		return
	}
	gap := n.Age(step)
	if p != nil {
		p.Learn(slot, gap, items)
		n.Memo = t.MemoOf(slot)
	}
	e.Observe(n, items, gap, step)
	count = min(count, n.Signals.Count)
	n.Signals.learn(t.CrowdOf(n.Group), &n.Params, InterestOf(n).Arrival, float64(gap), count, items > 0)
	n.Signals.Count -= count
	n.Nats = max(0, n.Nats-nats)
	n.Last = max(n.Last, step)
	n.Probes++
	n.Items += items
	t.Store(slot, n)
	if p != nil {
		p.Touch(slot)
	}
}
