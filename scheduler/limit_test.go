package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTheLevelOfAlikeNodesMixesTwoGaps(t *testing.T) {
	for _, tc := range []struct{ n, c int }{{10, 3}, {10, 10}, {10, 20}, {7, 7}, {9, 1}, {1000, 7}} {
		rates := make([]float64, tc.n)
		for i := range rates {
			rates[i] = .1
		}
		rates = append(rates, 0)
		// n/c is between two whole gaps; as many nodes have either as use all probes.
		f := min(1, float64(tc.c)/float64(tc.n))
		want := .1 * float64(tc.n) * meanAge(1/f, 1)
		for name, limit := range map[string]func([]float64, int) float64{"sqrtage": sqrtageLimit, "stride": strideLimit} {
			got := limit(rates, tc.c)
			// Gaps of one node mix by time, those of several by their number: the first
			// costs no less.
			if got > want*(1+1e-9) || got < LB3(rates, tc.c)*(1-1e-9) || name == "stride" && math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%s, %d nodes, %d probes a step: got %g, want %g at most, %g at least", name, tc.n, tc.c, got, want, LB3(rates, tc.c))
			}
		}
	}
}

// No policy is below the bound, and of index the bound is the limit.
func TestLimitsAreAboveTheBound(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 4))
	for range 300 {
		rates := make([]float64, 1+rng.IntN(300))
		for i := range rates {
			rates[i] = math.Exp(4 * rng.NormFloat64())
		}
		c := 1 + rng.IntN(len(rates)+2)
		bound := LB3(rates, c)
		for _, spec := range Policies() {
			if spec.Limit == nil {
				continue
			}
			if got := spec.Limit(rates, c); !(got >= bound*(1-1e-8)) {
				t.Fatalf("%s, %d nodes, %d probes a step: the limit is %g, the bound %g", spec.Name, len(rates), c, got, bound)
			}
		}
		if got := levelCost(rates, c, func(rate, level float64) float64 { return bestGap(rate, level) }); math.Abs(got/bound-1) > 1e-8 {
			t.Fatalf("%d nodes, %d probes a step: the limit by the index is %g, the bound %g", len(rates), c, got, bound)
		}
	}
}
