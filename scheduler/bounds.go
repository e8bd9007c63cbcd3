package scheduler

import (
	"context"
	"math"
	"slices"
)

// LB1 is P1's Theorem 1: no schedule with c probes a step costs less than
//
//	max{ sum pi, (sum sqrt pi)^2 / (2c) }.
//
// It is a low yardstick for few nodes or many probes: the optimum is 1.19 times
// as much for pi = 2^-1 ... 2^-10, c = 1. Cost O(n).
func LB1(rates []float64, c int) float64 {
	sum, roots := 0.0, 0.0
	for _, r := range rates {
		sum += r
		roots += math.Sqrt(r)
	}
	return max(sum, roots*roots/(2*float64(c)))
}

// Frequencies are the probes a step f_i of each node that minimise the sum of
// pi_i/f_i under f_i <= 1 and sum f = c: f_i = min(1, sqrt(pi_i)/s), by filling
// up from the greatest rate. Nodes of rate zero get none; if at most c others
// are left, each of them gets 1. Cost O(n log n).
func Frequencies(rates []float64, c int) []float64 {
	f := make([]float64, len(rates))
	order := make([]int, 0, len(rates))
	for i, r := range rates {
		if r > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if rates[a] > rates[b] {
			return -1
		} else if rates[a] < rates[b] {
			return 1
		}
		return 0
	})
	// left[k] sums the roots from the k-th greatest on, the small ones first so
	// that nothing is lost by subtracting.
	left := make([]float64, len(order)+1)
	for k := len(order) - 1; k >= 0; k-- {
		left[k] = left[k+1] + math.Sqrt(rates[order[k]])
	}
	// If there are more nodes than probes, those below the ceiling need some of
	// them, even where their roots are lost in the sum.
	most := len(order)
	if most > c {
		most = c - 1
	}
	full := 0 // nodes at the ceiling
	for full < most &&
		(len(order) <= c || math.Sqrt(rates[order[full]])*float64(c-full) >= left[full]) {
		f[order[full]] = 1
		full++
	}
	for _, i := range order[full:] {
		f[i] = math.Sqrt(rates[i]) / left[full] * float64(c-full)
	}
	return f
}

// LB2 is sum(pi)/2 + min over f of sum pi/(2f), with f as in Frequencies: a
// node probed with mean gap 1/f costs at least pi (1/f + 1)/2, as squares are
// convex. LB1 <= LB2. Cost O(n log n).
func LB2(rates []float64, c int) float64 {
	f := Frequencies(rates, c)
	cost := 0.0
	for i, r := range rates {
		if r > 0 {
			cost += float64(r*(1+1/f[i])) / 2
		}
	}
	return cost
}

// LB3 is LB2 with gaps that are whole numbers of steps: the greatest value over
// prices v >= 0 of
//
//	sum over i of min over T = 1, 2, ... of (pi_i (T+1)/2 + v/T)  -  v c.
//
// The sum is concave and piecewise linear in v; its slope is sum 1/T - c. LB2 <= LB3 <= cost of any schedule. With weights and prices
// the rates are worths, w pi/C, and so is the cost that it bounds: see the package
// comment. Cost O(n) for each of a dozen prices (see relaxation).
func LB3(rates []float64, c int) float64 {
	bound, _ := LB3Context(context.Background(), rates, c)
	return bound
}

// LB3Context is LB3, or the error of ctx if that ends first.
func LB3Context(ctx context.Context, rates []float64, c int) (float64, error) {
	r := relaxation{n: len(rates), c: float64(c)}
	for _, rate := range rates {
		r.guess = max(r.guess, rate)
	}
	r.node = func(i int, v float64) (cost, frequency float64) {
		if !(rates[i] > 0) {
			return 0, 0
		}
		t := bestGap(rates[i], v)
		return float64(rates[i]*(t+1)/2) + v/t, 1 / t
	}
	return r.bound(ctx)
}

// nodesALook is how many nodes are looked at between two looks at a context: at
// most some milliseconds of work.
const nodesALook = 4096

// maxWholeGap bounds the gaps that bestGap makes whole. Above, a step more or
// less is lost in rounding: T+1 may be T.
const maxWholeGap = 1 << 50

// bestGap is the T that minimises r (T+1)/2 + v/T: the least T with
// r T (T+1)/2 >= v, where the index of the node reaches v. Above maxWholeGap it
// is the real number that minimises.
func bestGap(r, v float64) float64 {
	t := max(1, math.Ceil((math.Sqrt(1+8*v/r)-1)/2))
	if t > maxWholeGap {
		return math.Sqrt(2*v) / math.Sqrt(r) // v/r may be infinite
	}
	for t > 1 && r*(t-1)*t/2 >= v {
		t--
	}
	for r*t*(t+1)/2 < v {
		t++
	}
	return t
}

// RewardBound is a bound on the mean reward a step of any policy on ephemeral
// content with c probes a step: the least value over prices v >= 0 of
//
//	v c + sum over i of max(0, max over T = 1, 2, ... of (x_i(T) - v C_i)/T).
//
// The maximum is at the first T whose index reaches v, because the index of T
// is the price at which T and T+1 are equally good. A node whose index never
// reaches v is never probed. Cost O(n) for each of a dozen prices, 8 bytes a node.
func RewardBound(nodes []Interest, c int) float64 {
	bound, _ := RewardBoundContext(context.Background(), nodes, c)
	return bound
}

// RewardBoundContext is RewardBound, or the error of ctx if that ends first.
func RewardBoundContext(ctx context.Context, nodes []Interest, c int) (float64, error) {
	gaps := make([]int64, len(nodes)) // at the last price
	r := relaxation{n: len(nodes), c: float64(c)}
	for i := range nodes {
		r.guess = max(r.guess, nodes[i].Reward(1)/nodes[i].Cost)
	}
	r.node = func(i int, v float64) (loss, frequency float64) {
		m := &nodes[i]
		t := m.firstAge(v, gaps[i])
		if t >= MaxStep {
			return 0, 0
		}
		gaps[i] = t
		if gain := m.Reward(t) - float64(v*m.Cost); gain > 0 {
			return -gain / float64(t), m.Cost / float64(t)
		}
		return 0, 0
	}
	bound, err := r.bound(ctx)
	return -bound, err
}

// firstAge is the least age whose index is at least v, or MaxStep if none is: a guess
// if that is right, or one that is a step or so from where the curve says.
func (m *Interest) firstAge(v float64, guess int64) int64 {
	if m.MaxAge == 0 && v > m.Limit()/m.Cost*(1+leadMargin) {
		return MaxStep
	}
	k := m.curve()
	if guess > 1 && k.at(guess) >= v && k.at(guess-1) < v {
		return guess
	}
	low, high := int64(0), min(max(k.reach(v), 1), MaxStep)
	for stride := int64(1); high < MaxStep && k.at(high) < v; stride *= 2 {
		low, high = high, min(high+stride, MaxStep)
	}
	for stride := int64(1); low == 0 && high > 1; stride *= 2 {
		if below := max(high-stride, 1); k.at(below) < v {
			low = below
		} else {
			high = below
		}
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; k.at(middle) < v {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
