package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestBoundsAndCostsAgreeWithKnownAnswers(t *testing.T) {
	formulas := map[string]func([]float64, int) float64{
		"lb_theorem1": LB1, "lb2": LB2, "lb3": LB3, "memoryless_cost": MemorylessCost,
	}
	checked := 0
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		f, ok := formulas[part[0]]
		if !ok {
			continue
		}
		var c int
		if _, err := fmt.Sscanf(part[2], "c=%d", &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		near(t, name, f(vector(t, part[1]), c), a.number(t), a.Rtol)
		checked++
	}
	if checked < 40 {
		t.Errorf("only %d cases checked", checked)
	}
}

func TestFrequenciesAgreeWithKnownAnswers(t *testing.T) {
	for name, a := range known(t) {
		if part := strings.Split(name, "/"); part[0] == "target_freqs" {
			nearAll(t, name, Frequencies(vector(t, part[1]), 2), a.list(t), a.Rtol)
		}
	}
}

func TestFrequenciesUseAllProbesAndNeverExceedOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		n := 1 + rng.IntN(12)
		rates := make([]float64, n)
		positive := 0
		for i := range rates {
			if rng.IntN(5) > 0 {
				rates[i] = math.Exp(8 * rng.NormFloat64())
				positive++
			}
		}
		c := 1 + rng.IntN(n)
		sum := 0.0
		for i, f := range Frequencies(rates, c) {
			if f < 0 || f > 1+1e-12 || (rates[i] == 0) != (f == 0) {
				t.Fatalf("round %d: rate %g has frequency %g", round, rates[i], f)
			}
			sum += f
		}
		near(t, fmt.Sprintf("round %d: sum of frequencies", round), sum, float64(min(c, positive)), 1e-9)
	}
}

func TestBoundsAreOrdered(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		rates := make([]float64, 1+rng.IntN(30))
		for i := range rates {
			rates[i] = math.Exp(3 * rng.NormFloat64())
		}
		c := 1 + rng.IntN(len(rates)+2)
		lb1, lb2, lb3 := LB1(rates, c), LB2(rates, c), LB3(rates, c)
		cost := MemorylessCost(rates, c)
		if lb1 > lb2*(1+1e-9) || lb2 > lb3*(1+1e-9) || lb3 > cost*(1+1e-9) {
			t.Fatalf("round %d, c=%d: LB1 %g, LB2 %g, LB3 %g, memoryless %g", round, c, lb1, lb2, lb3, cost)
		}
	}
}

func TestBoundsOfNothingAreZero(t *testing.T) {
	for _, rates := range [][]float64{nil, {0}, {0, 0}} {
		for name, v := range map[string]float64{
			"LB1": LB1(rates, 1), "LB2": LB2(rates, 1), "LB3": LB3(rates, 1),
			"memoryless": MemorylessCost(rates, 1), "reward": RewardBound(nil, 1),
		} {
			if v != 0 {
				t.Errorf("%s of %v: got %g, want 0", name, rates, v)
			}
		}
	}
}

func TestOptimumOfThreeNodesIsNotBelowLB3(t *testing.T) {
	best := known(t)["optimal_cost/pow2_3/c=1"].number(t)
	rates := vector(t, "pow2_3")
	if lb := LB3(rates, 1); lb > best*(1+1e-7) {
		t.Errorf("LB3 is %g, but the optimum is %g", lb, best)
	}
	tr := Trial{Policy: policyNamed(t, "index"), Estimator: estimatorNamed(t, "fixed"),
		Nodes: nodesOf(rates), Rates: rates, Probes: 1}
	if cost := tr.Run(1000, 60000).Cost; cost > 1.03*best {
		t.Errorf("index costs %g, the optimum is %g", cost, best)
	}
}

func TestRewardBoundAgreesWithKnownAnswers(t *testing.T) {
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		if len(part) < 2 || part[1] != "upper_bound" {
			continue
		}
		var c int
		if _, err := fmt.Sscanf(part[2], "N0=%d", &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, models := table1(part[0] == "table1_w")
		near(t, name, RewardBound(models, c), a.number(t), a.Rtol)
	}
}

// Gaps beyond 2^53 have no next one, and v/r may overflow: the search must end.
func TestBoundsEndForRatesFarApart(t *testing.T) {
	for _, rates := range [][]float64{{1e15, 5e-324}, {1e15, 1e-320, 1}, {1e15, 1e-20}, {1, 1e-30, 1e-35}, {1e-300, 1e-323}} {
		lb1, lb2, lb3 := LB1(rates, 1), LB2(rates, 1), LB3(rates, 1)
		if !(lb1 <= lb2*(1+1e-12) && lb2 <= lb3*(1+1e-12)) || math.IsInf(lb3, 0) {
			t.Errorf("bounds of %v are %g, %g, %g, want finite and in order", rates, lb1, lb2, lb3)
		}
	}
}

// ending is a context that ends when it is looked at for the left-th time.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left <= 0 {
		return context.Canceled
	}
	return nil
}

func TestBoundsEndWithTheirContextWithinAPrice(t *testing.T) {
	const n = 3 * nodesALook
	rates, models := make([]float64, n), scattered(n, 1)
	for i := range rates {
		rates[i] = 1 / float64(i+1)
	}
	for _, looks := range []int{1, 2, 3, 20} {
		for name, bound := range map[string]func(context.Context) (float64, error){
			"LB3":    func(ctx context.Context) (float64, error) { return LB3Context(ctx, rates, 1) },
			"reward": func(ctx context.Context) (float64, error) { return RewardBoundContext(ctx, models, 1) },
		} {
			ctx := &ending{context.Background(), looks}
			if got, err := bound(ctx); !errors.Is(err, context.Canceled) || got != 0 || ctx.left < -1 {
				t.Errorf("%s that ends at look %d: got %g, %v after %d looks more", name, looks, got, err, -ctx.left)
			}
		}
	}
}
