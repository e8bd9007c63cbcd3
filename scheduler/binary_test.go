package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// mle is the maximum likelihood estimate of a change rate from outcomes and
// gaps that vary (Cho and Garcia-Molina 2003), the root of
//
//	sum over changed of T/(exp(xT) - 1)  =  sum over unchanged of T,
//
// by bisection; infinite if all changed.
func mle(changed []bool, gaps []int64) float64 {
	quiet, any := 0.0, false
	for i, c := range changed {
		if c {
			any = true
		} else {
			quiet += float64(gaps[i])
		}
	}
	if !any {
		return 0
	}
	if quiet == 0 {
		return math.Inf(1)
	}
	low, high := 1e-12, 1e6
	for range 60 {
		x, sum := math.Sqrt(low*high), 0.0
		for i, c := range changed {
			if c {
				sum += float64(gaps[i]) / math.Expm1(x*float64(gaps[i]))
			}
		}
		if sum > quiet {
			low = x
		} else {
			high = x
		}
	}
	return low
}

// looks plays probes of a node of a rate after gaps that vary around a mean.
func looks(rng *rand.Rand, rate float64, mean int64, probes int) (changed []bool, gaps []int64) {
	for range probes {
		gap := 1 + mean/2 + rng.Int64N(mean)
		gaps = append(gaps, gap)
		changed = append(changed, rng.Float64() < -math.Expm1(-rate*float64(gap)))
	}
	return changed, gaps
}

func binaryEstimate(changed []bool, gaps []int64) float64 {
	n := NewNode(DefaultParams(), 0)
	binary{}.Refresh(&n)
	for i, c := range changed {
		items := 0.0
		if c {
			items = 1
		}
		binary{}.Observe(&n, items, gaps[i], 0)
		n.Probes++
	}
	return n.Estimate
}

func TestBinaryAgreesWithMaximumLikelihood(t *testing.T) {
	const seed, nodes = 83, 250
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, mean := range []float64{.05, .2, .5, 1, 2, 3} { // changes in a mean gap
		rate := mean / 50
		sum, sumOfMLE, spread := 0.0, 0.0, 0.0
		for range nodes {
			changed, gaps := looks(rng, rate, 50, 200)
			x := binaryEstimate(changed, gaps)
			sum += x / nodes
			sumOfMLE += mle(changed, gaps) / nodes
			spread += (x/rate - 1) * (x/rate - 1) / nodes
		}
		t.Logf("%.2f changes a gap: mean %.3f, MLE %.3f of the truth, standard error %.3f", mean, sum/rate, sumOfMLE/rate, math.Sqrt(spread))
		if math.Abs(sum/sumOfMLE-1) > .05 {
			t.Errorf("%.2f changes a gap: mean %g, MLE %g", mean, sum, sumOfMLE)
		}
	}
}

func TestBinaryGrowsLikeALogarithmIfEveryProbeFindsAChange(t *testing.T) {
	previous := 0.0
	for _, probes := range []int{10, 100, 1000, 10000} {
		changed, gaps := make([]bool, probes), make([]int64, probes)
		for i := range probes {
			changed[i], gaps[i] = true, 10
		}
		y := 10 * binaryEstimate(changed, gaps)
		t.Logf("%d changes in %d probes: %.2f a gap", probes, probes, y)
		// ln(10)/2 = 1.15 for ten times as many.
		if previous > 0 && math.Abs(y-previous-math.Ln10/2) > .6 {
			t.Errorf("%d probes: %g changes a gap, %g with a tenth of the probes", probes, y, previous)
		}
		previous = y
	}
}

func TestBinaryFallsLikeOneOverTimeIfNothingChanges(t *testing.T) {
	for _, probes := range []int{10, 1000} {
		changed, gaps := make([]bool, probes), make([]int64, probes)
		for i := range probes {
			gaps[i] = 10
		}
		near(t, fmt.Sprintf("%d probes", probes), binaryEstimate(changed, gaps), .5/float64(10*probes+1), 1e-9)
	}
}

func TestBinaryFollowsARateThatChanged(t *testing.T) {
	for _, to := range []float64{.2, .002} {
		sum := 0.0
		const nodes = 100
		for seed := range uint64(nodes) {
			rng := rand.New(rand.NewPCG(seed, 89))
			before, gaps := looks(rng, .02, 20, 300)
			after, more := looks(rng, to, 20, 80)
			sum += binaryEstimate(append(before, after...), append(gaps, more...)) / nodes
		}
		t.Logf("from .02 to %g: mean %g after 80 probes", to, sum)
		if sum < .5*to || sum > 2*to {
			t.Errorf("from .02 to %g: mean %g after 80 probes", to, sum)
		}
	}
}

func TestBinaryTakesAnyCountForOneChange(t *testing.T) {
	for _, items := range []float64{1e-300, 1, 7, MaxNumber} {
		a, b := NewNode(DefaultParams(), 0), NewNode(DefaultParams(), 0)
		binary{}.Refresh(&a)
		binary{}.Refresh(&b)
		binary{}.Observe(&a, 1, 3, 3)
		binary{}.Observe(&b, items, 3, 3)
		near(t, fmt.Sprintf("%g items", items), b.Estimate, a.Estimate, 0)
	}
}

func TestBinaryStopsAtRateZeroAndStartsAgain(t *testing.T) {
	n := NewNode(DefaultParams(), 0)
	binary{}.Refresh(&n)
	binary{}.Observe(&n, 1, 3, 3)
	n.Probes++
	learnt := n.Estimate
	n.Rate = .25
	binary{}.Refresh(&n)
	near(t, "a new guess after a probe", n.Estimate, learnt, 0)
	n.Rate = 0
	binary{}.Refresh(&n)
	near(t, "rate 0", n.Estimate, 0, 0)
	binary{}.Observe(&n, 1, 3, 6)
	near(t, "rate 0 after a change", n.Estimate, 0, 0)
	n.Rate = .25
	binary{}.Refresh(&n)
	near(t, "started again", n.Estimate, .25, 0)
}

func TestLn1pIsTheLogarithm(t *testing.T) {
	for z := 0.0; z <= 1; z += 1.0 / 1024 {
		near(t, fmt.Sprintf("ln(1+%g)", z), ln1p(z), math.Log1p(z), 1e-15)
	}
}
