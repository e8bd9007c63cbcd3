package scheduler

import "errors"

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
	// ErrShare is returned when a precision or a recall is not from 0 to 1.
	ErrShare = errors.New("scheduler: precision or recall is not from 0 to 1")
	// ErrDecay is returned when a policy needs a node's decay and it is zero.
	ErrDecay = errors.New("scheduler: policy needs a decay greater than zero")
	// ErrArrival is returned when a policy needs a node's arrival rate and it is
	// Unknown.
	ErrArrival = errors.New("scheduler: policy needs an arrival rate")
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
	// Precision is the share of a page's signals that are true, Recall the share
	// of its changes that are signalled. Unknown: learnt. See [Signals].
	Precision, Recall float64
	// Group is the number of the node's group (see [Groups]). Zero: none.
	Group int32
	// Deadline is the greatest number of steps from one probe to the next. Zero: none.
	Deadline int64
	// Priced is 0 if Cost is given, and one more than the number of costs that it was
	// learnt from if it is the mean of those that were reported, up to pricedMemory.
	Priced float64
}

// DefaultParams are the parameters of a node without parameters of its own.
func DefaultParams() Params {
	return Params{Rate: Unknown, Weight: 1, Arrival: Unknown, Cost: 1, Precision: Unknown, Recall: Unknown}
}

// Check returns ErrNumber, ErrCost, ErrMaxAge or ErrShare if a parameter is out
// of range.
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
	if p.Deadline < 0 || p.Deadline > MaxStep {
		return ErrDeadline
	}
	if !(p.Priced >= 0 && p.Priced <= pricedMemory+1) {
		return ErrNumber
	}
	for _, v := range [...]float64{p.Precision, p.Recall} {
		if v != Unknown && !(v >= 0 && v <= 1) {
			return ErrShare
		}
	}
	return nil
}

// pricedMemory is how many costs the mean of a learnt one remembers.
const pricedMemory = 16

// Pay takes note of what a probe has cost, if the cost is learnt: it is the mean of
// those that were reported, of the last ones the more.
func (p *Params) Pay(cost float64) {
	if p.Priced == 0 {
		return
	}
	p.Priced = min(p.Priced+1, pricedMemory+1)
	p.Cost += (cost - p.Cost) / (p.Priced - 1)
	p.Cost = min(max(p.Cost, MinCost), MaxNumber)
}

// CheckNumber returns ErrNumber unless v is between 0 and MaxNumber.
func CheckNumber(v float64) error {
	if !(v >= 0 && v <= MaxNumber) { // also false for NaN
		return ErrNumber
	}
	return nil
}

// Node is what is known of one node: what the user said and what was seen. It
// is a copy; a [Table] keeps the original.
type Node struct {
	Params
	// Born is the step in which the node was added; 0 if the estimator does
	// not ask.
	Born int64
	// Last is the step of the last probe that was completed; before the first
	// one the step in which the node was added. Age counts from there.
	Last int64
	// Probes counts completed probes, Items sums what they found.
	Probes int64
	Items  float64
	// Estimate is the rate in items a step that policies believe.
	Estimate float64
	// Count, Exposure, Up and Down belong to the estimator.
	Count, Exposure, Up, Down float64
	// Handed is the millisecond of the last hand-out, for callers that ask for it.
	Handed int64
	Signals
	// Memo belongs to the policy: learnt numbers that cannot be derived. Nodes
	// of one table have memos of one length, or none. In a loaded
	// node it is the table's own memory, good until the next Store or SetMemo.
	Memo []float64
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
