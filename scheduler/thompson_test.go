package scheduler

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// season is a world of ephemeral content for policies that learn: the true
// models are not in the table.
type season struct {
	models []Interest
	probes int
	// noisy rewards are those of Poisson arrivals; others are their means.
	noisy bool
}

// reward draws what a probe of a model at an age earns.
func (w *season) reward(m Interest, age int64, draws *rand.Rand) float64 {
	if !w.noisy {
		return m.Reward(age)
	}
	sum := 0.0
	for range int(Poisson(m.Arrival, age, draws)) {
		sum += m.Weight * math.Exp(-m.Decay*draws.Float64()*float64(age))
	}
	return sum
}

// play runs a policy and returns the expected interest collected in each step.
func (w *season) play(t testing.TB, policy string, steps int64, seed uint64) []float64 {
	t.Helper()
	spec, draws := policyNamed(t, policy), rand.New(rand.NewPCG(seed, 77))
	table, est, p := new(Table), estimatorNamed(t, "fixed").New(0), spec.New()
	for slot, m := range w.models {
		params := DefaultParams()
		params.Weight, params.Cost, params.MaxAge = m.Weight, m.Cost, m.MaxAge
		if policy == "whittle" || policy == "lspe" {
			params.Decay, params.Arrival = m.Decay, m.Arrival
		}
		Enter(table, est, slot, params, 0)
	}
	p.Attach(table)
	earned := make([]float64, steps)
	var picks []int
	for step := int64(1); step <= steps; step++ {
		picks = p.Pick(picks[:0], step, w.probes, draws)
		for _, slot := range picks {
			n := table.Node(slot)
			gap := n.Age(step)
			earned[step-1] += w.models[slot].Reward(gap)
			Observe(table, p, est, slot, w.reward(w.models[slot], gap, draws), step)
		}
	}
	return earned
}

func totalOf(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum
}

// share is what a learner earned in some steps over what whittle, which knows
// the parameters, earned in them.
func (w *season) share(t testing.TB, policy string, steps int64, seed uint64) float64 {
	t.Helper()
	return totalOf(w.play(t, policy, steps, seed)) / totalOf(w.play(t, "whittle", steps, seed))
}

// scattered is n nodes with lambda in [.5, 5), c log-uniform in [.02, .5) and
// weights in [.2, 1).
func scattered(n int, seed uint64) []Interest {
	draws := rand.New(rand.NewPCG(seed, 40))
	models := make([]Interest, n)
	for i := range models {
		models[i] = Interest{Weight: .2 + .8*draws.Float64(), Arrival: .5 + 4.5*draws.Float64(),
			Decay: .02 * math.Pow(25, draws.Float64()), Cost: 1}
	}
	return models
}

func TestThompsonEarnsNearlyWhatFullKnowledgeDoes(t *testing.T) {
	// Seeds 1 to 10 were used to choose the constants of the policy, so others
	// are used here.
	const first, seeds = 101, 10 / testscale.By
	_, weighted := table1(true)
	_, plain := table1(false)
	slow := make([]Interest, 4)
	for i, m := range weighted {
		m.Arrival = 2.5
		slow[i] = m
	}
	for _, tc := range []struct {
		name  string
		world func(seed uint64) season
		least float64 // mean over the seeds
	}{
		{"weighted Table I", func(uint64) season { return season{weighted, 1, false} }, .995},
		{"weighted Table I, noisy", func(uint64) season { return season{weighted, 1, true} }, .995},
		{"Table I, noisy", func(uint64) season { return season{plain, 1, true} }, .995},
		{"lambda 2.5, noisy", func(uint64) season { return season{slow, 1, true} }, .97},
		{"40 nodes, 2 crawlers", func(s uint64) season { return season{scattered(40, s), 2, false} }, .97},
		{"40 nodes, 2 crawlers, noisy", func(s uint64) season { return season{scattered(40, s), 2, true} }, .97},
	} {
		sum, worst := 0.0, 1.0
		for seed := uint64(first); seed < first+seeds; seed++ {
			w := tc.world(seed)
			share := w.share(t, "thompson", 2000, seed)
			sum += share
			worst = min(worst, share)
		}
		t.Logf("%s: mean %.4f, worst of %d seeds %.4f", tc.name, sum/seeds, seeds, worst)
		if sum/seeds < tc.least {
			t.Errorf("%s: share %.4f of full knowledge, want at least %g", tc.name, sum/seeds, tc.least)
		}
	}
}

// BenchmarkThompsonLearn is the learning of one probe, in noise, at a node that
// has been probed at many ages.
func BenchmarkThompsonLearn(b *testing.B) {
	table, p := new(Table), thompsonPolicy.New()
	Enter(table, fixed{}, 0, DefaultParams(), 0)
	p.Attach(table)
	rng := rand.New(rand.NewPCG(1, 1))
	m := Interest{1, 2.5, .3, 1, 0}
	b.ReportAllocs()
	for b.Loop() {
		a := 1 + rng.Int64N(9)
		p.Learn(0, a, m.Reward(a)*(.5+rng.Float64()))
	}
}
