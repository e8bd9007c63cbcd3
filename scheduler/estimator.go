package scheduler

import (
	"fmt"
	"math"
	"strings"
)

// Estimator turns what probes found into Node.Estimate. It works on the node
// alone, costs O(1), and computes the same on every machine: no transcendental
// function of the platform is used, and no product is fused into a sum.
type Estimator interface {
	// Refresh sets the estimate from parameters and counters: of a new node,
	// or after its parameters changed. It sets Born to 0 if the estimator does
	// not ask for it, so that no table has to store it.
	Refresh(n *Node)
	// Observe takes in a probe in the given step that found items, gap steps
	// after the one before. It is called before n.Last changes.
	Observe(n *Node, items float64, gap, step int64)
}

// EstimatorSpec describes one estimator.
type EstimatorSpec struct {
	Name string
	// Number is on disk and never changes.
	Number byte
	// New makes it with window k, which only `window` reads.
	New func(k float64) Estimator
}

// DefaultWindow is K of the estimator `window`, in items.
const DefaultWindow = 40

// Estimators lists the estimators.
func Estimators() []EstimatorSpec {
	return []EstimatorSpec{
		{"fixed", 1, func(float64) Estimator { return fixed{} }},
		{"paper", 2, func(float64) Estimator { return paper{} }},
		{"window", 3, func(k float64) Estimator { return window{k} }},
		{"change", 4, func(float64) Estimator { return change{} }},
		{"binary", 5, func(float64) Estimator { return binary{} }},
	}
}

// EstimatorNamed finds an estimator by its name, in any case. The error wraps
// ErrEstimator and lists the names.
func EstimatorNamed(name string) (EstimatorSpec, error) {
	names := make([]string, 0, 4)
	for _, e := range Estimators() {
		if strings.EqualFold(e.Name, name) {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return EstimatorSpec{}, fmt.Errorf("%w; available: %s", ErrEstimator, strings.Join(names, ", "))
}

// EstimatorNumbered finds an estimator by its number on disk, or returns
// ErrEstimator.
func EstimatorNumbered(number byte) (EstimatorSpec, error) {
	for _, e := range Estimators() {
		if e.Number == number {
			return e, nil
		}
	}
	return EstimatorSpec{}, ErrEstimator
}

// fixed believes the rate that the user gave, 1 if none.
type fixed struct{}

func (fixed) Refresh(n *Node) { n.Estimate, n.Born = told(n), 0 }

// told is the rate that the user gave, 1 if none.
func told(n *Node) float64 {
	if n.Rate == Unknown {
		return 1
	}
	return n.Rate
}

func (fixed) Observe(*Node, float64, int64, int64) {}

// paper is the rule of P1's Algorithm 1: max(1, C)/t, where C counts all items
// found and t is the age of the node in the schedule.
type paper struct{}

func (paper) Refresh(n *Node) {
	if n.Probes == 0 {
		n.Estimate = told(n)
	}
}

func (paper) Observe(n *Node, items float64, _, step int64) {
	n.Count += items
	n.Estimate = max(1, n.Count) / float64(max(1, step-n.Born))
}

// prior is the estimate (C + 1/2)/(W + 1) from C items in W steps: the mean of a
// rate that was Gamma(1/2, 1) before. With a guess r of the user's the prior
// mean 1/2 becomes r, still worth half an item. A guess of 0 stays 0.
func prior(n *Node) float64 {
	steps := 1.0
	if n.Rate != Unknown {
		steps = 0.5 / n.Rate
	}
	return (n.Count + 0.5) / (n.Exposure + steps)
}

// window forgets: before an observation is added, count and exposure shrink by
// exp(-max(estimate gap, items)/K), so that about the last K items count.
type window struct{ k float64 }

func (window) Refresh(n *Node) { n.Estimate, n.Born = prior(n), 0 }

func (w window) Observe(n *Node, items float64, gap, _ int64) {
	keep := decay(max(n.Estimate*float64(gap), items) / w.k)
	n.Count = float64(n.Count*keep) + items
	n.Exposure = float64(n.Exposure*keep) + float64(gap)
	n.Estimate = prior(n)
}

// change counts everything since the last change of the rate that it noticed, or
// the last memory items: when the count exceeds memory, count and exposure shrink
// by the same factor. So it follows rates that drift slowly as well.
//
// Two sums watch for a rate that doubled or halved (Page 1954): each adds
// the logarithm of the likelihood ratio of the observation (Poisson with mean
// m = estimate gap) and never falls below zero,
//
//	up   += items ln 2 - m        down += m/2 - items ln 2
//
// When one passes changeAlarm the node starts again from this observation. The
// sums rest until a first item was seen: before it the estimate is the prior.
type change struct{}

// changeAlarm is the log likelihood ratio at which the old rate is given up. At
// 6 a stationary node restarts about once in a few hundred items.
const changeAlarm = 6

// memory is what change and binary remember, in items. 32 of them give a rate to
// 18 % and cost 0.2 % of LB3 when rates are constant; they save 0.4 % where each
// rate goes up and down by a factor of three in 400 items.
const memory = 32

func (change) Refresh(n *Node) { n.Estimate, n.Born = prior(n), 0 }

func (change) Observe(n *Node, items float64, gap, _ int64) {
	if n.Count > 0 {
		mean, found := float64(n.Estimate*float64(gap)), float64(items*math.Ln2)
		n.Up = max(0, n.Up+found-mean)
		n.Down = max(0, n.Down+float64(mean/2)-found)
	}
	if n.Up > changeAlarm || n.Down > changeAlarm {
		n.Count, n.Exposure, n.Up, n.Down = 0, 0, 0, 0
	}
	n.Count += items
	n.Exposure += float64(gap)
	if n.Count > memory {
		n.Exposure *= memory / n.Count
		n.Count = memory
	}
	n.Estimate = prior(n)
}

// decay is exp(-x) for x >= 0 within 1e-15, computed only with operations that
// IEEE 754 rounds exactly: math.Exp has assembly on some machines and may
// differ in the last bit, and an estimate must be the same on every replica.
func decay(x float64) float64 {
	if x > 700 {
		return 0
	}
	k := math.Floor(x/math.Ln2 + 0.5)
	r := float64(k*ln2High) - x
	r += float64(k * ln2Low)
	// |r| <= 0.35, and 0.35^17/17! is below the last bit.
	sum := 1.0
	for i := 17.0; i > 0; i-- {
		sum = 1 + float64(r*sum)/i
	}
	return math.Ldexp(sum, -int(k))
}

// ln2High holds the first 32 bits of ln 2, so that its product with a small
// integer is exact; ln2Low is the rest.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// Recall makes the estimator of a node go on from Probes and Items that were counted
// elsewhere. A Rate is what they told; without one a probe counts as a step.
func Recall(n *Node, e Estimator) {
	seen := min(n.Items, memory)
	switch e.(type) {
	case change, window:
		n.Count, n.Exposure, n.Up, n.Down = seen, float64(n.Probes), 0, 0
		if n.Rate > 0 {
			n.Exposure = seen / n.Rate
		}
		e.Refresh(n)
	case binary:
		if n.Rate == Unknown && n.Probes > 0 {
			n.Estimate = max(LeastRate, (n.Items+shape)/(float64(n.Probes)+1))
		} else if n.Rate != Unknown {
			n.Estimate = n.Rate
		}
		n.Count = min(shape+n.Items, memory)
	case paper:
		n.Count = n.Items
	}
	if n.Rate > 0 {
		n.Estimate = n.Rate
	}
}
