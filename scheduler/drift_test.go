package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// moving measures a policy while rates change: the cost between two steps
// over the mean LB3 of the rates then. change is called before each step.
func moving(t *testing.T, policy, estimator string, rates []float64, seed uint64, from, to int64,
	change func(step int64, rates []float64)) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	table, p, est := new(Table), policyNamed(t, policy).New(), estimatorNamed(t, estimator).New(DefaultWindow)
	for slot := range rates {
		Enter(table, est, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	queues := make([]float64, len(rates)) // items that wait, in expectation
	cost, bound, bounds := 0.0, 0.0, 0
	var picks []int
	for step := int64(1); step <= to; step++ {
		change(step, rates)
		if step > from && step%1000 == 0 {
			bound += LB3(rates, 1)
			bounds++
		}
		for i, r := range rates {
			queues[i] += r
			if step > from {
				cost += queues[i]
			}
		}
		picks = p.Pick(picks[:0], step, 1, rng)
		for _, slot := range picks {
			Observe(table, p, est, slot, Poisson(queues[slot], 1, rng), step)
			queues[slot] = 0
		}
	}
	return cost / float64(to-from) / (bound / float64(bounds))
}

func TestChangeRecoversSoonFromAPermutationOfAllRates(t *testing.T) {
	const t0 = 30000
	for seed := uint64(1); seed <= testscale.Rounds(uint64(3)); seed++ {
		permute := func(step int64, rates []float64) {
			if step == t0 {
				rand.New(rand.NewPCG(seed, 9)).Shuffle(len(rates), func(i, j int) { rates[i], rates[j] = rates[j], rates[i] })
			}
		}
		got := moving(t, "index", "change", vector(t, "zipf1_100"), seed, t0+t0/2, 2*t0, permute)
		t.Logf("seed %d: change %.4f x LB3", seed, got)
		if got > 1.05 {
			t.Errorf("seed %d: change costs %.4f x LB3 from T0/2 to T0 after the permutation, want at most 1.05", seed, got)
		}
	}
}

func TestPaperEstimatorRecoversOnlyInTheTimeItRan(t *testing.T) {
	const t0 = 30000
	permute := func(step int64, rates []float64) {
		if step == t0 {
			rand.New(rand.NewPCG(1, 9)).Shuffle(len(rates), func(i, j int) { rates[i], rates[j] = rates[j], rates[i] })
		}
	}
	got := moving(t, "index", "paper", vector(t, "zipf1_100"), 1, t0+t0/2, 2*t0, permute)
	t.Logf("paper %.4f x LB3", got)
	if got < 1.1 {
		t.Errorf("paper costs %.4f x LB3: the warning in the documentation is out of date", got)
	}
}

func TestChangeFollowsRatesThatDrift(t *testing.T) {
	const period = 40000 // each rate goes up and down by a factor of 3 in it
	start := vector(t, "zipf1_100")
	drift := func(step int64, rates []float64) {
		if step%100 != 0 {
			return
		}
		for i := range rates {
			phase := float64(step)/period + float64(i*37%100)/100
			rates[i] = start[i] * math.Pow(3, math.Sin(2*math.Pi*phase))
		}
	}
	got := moving(t, "index", "change", vector(t, "zipf1_100"), 1, 20000, 60000, drift)
	t.Logf("change %.4f x LB3", got)
	if got > 1.05 {
		t.Errorf("change costs %.4f x LB3 under drift, want at most 1.05", got)
	}
}
