package sim

import (
	"context"
	"math/rand/v2"

	"github.com/vigildb/vigil/scheduler"
)

// The steady state. The schedule that meets the bound probes node i every T_i
// steps, where T_i is the least age at which its index reaches one price v for
// all nodes, and v is such that c probes a step are made: sum 1/T_i = c. At a
// random step its age is then uniform on 1 ... T_i. The price is found on a
// sample of the nodes, as it is a mean over them; the ages start a trial, they
// are not measured.

// priceSample is the number of nodes on which the price is found: the error of
// the mean of the frequencies is some percent, and is gone after the first
// probes.
const priceSample = 4096

// scales is how many powers of two prices may be from 1.
const scales = 200

// maxGap bounds gaps: a node whose index never reaches the price has none.
const maxGap = 1 << 40

// ages draws the age that each node has in the first step. It returns the error
// of ctx if that ends first.
func (w *world) ages(ctx context.Context, probes int, drawn bool, draws *rand.Rand) ([]int64, error) {
	ages := make([]int64, len(w.truth))
	price := w.price(probes, draws)
	longest := int64(1)
	for i := range ages {
		if i%nodesALook == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ages[i] = w.gap(i, price)
		if ages[i] < maxGap {
			longest = max(longest, ages[i])
		}
	}
	for i, gap := range ages {
		switch {
		case gap >= maxGap: // never probed: as old as the oldest
			ages[i] = longest
		case drawn:
			ages[i] = min(int64(geometric(float64(gap), draws)), 64*gap)
		default:
			ages[i] = 1 + draws.Int64N(gap)
		}
	}
	return ages, nil
}

// price is the v at which sum 1/T_i = c, or 0 if all nodes can be probed in
// every step.
func (w *world) price(probes int, draws *rand.Rand) float64 {
	sample := draws.Perm(len(w.truth))
	sample = sample[:min(priceSample, len(sample))]
	if len(sample) == 0 {
		return 0
	}
	share := float64(len(w.truth)) / float64(len(sample))
	frequency := func(v float64) (sum float64) {
		for _, i := range sample {
			if gap := w.gap(i, v); gap < maxGap {
				sum += share / float64(gap)
			}
		}
		return sum
	}
	// Prices may be of any size: one power of two that is too low, one that
	// is high enough.
	low, high := 0.5, 1.0
	for range scales {
		if frequency(high) <= float64(probes) {
			break
		}
		low, high = high, 2*high
	}
	for range scales {
		if frequency(low) > float64(probes) {
			break
		}
		low, high = low/2, low
	}
	for range 30 {
		middle := (low + high) / 2
		if frequency(middle) > float64(probes) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// gap is the least age at which the index of a node reaches a price, maxGap if
// none does.
func (w *world) gap(i int, price float64) int64 {
	index := w.index(i)
	if !(index(1) > 0) {
		return maxGap
	}
	high := int64(1)
	for index(high) < price {
		if high *= 2; high >= maxGap {
			return maxGap
		}
	}
	for low := high / 2; high-low > 1; {
		if middle := low + (high-low)/2; index(middle) < price {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// index is the price at which probing a node after a steps and after a+1 are
// equally good.
func (w *world) index(i int) func(age int64) float64 {
	if w.model != Queues {
		return w.model.earns(&w.truth[i], w.rates[i]).Index
	}
	rate := w.worth(i) * w.rates[i]
	return func(age int64) float64 { return rate * float64(age) * float64(age+1) / 2 }
}

// Bounds are what no schedule betters.
type Bounds struct {
	LB1, LB3 float64 // of the cost; 0 for rewards
	Reward   float64 // 0 for costs
	// Limited is scheduler.LimitedBound, where groups, deadlines or a budget are heeded.
	Limited float64
}

// Best is the bound to measure by: LB3, that of limits, or that of the reward.
func (b Bounds) Best() float64 {
	if b.Limited > 0 {
		return b.Limited
	}
	return b.LB3 + b.Reward
}

// BoundsOf evaluates the bounds of a model at the true rates of nodes. It costs
// O(n) some dozens of times: half a second for 10^6 nodes. It returns the error of
// ctx if that ends first.
func BoundsOf(ctx context.Context, m Model, truth []scheduler.Params, probes int) (b Bounds, err error) {
	w := newWorld(&Trial{Model: m, Told: truth, Probes: probes})
	if m.Rewards() {
		b.Reward, err = w.bound(ctx, probes)
		return b, err
	}
	b.LB1 = scheduler.LB1(w.worths(), probes)
	b.LB3, err = w.bound(ctx, probes)
	return b, err
}

// LB2 is scheduler.LB2 at the true rates of nodes, 0 for models of rewards.
func LB2(m Model, truth []scheduler.Params, probes int) float64 {
	if m.Rewards() {
		return 0
	}
	return scheduler.LB2(newWorld(&Trial{Model: m, Told: truth, Probes: probes}).worths(), probes)
}
