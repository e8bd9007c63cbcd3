package scheduler

import (
	"errors"
	"math"
)

// Deadlines. A node with a Deadline D is to be probed at most D steps after the probe
// before. The policy keeper sees to it that this is so, and otherwise leaves the choice
// to a policy that ranks.
//
// All nodes are new, or keep their deadlines, at the start.
//
// The rule. A node is pending from age ceil(D/2) on. Let u be the sum of 1/floor(D/2)
// over all nodes with a deadline (1 for D = 1), and K(d) the number of pending nodes that
// are due, at last + D, in step d or before. In step t, if
//
//	K(d) > (c - u) (d - t)
//
// for some d, as many of the c probes as the greatest excess, rounded up, go to the
// pending nodes that are due first. The policy has the others.
//
// Theorem. If u <= c no deadline is missed. Two probes of a node that are pending in
// turn are at least D/2 steps apart, and each has D/2 steps to wait, so at most u (d-t)
// probes that are not pending yet at t will have to be made by d; what is pending by then
// has the other (c-u) (d-t), which is Hall's condition on every window that begins now.
// The policy's own choices only take nodes away. There is a test of random instances.
// For u > c the rule is tried with u = c/2, and is no more than an effort; above
// sum 1/D = c nothing helps. Nodes that are hidden, or of a closed group, are not
// counted, or passed over.
//
// Cost: O(log n) for each change, and a look at all pending nodes when u has changed by
// a share of what is left.

// ErrDeadline is returned when a deadline is negative or beyond MaxStep.
var ErrDeadline = errors.New("scheduler: deadline is out of range")

// ErrNoDeadlines is returned when a policy does not support deadlines.
var ErrNoDeadlines = errors.New("scheduler: the policy does not support deadlines")

// Keep is a policy that keeps deadlines of nodes, and leaves to p what they leave.
func Keep(p Policy) *Keeper { return &Keeper{Policy: p} }

// Keeper is a Policy. See Keep.
type Keeper struct {
	Policy
	table  *Table
	stale  bool // derived from no table yet
	states []deadline
	nodes  int
	load   float64 // u
	queue  wakeQueue
	tree   dueList
	urgent []int // reused by Pick
}

// deadline is what is known of a node in a slot.
type deadline struct {
	steps int64 // D, 0: none
	due   int64 // of a node in the tree, 0: not there
	wake  int64 // step for which it is queued, 0: none
}

// Attach is Policy.Attach.
func (k *Keeper) Attach(t *Table) {
	*k = Keeper{Policy: k.Policy, table: t, stale: true, urgent: k.urgent[:0]}
	k.Policy.Attach(t)
}

// Touch is Policy.Touch.
func (k *Keeper) Touch(slot int) {
	k.Policy.Touch(slot)
	if k.stale {
		return
	}
	p, i := k.table.find(slot)
	if slot < len(k.states) || p != nil && p.mask&(1<<colDeadline) != 0 {
		k.note(slot, p, i)
	}
}

// Bytes is Policy.Bytes.
func (k *Keeper) Bytes() int {
	return k.Policy.Bytes() + 24*cap(k.states) + 16*cap(k.queue) + k.tree.bytes() + 8*cap(k.urgent)
}

// derive reads the table.
func (k *Keeper) derive() {
	k.stale = false
	for id, p := range k.table.pages {
		if p == nil || p.mask&(1<<colDeadline) == 0 {
			continue
		}
		for i := range PageSize {
			if p.used>>i&1 != 0 {
				k.note(id*PageSize+i, p, i)
			}
		}
	}
}

// loadOf is what a deadline adds to u.
func loadOf(steps int64) float64 { return 1 / float64(max(1, steps/2)) }

// note takes note of the node in a slot, of a page or of none.
func (k *Keeper) note(slot int, p *page, i int) {
	var steps, last int64
	hidden := true
	if p != nil {
		steps, last = int64(p.get(i, colDeadline)), int64(p.get(i, colLast))
		hidden = p.hidden>>i&1 != 0
	}
	for len(k.states) <= slot {
		k.states = append(k.states, deadline{})
	}
	d := &k.states[slot]
	if steps != d.steps {
		if d.steps > 0 {
			k.nodes--
			k.load -= loadOf(d.steps)
		}
		if steps > 0 {
			k.nodes++
			k.load += loadOf(steps)
		}
		if d.steps = steps; k.nodes == 0 {
			k.load = 0 // whatever rounding left
		}
	}
	due := last + steps
	if d.due != 0 && (hidden || steps == 0 || due != d.due) {
		k.tree.remove(d.due, int32(slot))
		d.due = 0
	}
	if hidden || steps == 0 || d.due != 0 {
		return
	}
	if wake := last + (steps+1)/2; d.wake == 0 || wake < d.wake {
		d.wake = wake
		k.queue.add(wakeOf(wake, slot))
	}
}

func wakeOf(at int64, slot int) wake { return wake{at, int32(slot)} }

// wakeUp makes nodes pending that are old enough.
func (k *Keeper) wakeUp(step int64) {
	for {
		w, ok := k.queue.due(step)
		if !ok {
			return
		}
		slot := int(w.group)
		d := &k.states[slot]
		if d.wake != w.at {
			continue
		}
		d.wake = 0
		p, i := k.table.find(slot)
		if p == nil || d.steps == 0 || d.due != 0 || p.hidden>>i&1 != 0 {
			continue
		}
		last := int64(p.get(i, colLast))
		if at := last + (d.steps+1)/2; at > step {
			d.wake = at
			k.queue.add(wakeOf(at, slot))
			continue
		}
		d.due = last + d.steps
		k.tree.insert(d.due, int32(slot))
	}
}

// Pick is Policy.Pick, of nodes that are urgent first.
func (k *Keeper) Pick(dst []int, step int64, count int, draws Source) []int {
	if k.stale {
		k.derive()
	}
	if k.nodes == 0 || count <= 0 {
		return k.Policy.Pick(dst, step, count, draws)
	}
	k.wakeUp(step)
	excess := min(k.excess(step), count)
	if excess == 0 {
		return k.Policy.Pick(dst, step, count, draws)
	}
	first := len(dst)
	rooms := k.table.Begin()
	tries := excess + skippedTries
	k.tree.each(func(slot int32) bool {
		if tries--; rooms.Take(k.table.GroupOf(int(slot))) {
			dst = append(dst, int(slot))
		}
		return len(dst)-first < excess && tries > 0
	})
	urgent := len(dst) - first
	if urgent == count {
		return dst
	}
	// A node that is urgent takes its own place among the others, and one of its group.
	k.urgent = k.Policy.Pick(k.urgent[:0], step, min(count+urgent, MaxNodes), draws)
	rooms = k.table.Begin()
	for _, slot := range dst[first:] {
		rooms.Take(k.table.GroupOf(slot))
	}
	var seen chosen
	for _, slot := range k.urgent {
		if len(dst)-first == count {
			break
		}
		if !seen.has(dst[first:], slot) && rooms.Take(k.table.GroupOf(slot)) {
			dst = append(dst, slot)
		}
	}
	return dst
}

// skippedTries is how many nodes of closed groups are passed over for urgent ones.
const skippedTries = 1024

// excess is how many probes of a step have to go to pending nodes.
func (k *Keeper) excess(step int64) int {
	c := float64(max(1, k.table.Probes))
	left := c - k.load
	if left < 0 {
		left = c / 2
	}
	k.tree.weigh(left)
	e := k.tree.most(step)
	if !(e > 1e-9) {
		return 0
	}
	return int(math.Ceil(min(e-1e-9, MaxNodes)))
}

// Deadlines is the number of nodes with a deadline, and u/c.
func (k *Keeper) Deadlines() (nodes int, density float64) {
	if k.stale {
		k.derive()
	}
	return k.nodes, k.load / float64(max(1, k.table.Probes))
}

// Overdue is the number of nodes whose deadline has passed in a step, without those
// that are hidden.
func (k *Keeper) Overdue(step int64) int {
	if k.stale {
		k.derive()
	}
	k.wakeUp(step)
	return k.tree.before(step)
}
