package scheduler

import (
	"fmt"
	"math"
	"testing"
)

func TestEstimatorsAgreeWithKnownTraces(t *testing.T) {
	for name, estimator := range map[string]string{
		"rate_window_K40/trace": "window", "rate_change_th6_cap32/trace": "change",
	} {
		a := known(t)[name]
		e := estimatorNamed(t, estimator).New(DefaultWindow)
		n := NewNode(DefaultParams(), 0)
		e.Refresh(&n)
		for i, want := range a.list(t) {
			e.Observe(&n, a.Trace[i][0], int64(a.Trace[i][1]), 0)
			near(t, fmt.Sprintf("%s[%d]", name, i), n.Estimate, want, a.Rtol)
		}
	}
}

func TestPaperDividesItemsByTime(t *testing.T) {
	e := estimatorNamed(t, "paper").New(0)
	n := NewNode(DefaultParams(), 0)
	e.Refresh(&n)
	near(t, "start", n.Estimate, 1, 0)
	e.Observe(&n, 0, 4, 4)
	near(t, "nothing found", n.Estimate, .25, 0)
	e.Observe(&n, 3, 4, 8)
	near(t, "three found", n.Estimate, 3.0/8, 0)
}

func TestRateIsTheFirstGuess(t *testing.T) {
	for _, e := range Estimators() {
		for _, rate := range []float64{0, .01, 3, MaxNumber} {
			p := DefaultParams()
			p.Rate = rate
			n := NewNode(p, 0)
			e.New(DefaultWindow).Refresh(&n)
			near(t, fmt.Sprintf("%s rate %g", e.Name, rate), n.Estimate, rate, 1e-12)
		}
	}
}

func TestEstimatesStayFiniteAtTheLimits(t *testing.T) {
	for _, e := range Estimators() {
		for _, rate := range []float64{Unknown, 0, 5e-324, 1e-300, MaxNumber} {
			p := DefaultParams()
			p.Rate, p.Weight, p.Cost = rate, MaxNumber, MinCost
			n := NewNode(p, 0)
			est := e.New(DefaultWindow)
			est.Refresh(&n)
			for _, o := range []struct {
				items float64
				gap   int64
			}{{0, 0}, {MaxNumber, 0}, {0, MaxStep}, {MaxNumber, MaxStep}, {5e-324, 1}, {0, MaxStep}} {
				est.Observe(&n, o.items, o.gap, MaxStep)
				if v := ageIndex(&n, MaxStep); math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
					t.Fatalf("%s rate %g after %v: estimate %g, index %g", e.Name, rate, o, n.Estimate, v)
				}
			}
		}
	}
}

func TestChangeFollowsARateThatChanged(t *testing.T) {
	e := estimatorNamed(t, "change").New(0)
	n := NewNode(DefaultParams(), 0)
	for range 1000 {
		e.Observe(&n, 1, 10, 0)
	}
	near(t, "stationary", n.Estimate, .1, .02) // the prior weighs half an item of 32
	for range 20 {
		e.Observe(&n, 4, 10, 0)
	}
	near(t, "after a rise", n.Estimate, .4, .05)
	for range 60 {
		e.Observe(&n, 0, 10, 0)
	}
	if n.Estimate > .02 {
		t.Errorf("after the node fell silent: %g", n.Estimate)
	}
}

func TestDecayIsTheExponential(t *testing.T) {
	for x := 0.0; x < 690; x += .0937 {
		near(t, fmt.Sprintf("exp(-%g)", x), decay(x), math.Exp(-x), 4e-16*4)
	}
	near(t, "exp(-1e300)", decay(1e300), 0, 0)
}

func TestOnlyPaperAsksWhenANodeWasBorn(t *testing.T) {
	for _, spec := range Estimators() {
		n := NewNode(DefaultParams(), 7)
		spec.New(DefaultWindow).Refresh(&n)
		if asks := n.Born == 7; asks != (spec.Name == "paper") {
			t.Errorf("%s: born in step %d", spec.Name, n.Born)
		}
		if n.Last != 7 {
			t.Errorf("%s: age counts from step %d, want 7", spec.Name, n.Last)
		}
	}
}
