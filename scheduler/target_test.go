package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// truth is a set of nodes whose true rates change, and what waits there.
type truth struct {
	rates []float64
	base  []float64 // items at node i when its rate last changed, in expectation
	since []int64   // step of that, or of the probe after it
	sum   float64   // of rates
	queue float64   // of items
}

func newTruth(rates []float64) *truth {
	w := &truth{rates: append([]float64(nil), rates...), base: make([]float64, len(rates)), since: make([]int64, len(rates))}
	for _, r := range rates {
		w.sum += r
	}
	return w
}

// change gives all nodes new rates, from a step on.
func (w *truth) change(step int64, rate func(i int) float64) {
	w.sum = 0
	for i := range w.rates {
		w.base[i] += w.rates[i] * float64(step-1-w.since[i])
		w.since[i] = step - 1
		w.rates[i] = rate(i)
		w.sum += w.rates[i]
	}
}

// collect empties the queue of a node and returns what was in it.
func (w *truth) collect(slot int, step int64) float64 {
	mean := w.base[slot] + float64(w.rates[slot]*float64(step-w.since[slot]))
	w.base[slot], w.since[slot] = 0, step
	w.queue -= mean
	return mean
}

// unknownRates measures index with an estimator that starts from nothing: the
// cost over the mean LB3 of the rates then, in steps after from up to to.
func unknownRates(t *testing.T, e Estimator, w *truth, c int, seed uint64, from, to int64, each func(step int64)) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	table, p := new(Table), policyNamed(t, "index").New()
	table.Probes = c
	for slot := range w.rates {
		Enter(table, e, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	cost, bound, bounds := 0.0, 0.0, 0
	var picks []int
	for step := int64(1); step <= to; step++ {
		each(step)
		w.queue += w.sum
		if step > from {
			cost += w.queue
			if (step-from)%((to-from)/40) == 1 {
				bound += LB3(w.rates, c)
				bounds++
			}
		}
		picks = p.Pick(picks[:0], step, c, nil)
		for _, slot := range picks {
			Observe(table, p, e, slot, Poisson(w.collect(slot, step), 1, rng), step)
		}
	}
	return cost / float64(to-from) / (bound / float64(bounds))
}

// unknownCases are the sizes at which the targets for unknown rates are kept.
var unknownCases = []struct {
	vector string
	c      int
	seeds  uint64
}{{"zipf1_100", 1, 2}, {"zipf1_100", 3, 2}, {"uniform_100", 1, 1}, {"zipf1_1000", 3, 1}}

func TestIndexWithChangeMeetsTheTargetForConstantRates(t *testing.T) {
	for _, tc := range testscale.Some(unknownCases) {
		for seed := uint64(1); seed <= testscale.Rounds(tc.seeds); seed++ {
			w := newTruth(vector(t, tc.vector))
			t0 := int64(300 * len(w.rates) / tc.c) // 300 probes a node
			got := unknownRates(t, change{}, w, tc.c, seed, t0, t0+t0/2, func(int64) {})
			t.Logf("%s c=%d seed %d: %.4f x LB3", tc.vector, tc.c, seed, got)
			if got > 1.01 {
				t.Errorf("%s c=%d seed %d: %.4f x LB3, want at most 1.01", tc.vector, tc.c, seed, got)
			}
		}
	}
}

func TestIndexWithChangeMeetsTheTargetAfterAPermutation(t *testing.T) {
	for _, tc := range testscale.Some(unknownCases) {
		for seed := uint64(1); seed <= testscale.Rounds(tc.seeds); seed++ {
			w := newTruth(vector(t, tc.vector))
			t0 := int64(300 * len(w.rates) / tc.c)
			permute := func(step int64) {
				if step == t0 {
					from := append([]float64(nil), w.rates...)
					order := rand.New(rand.NewPCG(seed, 9)).Perm(len(from))
					w.change(step, func(i int) float64 { return from[order[i]] })
				}
			}
			got := unknownRates(t, change{}, w, tc.c, seed, t0+t0/2, 2*t0, permute)
			t.Logf("%s c=%d seed %d: %.4f x LB3", tc.vector, tc.c, seed, got)
			if got > 1.05 {
				t.Errorf("%s c=%d seed %d: %.4f x LB3, want at most 1.05", tc.vector, tc.c, seed, got)
			}
		}
	}
}

// Each rate goes up and down by a factor of three while its node makes 400
// items on average (600 of 1000 nodes, most of which make far fewer).
func TestIndexWithChangeMeetsTheTargetUnderDrift(t *testing.T) {
	for _, tc := range testscale.Some(unknownCases) {
		for seed := uint64(1); seed <= testscale.Rounds(tc.seeds); seed++ {
			start := vector(t, tc.vector)
			w, n := newTruth(start), int64(len(start))
			period := 400 * n
			if n >= 1000 {
				period = 600 * n
			}
			drift := func(step int64) {
				if step%n == 0 {
					w.change(step, func(i int) float64 {
						phase := float64(step)/float64(period) + float64(i*37%100)/100
						return start[i] * math.Pow(3, math.Sin(2*math.Pi*phase))
					})
				}
			}
			// Phases are spread, so a third of a period is as good as a whole one.
			from := 40 * n
			got := unknownRates(t, change{}, w, tc.c, seed, from, from+period/3, drift)
			t.Logf("%s c=%d seed %d: %.4f x LB3", tc.vector, tc.c, seed, got)
			if got > 1.05 {
				t.Errorf("%s c=%d seed %d: %.4f x LB3, want at most 1.05", tc.vector, tc.c, seed, got)
			}
		}
	}
}

func TestIndexMeetsItsTargetsForKnownRates(t *testing.T) {
	for _, tc := range testscale.Some([]struct {
		vector string
		limit  float64
		steps  int64
	}{
		{"pow2_4", 1.03, 5000}, {"mixed_5", 1.03, 5000}, {"uniform_8", 1.03, 5000},
		{"pow2_10", 1.02, 20000}, {"pow2_20", 1.02, 20000}, {"zipf1_100", 1.02, 20000}, {"uniform_100", 1.02, 20000},
		{"zipf1_1000", 1.001, 30000}, {"zipf2_1000", 1.001, 30000}, {"zipf1_10000", 1.001, 60000}, {"uniform_1000", 1.001, 5000},
	}) {
		for _, c := range []int{1, 3} {
			rates := vector(t, tc.vector)
			tr := Trial{Policy: policyNamed(t, "index"), Estimator: estimatorNamed(t, "fixed"), Nodes: nodesOf(rates), Rates: rates, Probes: c}
			ratio := tr.Run(tc.steps, tc.steps).Cost / LB3(rates, c)
			t.Logf("%s c=%d: %.5f x LB3", tc.vector, c, ratio)
			if ratio > tc.limit || ratio < .995 {
				t.Errorf("%s c=%d: index costs %.5f x LB3, want at most %g", tc.vector, c, ratio, tc.limit)
			}
		}
	}
}

// LB3 is a low yardstick for three nodes: the best schedule of mixed_3 costs 1.031
// times as much, and index 1.037 times, above the target for few nodes. It is the
// known answer.
func TestIndexIsNearTheOptimumWhereLB3IsLoose(t *testing.T) {
	rates := vector(t, "mixed_3")
	best := optimum(rates, 1, 18)
	if p, ok := PeriodOf(policyNamed(t, "index"), rates, 1, 1000); !ok || p.Cost > 1.007*best {
		t.Errorf("index %v, optimum %g, LB3 %g", p, best, LB3(rates, 1))
	}
}

// With weights w and prices C every policy of P1 works with the worth w pi/C of
// a node. Since a step has c probes whatever they cost, a price is a discount on
// what a node's items are worth, not a share of a budget: the cost is the mean
// of the sum of (w pi/C) x age, and LB3 of the worths bounds it.
func TestWeightsAndCostsActAsRates(t *testing.T) {
	const seed = 97
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range testscale.Rounds(8) {
		n, c := 10+rng.IntN(30), 1+rng.IntN(3)
		nodes, worths := make([]Params, n), make([]float64, n)
		for i := range nodes {
			p := DefaultParams()
			p.Rate, p.Weight, p.Cost = rng.Float64(), float64(rng.IntN(4)), math.Exp(rng.NormFloat64())
			node := NewNode(p, 0)
			fixed{}.Refresh(&node)
			nodes[i], worths[i] = p, node.Worth()
		}
		for _, spec := range Policies() {
			if spec.Name == "lagrange" { // its price is charged by the cost of a probe
				continue
			}
			if spec.Rewards {
				continue
			}
			name := fmt.Sprintf("seed %d round %d: %s", seed, round, spec.Name)
			var picks [2][]int
			costs := [2]float64{}
			for k, as := range [][]Params{nodes, nodesOf(worths)} {
				tr := Trial{Policy: spec, Estimator: estimatorNamed(t, "fixed"), Nodes: as, Rates: worths, Probes: c,
					Draws: rand.New(rand.NewPCG(seed, uint64(round))),
					Each:  func(_ int64, p []int) { picks[k] = append(picks[k], p...) }}
				costs[k] = tr.Run(1000, 3000).Cost
			}
			if !slices.Equal(picks[0], picks[1]) {
				t.Errorf("%s: picks differ from those of rates w pi/C", name)
			}
			if costs[0] < .99*LB3(worths, c) {
				t.Errorf("%s costs %g, LB3 of the worths is %g", name, costs[0], LB3(worths, c))
			}
			if spec.Name == "index" && costs[0] > 1.02*LB3(worths, c) {
				t.Errorf("%s costs %g, want at most 1.02 x %g", name, costs[0], LB3(worths, c))
			}
		}
	}
}
