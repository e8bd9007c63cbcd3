package scheduler

import (
	"errors"
	"math"
	"math/bits"
)

// PageSize is the number of nodes in one page of a [Table]. It is also the
// number of nodes in a stored page, and so is on disk and never changes.
const PageSize = 64

// Limits of what a schedule may hold. They keep every product of the policies
// far inside the range of a float64, so that no comparison ever meets an
// infinity or a NaN.
const (
	// MaxNodes bounds the slots of a table.
	MaxNodes = 1 << 24
	// MaxNumber bounds rates, weights, decays, costs and observed items.
	MaxNumber = 1e15
	// MinCost bounds costs from below, because policies divide by them.
	MinCost = 1e-15
	// MaxStep bounds steps and ages: every step below is exact as a float64.
	MaxStep = 1 << 53
)

// Unknown is the value of Rate and Arrival when the user gave none.
const Unknown = -1

var (
	// ErrNumber is returned when a parameter or an observation is negative,
	// infinite, not a number, or greater than MaxNumber.
	ErrNumber = errors.New("scheduler: number is not finite, negative or too large")
	// ErrCost is returned when the cost of a probe is not positive.
	ErrCost = errors.New("scheduler: cost of a probe is not positive")
	// ErrMaxAge is returned when a maximal age is negative or beyond MaxStep.
	ErrMaxAge = errors.New("scheduler: maximal age is out of range")
	// ErrDecay is returned when a policy needs a node's decay and it is zero.
	ErrDecay = errors.New("scheduler: policy needs a decay greater than zero")
)

// Params are what the user says of a node. Policies read what they need.
type Params struct {
	// Rate is pi, items a step: the rate itself under the estimator `fixed`,
	// the first guess under the others. Zero: never scheduled. Unknown: 1
	// under `fixed` and `paper`, 1/2 under the others.
	Rate float64
	// Weight is w, the worth of one item. Default 1.
	Weight float64
	// Decay is c, the rate at which interest in an item decays, per step.
	// Default 0: it does not.
	Decay float64
	// Arrival is lambda, items a step of ephemeral content. Unknown: the
	// estimate of the rate.
	Arrival float64
	// Cost is C, the price of one probe. Default 1.
	Cost float64
	// MaxAge is M, the number of steps after which an item is dropped. Zero:
	// never.
	MaxAge int64
}

// DefaultParams are the parameters of a node of which nothing was said.
func DefaultParams() Params {
	return Params{Rate: Unknown, Weight: 1, Arrival: Unknown, Cost: 1}
}

// Check returns ErrNumber, ErrCost or ErrMaxAge if a parameter is out of range.
func (p *Params) Check() error {
	for _, v := range [...]float64{p.Weight, p.Decay} {
		if CheckNumber(v) != nil {
			return ErrNumber
		}
	}
	for _, v := range [...]float64{p.Rate, p.Arrival} {
		if v != Unknown && CheckNumber(v) != nil {
			return ErrNumber
		}
	}
	if !(p.Cost >= MinCost && p.Cost <= MaxNumber) {
		return ErrCost
	}
	if p.MaxAge < 0 || p.MaxAge > MaxStep {
		return ErrMaxAge
	}
	return nil
}

// CheckNumber returns ErrNumber unless v is between 0 and MaxNumber.
func CheckNumber(v float64) error {
	if !(v >= 0 && v <= MaxNumber) { // also false for NaN
		return ErrNumber
	}
	return nil
}

// Node is what is known of one node: what the user said and what was seen.
type Node struct {
	Params
	// Born is the step in which the node was added. Age counts from there.
	Born int64
	// Last is the step of the last probe that was completed, Born before the
	// first one.
	Last int64
	// Probes counts completed probes, Items sums what they found.
	Probes int64
	Items  float64
	// Estimate is the rate in items a step that policies believe.
	Estimate float64
	// Count, Exposure, Up and Down belong to the estimator.
	Count, Exposure, Up, Down float64
	// Memo belongs to the policy: learnt numbers that cannot be derived.
	Memo []float64
	// Hidden nodes are not picked: somebody is probing them now.
	Hidden bool
}

// Age is the number of steps from the last probe to step; never negative.
func (n *Node) Age(step int64) int64 { return max(0, step-n.Last) }

// Worth is the rate at which undiscovered value grows for one unit of probing
// cost: w times the estimated rate over C. With default weights and costs it
// is the estimated rate, exactly.
func (n *Node) Worth() float64 { return n.Weight * n.Estimate / n.Cost }

// NewNode is a node added in the given step, before an estimator refreshed it.
func NewNode(p Params, step int64) Node {
	return Node{Params: p, Born: step, Last: step}
}

// Table holds the nodes of one schedule in numbered slots. A node keeps its
// slot while it lives; a new one takes the lowest free slot, so that the
// numbering is a function of which slots are used.
//
// Pages are allocated as slots come into use: growing never copies nodes.
type Table struct {
	pages []*page
	holes []uint64 // bit p%64 of word p/64: page p has a free slot
	slots int      // one more than the highest slot in use
	live  int
	// Memo belongs to the policy: learnt numbers that are about no one node.
	Memo []float64
}

type page struct {
	used  uint64
	nodes [PageSize]Node
}

// Len is one more than the highest slot in use.
func (t *Table) Len() int { return t.slots }

// Live is the number of nodes.
func (t *Table) Live() int { return t.live }

// At is the node in a slot; nil if the slot is free or beyond the table. The
// pointer is good until the node is removed.
func (t *Table) At(slot int) *Node {
	if slot < 0 || slot >= t.slots {
		return nil
	}
	p := t.pages[slot/PageSize]
	if p == nil || p.used>>(slot%PageSize)&1 == 0 {
		return nil
	}
	return &p.nodes[slot%PageSize]
}

// After is the first slot in use that is at least slot, or -1.
// It costs O(1) for each page passed over.
func (t *Table) After(slot int) int {
	for slot = max(slot, 0); slot < t.slots; slot = (slot/PageSize + 1) * PageSize {
		p := t.pages[slot/PageSize]
		if p == nil {
			continue
		}
		if rest := p.used >> (slot % PageSize); rest != 0 {
			return slot + bits.TrailingZeros64(rest)
		}
	}
	return -1
}

// Free is the lowest free slot. It may be beyond Len. It costs O(n/4096).
func (t *Table) Free() int {
	for w, word := range t.holes {
		if word == 0 {
			continue
		}
		id := w*64 + bits.TrailingZeros64(word)
		if p := t.pages[id]; p != nil {
			return id*PageSize + bits.TrailingZeros64(^p.used)
		}
		return id * PageSize
	}
	return len(t.pages) * PageSize
}

// Put places a node in a slot, over the node that was there if any. The slot
// must be below MaxNodes.
func (t *Table) Put(slot int, n Node) *Node {
	id := slot / PageSize
	for len(t.pages) <= id {
		t.pages = append(t.pages, nil)
		if len(t.pages) > 64*len(t.holes) {
			t.holes = append(t.holes, 0)
		}
		t.holes[(len(t.pages)-1)/64] |= 1 << ((len(t.pages) - 1) % 64)
	}
	if t.pages[id] == nil {
		t.pages[id] = new(page)
	}
	p, bit := t.pages[id], uint64(1)<<(slot%PageSize)
	if p.used&bit == 0 {
		p.used |= bit
		t.live++
	}
	if p.used == math.MaxUint64 {
		t.holes[id/64] &^= 1 << (id % 64)
	}
	t.slots = max(t.slots, slot+1)
	p.nodes[slot%PageSize] = n
	return &p.nodes[slot%PageSize]
}

// Remove frees a slot; nothing happens if it is free. Pages without a node are
// released, and Len falls to the highest slot still in use.
func (t *Table) Remove(slot int) {
	n := t.At(slot)
	if n == nil {
		return
	}
	*n = Node{}
	id := slot / PageSize
	p := t.pages[id]
	p.used &^= 1 << (slot % PageSize)
	t.holes[id/64] |= 1 << (id % 64)
	t.live--
	if p.used == 0 {
		t.pages[id] = nil
	}
	if slot == t.slots-1 {
		t.shrink()
	}
}

// shrink lowers Len to the highest slot in use. Each page passed over was paid
// for by the Put that made it.
func (t *Table) shrink() {
	for id := (t.slots - 1) / PageSize; id >= 0; id-- {
		if p := t.pages[id]; p != nil {
			t.slots = id*PageSize + bits.Len64(p.used)
			break
		}
		t.slots = id * PageSize
		t.holes[id/64] &^= 1 << (id % 64)
		t.pages = t.pages[:id]
	}
	t.holes = t.holes[:(len(t.pages)+63)/64]
}
