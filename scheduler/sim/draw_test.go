package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// moments draws often and compares mean and variance with those of the law,
// within five standard errors.
func moments(t *testing.T, name string, mean, variance float64, draw func() float64) {
	t.Helper()
	const n = 40000 / testscale.By
	sum, squares := 0.0, 0.0
	for range n {
		d := draw() - mean
		sum += d
		squares += d * d
	}
	// The fourth moment of these laws is near that of the normal one, plus
	// that of a single rare event.
	errMean, errVariance := math.Sqrt(variance/n), math.Sqrt((2*variance*variance+variance)/n)
	if got := sum / n; math.Abs(got) > 5*errMean {
		t.Errorf("%s: mean is off by %g, want at most %g", name, got, 5*errMean)
	}
	if got := squares / n; math.Abs(got-variance) > 5*errVariance {
		t.Errorf("%s: variance %g, want %g +- %g", name, got, variance, 5*errVariance)
	}
}

func TestPoissonHasTheMomentsOfItsLaw(t *testing.T) {
	draws := rand.New(rand.NewPCG(1, 2))
	for _, mean := range []float64{0.01, 0.7, 5, 9.99, 10, 25, 400, 1e6, 1e8, 1e10} {
		moments(t, fmt.Sprintf("poisson(%g)", mean), mean, mean, func() float64 { return poisson(mean, draws) })
	}
	for _, mean := range []float64{0, -1, math.NaN()} {
		if got := poisson(mean, draws); got != 0 {
			t.Errorf("poisson(%g): got %g, want 0", mean, got)
		}
	}
}

func TestBinomialHasTheMomentsOfItsLaw(t *testing.T) {
	draws := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ n, p float64 }{{1, 0.3}, {10, 0.5}, {5, 0.99}, {1000, 0.001}, {30, 0.4}, {100, 0.9}, {1e6, 0.2}, {1e9, 1e-6}} {
		moments(t, fmt.Sprintf("binomial(%g, %g)", c.n, c.p), c.n*c.p, c.n*c.p*(1-c.p), func() float64 {
			k := binomial(c.n, c.p, draws)
			if k < 0 || k > c.n || k != math.Floor(k) {
				t.Fatalf("binomial(%g, %g): got %g", c.n, c.p, k)
			}
			return k
		})
	}
	if got := binomial(7, 1, draws); got != 7 {
		t.Errorf("binomial(7, 1): got %g, want 7", got)
	}
	if got := binomial(0, 0.5, draws) + binomial(7, 0, draws); got != 0 {
		t.Errorf("binomial of nothing: got %g, want 0", got)
	}
}

func TestRejectionAgreesWithTheLawPointByPoint(t *testing.T) {
	// The chi-squared statistic of 200,000 draws, with about forty cells: 80
	// is exceeded once in 10^4.
	draws := rand.New(rand.NewPCG(5, 6))
	const n = 200000
	for name, law := range map[string]struct {
		draw func() float64
		log  func(k float64) float64
	}{
		"poisson(30)": {func() float64 { return poisson(30, draws) },
			func(k float64) float64 { return k*math.Log(30) - 30 - factorial(k) }},
		"binomial(100, .35)": {func() float64 { return binomial(100, 0.35, draws) },
			func(k float64) float64 {
				return factorial(100) - factorial(k) - factorial(100-k) + k*math.Log(0.35) + (100-k)*math.Log(0.65)
			}},
	} {
		seen := map[float64]float64{}
		for range n {
			seen[law.draw()]++
		}
		chi := 0.0
		for k := 0.0; k <= 100; k++ {
			if want := n * math.Exp(law.log(k)); want > 5 {
				chi += (seen[k] - want) * (seen[k] - want) / want
			}
		}
		if chi > 80 {
			t.Errorf("%s: chi-squared is %g, want at most 80", name, chi)
		}
	}
}

func TestGeometricAgesHaveTheirMean(t *testing.T) {
	draws := rand.New(rand.NewPCG(7, 8))
	for _, mean := range []float64{1.5, 20, 1e5} {
		moments(t, fmt.Sprintf("geometric(%g)", mean), mean, mean*(mean-1), func() float64 { return geometric(mean, draws) })
	}
	if got := geometric(1, draws); got != 1 {
		t.Errorf("geometric(1): got %g, want 1", got)
	}
}
