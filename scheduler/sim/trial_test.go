package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures/testscale"
)

func policy(t testing.TB, name string) scheduler.PolicySpec {
	t.Helper()
	p, err := scheduler.PolicyNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func estimator(t testing.TB, name string) scheduler.EstimatorSpec {
	t.Helper()
	e, err := scheduler.EstimatorNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// nodes are nodes of given rates.
func nodes(rates ...float64) []scheduler.Params {
	out := make([]scheduler.Params, len(rates))
	for i, r := range rates {
		out[i] = scheduler.DefaultParams()
		out[i].Rate = r
	}
	return out
}

// unknown hides the rates and the ephemeral parameters of nodes.
func unknown(truth []scheduler.Params) []scheduler.Params {
	out := make([]scheduler.Params, len(truth))
	for i, p := range truth {
		p.Rate, p.Arrival, p.Decay = scheduler.Unknown, scheduler.Unknown, 0
		out[i] = p
	}
	return out
}

func pow2(n int) []float64 {
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = math.Pow(2, -float64(i+1))
	}
	return rates
}

func zipf(n int) []float64 {
	rates, sum := make([]float64, n), 0.0
	for i := range rates {
		rates[i] = 1 / float64(i+1)
		sum += rates[i]
	}
	for i := range rates {
		rates[i] /= sum
	}
	return rates
}

func tableI(weights ...float64) []scheduler.Params {
	lambda, decay := []float64{250, 250, 250, 250}, []float64{0.7, 0.35, 0.7, 0.21}
	out := make([]scheduler.Params, 4)
	for i := range out {
		out[i] = scheduler.DefaultParams()
		out[i].Arrival, out[i].Decay = lambda[i], decay[i]
		if weights != nil {
			out[i].Weight = weights[i]
		}
	}
	return out
}

func play(t testing.TB, trial Trial) Outcome {
	t.Helper()
	if trial.Probes == 0 {
		trial.Probes = 1
	}
	out, err := trial.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func boundsOf(t testing.TB, m Model, truth []scheduler.Params, probes int) Bounds {
	t.Helper()
	b, err := BoundsOf(context.Background(), m, truth, probes)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if !(math.Abs(got-want) <= part*math.Abs(want)) {
		t.Errorf("%s: got %.9g, want %.9g within %g", what, got, want, part)
	}
}

func TestIndexCostsWhatItsCycleCosts(t *testing.T) {
	// The rates of "mixed_3": the cycle has 6 steps, whoever starts it.
	for _, items := range []Items{Mean, Bernoulli, Poisson} {
		out := play(t, Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: nodes(0.9, 0.5, 0.1),
			Items: items, Warm: 2520, Steps: 2520})
		within(t, "index on (.9, .5, .1)", out.Value, 2.8, 1e-9)
		if out.Probes != 2520 {
			t.Errorf("probes: got %d, want 2520", out.Probes)
		}
	}
}

func TestMemorylessCostsWhatTheoremThreeSays(t *testing.T) {
	rates := pow2(10)
	for _, c := range []int{1, 3} {
		for _, steady := range []bool{false, true} {
			warm := int64(20000)
			if steady {
				warm = 0
			}
			out := play(t, Trial{Policy: policy(t, "memoryless"), Estimator: estimator(t, "fixed"), Told: nodes(rates...),
				Probes: c, Seed: 1, Steady: steady, Warm: warm, Steps: 200000 / testscale.By})
			// Its standard error is about half a percent: scheduler/known_test.go.
			within(t, "memoryless on 2^-1..2^-10", out.Value, scheduler.MemorylessCost(rates, c), 0.025)
		}
	}
}

// The figures are of other simulations, that drew every item: known answers
// mc_memoryless and mc_adaptive, each with its standard error.
func TestSimulatedCostsAgreeWithOtherSimulations(t *testing.T) {
	for _, c := range []struct {
		policy      string
		rates       []float64
		probes      int
		items       Items
		warm, steps int64
		want, err   float64
	}{
		{"memoryless", pow2(10), 1, Bernoulli, 0, 200000, 5.47575625, 0.027688},
		{"memoryless", zipf(100), 3, Poisson, 1000, 60000, 22.423604, 0.149971},
		{"adaptive", pow2(10), 1, Bernoulli, 20000, 80000, 5.4397375, 0.041394},
	} {
		spec, est := policy(t, c.policy), "fixed"
		told := nodes(c.rates...)
		if c.policy == "adaptive" {
			est, told = "paper", unknown(told)
		}
		out := play(t, Trial{Policy: spec, Estimator: estimator(t, est), Told: told, Truth: nodes(c.rates...), Probes: c.probes,
			Items: c.items, Seed: 1, Warm: c.warm, Steps: c.steps})
		// Ours has an error of its own, no greater than theirs.
		if math.Abs(out.Value-c.want) > 4*math.Sqrt2*c.err {
			t.Errorf("%s: got %g, want %g +- %g", c.policy, out.Value, c.want, c.err)
		}
	}
}

func TestThompsonComesNearFullKnowledge(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		truth := tableI(1, 0.7, 0.4, 0.3)
		out := play(t, Trial{Policy: policy(t, "thompson"), Estimator: estimator(t, "fixed"), Model: Interest, Told: unknown(truth),
			Truth: truth, Seed: seed, Warm: 1000, Steps: 1000})
		t.Logf("seed %d: %.4f of full knowledge from step 1000 to 2000", seed, out.Value/282.8253)
		if out.Value < 0.995*282.8253 {
			t.Errorf("seed %d: thompson earns %g, want 99.5 %% of 282.8253", seed, out.Value)
		}
	}
}

func TestFreshPagesAreCountedWhileTheyAreFresh(t *testing.T) {
	// One page probed every step: x(1) = (1 - exp(-D))/D of each step it is
	// fresh. Two of them take turns: x(2)/2 each.
	pages := nodes(0.5, 0.5)
	one := play(t, Trial{Policy: policy(t, "roundrobin"), Estimator: estimator(t, "fixed"), Model: Freshness, Told: pages[:1], Warm: 10, Steps: 100})
	within(t, "one page", one.Value, (1-math.Exp(-0.5))/0.5, 1e-9)
	two := play(t, Trial{Policy: policy(t, "roundrobin"), Estimator: estimator(t, "fixed"), Model: Freshness, Told: pages, Warm: 10, Steps: 100})
	within(t, "two pages", two.Value, (1-math.Exp(-1))/0.5, 1e-9)
	if b := boundsOf(t, Freshness, pages, 1); two.Value > b.Reward*(1+1e-9) {
		t.Errorf("two pages are fresh %g, more than the bound %g", two.Value, b.Reward)
	}
}

func TestContentWithoutDecayIsCollectedWhole(t *testing.T) {
	told := nodes(1, 2, 3)
	for i := range told {
		told[i].Arrival = told[i].Rate
	}
	for _, steady := range []bool{false, true} {
		out := play(t, Trial{Policy: policy(t, "whittle"), Estimator: estimator(t, "fixed"), Model: Interest, Told: told,
			Steady: steady, Warm: 1000, Steps: 10000})
		within(t, "whittle without decay", out.Value, 6, 1e-3)
		within(t, "its bound", boundsOf(t, Interest, told, 1).Reward, 6, 1e-6)
	}
}

func TestWeightsAndCostsScaleTheQueues(t *testing.T) {
	told := nodes(0.9, 0.25, 0.2)
	told[1].Weight = 2
	told[2].Cost = 2
	out := play(t, Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: told, Warm: 2520, Steps: 2520})
	within(t, "weighted index", out.Value, 2.8, 1e-9)
	if b := boundsOf(t, Queues, told, 1); !(b.LB1 <= b.LB3 && b.LB3 <= out.Value) {
		t.Errorf("bounds %+v are not in order below %g", b, out.Value)
	}
}

func TestWhittleEarnsTheOptimaOfTableI(t *testing.T) {
	for _, c := range []struct {
		want    float64
		weights []float64
	}{{471.3825, nil}, {282.8253, []float64{1, 0.7, 0.4, 0.3}}} {
		for _, items := range []Items{Mean, Poisson} {
			out := play(t, Trial{Policy: policy(t, "whittle"), Estimator: estimator(t, "fixed"), Model: Interest,
				Told: tableI(c.weights...), Items: items, Warm: 2400, Steps: 2400})
			within(t, "whittle on Table I", out.Value, c.want, 1e-6)
			if b := boundsOf(t, Interest, tableI(c.weights...), 1); out.Value > b.Reward*(1+1e-9) {
				t.Errorf("whittle earns %g, more than the bound %g", out.Value, b.Reward)
			}
		}
	}
}

// The rows of Table I beside the optimum. Round robin visits equal nodes in
// turn; "random" probes a node drawn uniformly.
func TestOtherRowsOfTableI(t *testing.T) {
	for _, c := range []struct {
		row     string
		policy  string
		explore float64
		weights []float64
		want    float64
		tol     float64
	}{
		{"round robin", "roundrobin", 0, nil, 471.3825, 1e-6},
		{"round robin, weighted", "roundrobin", 0, []float64{1, 0.7, 0.4, 0.3}, 262.31425, 1e-6},
		{"greedy", "greedy", 0, nil, 383.92976, 1e-6},
		{"greedy, weighted", "greedy", 0, []float64{1, 0.7, 0.4, 0.3}, 279.29595, 1e-4},
		{"random", "memoryless", 1, nil, 398.8811, 0.01},
		{"random, weighted", "memoryless", 1, []float64{1, 0.7, 0.4, 0.3}, 221.70163, 0.01},
	} {
		out := play(t, Trial{Policy: policy(t, c.policy), Estimator: estimator(t, "fixed"), Model: Interest,
			Told: tableI(c.weights...), Explore: c.explore, Items: Mean, Seed: 3, Warm: 400, Steps: 40000})
		within(t, c.row, out.Value, c.want, c.tol)
	}
}

func TestInterestFoundHasItsMeanAndVariance(t *testing.T) {
	draws := rand.New(rand.NewPCG(9, 1))
	for _, p := range []scheduler.Params{
		{Weight: 1, Decay: 0.7}, {Weight: 0.4, Decay: 0.05}, {Weight: 2, Decay: 0.3, MaxAge: 3}, {Weight: 3},
	} {
		for _, rate := range []float64{2.5, 250, 1e5} {
			const age = 7
			m := scheduler.Interest{Weight: p.Weight, Arrival: rate, Decay: p.Decay, Cost: 1, MaxAge: p.MaxAge}
			span := float64(age)
			if p.MaxAge > 0 {
				span = min(span, float64(p.MaxAge))
			}
			variance := p.Weight * p.Weight * rate * span
			if p.Decay > 0 {
				variance = p.Weight * p.Weight * rate * -math.Expm1(-2*p.Decay*span) / (2 * p.Decay)
			}
			moments(t, "interest", m.Reward(age)/p.Weight, variance/p.Weight/p.Weight, func() float64 {
				return Poisson.interest(&p, rate, age, draws) / p.Weight
			})
		}
	}
}

func TestSteadyStartAgreesWithALongRun(t *testing.T) {
	rates := zipf(1000)
	long := play(t, Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: nodes(rates...), Warm: 20000, Steps: 20000})
	short := play(t, Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: nodes(rates...), Seed: 5, Steady: true, Steps: 500})
	within(t, "index from the steady state", short.Value, long.Value, 0.05)
	within(t, "index", long.Value, boundsOf(t, Queues, nodes(rates...), 1).LB3, 1e-3)
	interest := play(t, Trial{Policy: policy(t, "whittle"), Estimator: estimator(t, "fixed"), Model: Interest,
		Told: manyEphemeral(500), Probes: 20, Seed: 5, Steady: true, Steps: 100})
	within(t, "whittle from the steady state", interest.Value, boundsOf(t, Interest, manyEphemeral(500), 20).Reward, 0.05)
}

func manyEphemeral(n int) []scheduler.Params {
	draws := rand.New(rand.NewPCG(4, 4))
	out := make([]scheduler.Params, n)
	for i := range out {
		out[i] = scheduler.DefaultParams()
		out[i].Arrival, out[i].Decay = 1+9*draws.Float64(), 0.01+0.2*draws.Float64()
	}
	return out
}

func TestChangeFollowsPermutedAndDriftingRates(t *testing.T) {
	rates := zipf(100)
	for seed := uint64(1); seed <= 3; seed++ {
		base := Trial{Policy: policy(t, "index"), Estimator: estimator(t, "change"), Truth: nodes(rates...),
			Told: unknown(nodes(rates...)), Items: Poisson, Seed: seed}
		permuted := base
		permuted.Change.PermuteAt, permuted.Warm, permuted.Steps = 30000, 45000, 15000
		out := play(t, permuted)
		t.Logf("seed %d: %.4f x LB3 from T0/2 to T0 after all rates were permuted", seed, out.Value/out.Bound)
		if ratio := out.Value / out.Bound; ratio > 1.05 || ratio < 0.95 {
			t.Errorf("seed %d: permuted rates cost %.4f x LB3, want at most 1.05", seed, ratio)
		}
		drifting := base
		// The logarithm spreads by .7, half of it forgotten in 14,000 steps.
		drifting.Change = Change{Drift: 0.7 * math.Sqrt(2*5e-5), Revert: 5e-5}
		drifting.Warm, drifting.Steps = 20000, 40000
		out = play(t, drifting)
		t.Logf("seed %d: %.4f x LB3 while rates drift", seed, out.Value/out.Bound)
		if ratio := out.Value / out.Bound; ratio > 1.06 || ratio < 0.95 {
			t.Errorf("seed %d: drifting rates cost %.4f x LB3, want at most 1.06", seed, ratio)
		}
	}
}

func TestDriftSpreadsAsFarAsItSays(t *testing.T) {
	trial := Trial{Truth: nodes(zipf(2000)...), Told: nodes(zipf(2000)...), Probes: 1, Change: Change{Drift: 0.05, Revert: 0.01, Every: 7}}
	w := newWorld(&trial)
	for step := int64(1); step <= 3000; step++ {
		w.tick(step, step)
	}
	sum, squares := 0.0, 0.0
	for _, away := range w.away {
		sum += away
		squares += away * away
	}
	n := float64(len(w.away))
	want := 0.05 / math.Sqrt(1-0.99*0.99)
	within(t, "spread", math.Sqrt(squares/n-sum/n*sum/n), want, 0.08)
	total := 0.0
	for _, r := range w.rates {
		total += r
	}
	within(t, "kept sum of the rates", w.perStep, total, 1e-9)
}

func TestQueuesAreEmptiedByWhatWasGenerated(t *testing.T) {
	// Whatever changes, probing every node in every step costs the sum of the
	// rates of the step before.
	trial := Trial{Policy: policy(t, "index"), Estimator: estimator(t, "paper"), Told: unknown(nodes(pow2(6)...)), Truth: nodes(pow2(6)...),
		Probes: 6, Items: Bernoulli, Change: Change{PermuteAt: 500, Drift: 0.05, Revert: 0.01}, Steps: 1000, Points: 1000}
	r, err := trial.start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for begun := int64(1); begun <= 1000; begun++ {
		before := r.world.perStep
		r.play(begun)
		if math.Abs(r.cost-before) > 1e-9 {
			t.Fatalf("step %d costs %g, want %g", begun, r.cost, before)
		}
	}
}

func TestSameSeedSameOutcome(t *testing.T) {
	for _, spec := range scheduler.Policies() {
		run := func(seed uint64) Outcome {
			truth := tableI()
			for i := range truth {
				truth[i].Rate = 0.1 * float64(i+1)
				if ModelOf(&spec) == Freshness {
					truth[i].Arrival = scheduler.Unknown // the rate of changes is Rate
				}
			}
			return play(t, Trial{Policy: spec, Estimator: estimator(t, spec.Estimator), Model: ModelOf(&spec), Told: truth,
				Items: Poisson, Seed: seed, Explore: 0.1, Steps: 1000, Points: 7})
		}
		if a, b := run(1), run(1); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two runs of one seed differ: %+v and %+v", spec.Name, a, b)
		}
		if a, b := run(1), run(2); reflect.DeepEqual(a, b) {
			t.Errorf("%s: seed makes no difference", spec.Name)
		}
	}
}

func TestCurveAddsUpToTheWhole(t *testing.T) {
	trial := Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: nodes(pow2(5)...), Warm: 3, Steps: 1003, Points: 10}
	done := int64(0)
	trial.Progress = func(n int64) {
		if n <= done {
			t.Errorf("progress went from %d to %d", done, n)
		}
		done = n
	}
	out := play(t, trial)
	if done == 0 || len(out.Curve) != 10 || out.Curve[9].Step != 1006 {
		t.Fatalf("progress %d, curve %v", done, out.Curve)
	}
	sum, begin := 0.0, int64(3)
	for _, p := range out.Curve {
		sum += p.Value * float64(p.Step-begin)
		begin = p.Step
	}
	within(t, "sum of the curve", sum/1003, out.Value, 1e-12)
}

func TestSenselessTrialsAreRefused(t *testing.T) {
	good := Trial{Policy: policy(t, "index"), Estimator: estimator(t, "fixed"), Told: nodes(0.5, 0.25), Probes: 1, Steps: 10}
	for name, spoil := range map[string]func(*Trial){
		"no probes":     func(t *Trial) { t.Probes = 0 },
		"no steps":      func(t *Trial) { t.Steps = 0 },
		"negative warm": func(t *Trial) { t.Warm = -1 },
		"other truth":   func(t *Trial) { t.Truth = nodes(1) },
		"nan":           func(t *Trial) { t.Told = nodes(math.NaN(), 1) },
		"no cost":       func(t *Trial) { t.Told = []scheduler.Params{{Rate: 1, Weight: 1}} },
	} {
		trial := good
		spoil(&trial)
		if _, err := trial.Run(context.Background()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Nothing to do is no error: no nodes, or none that is ever scheduled.
	for _, told := range [][]scheduler.Params{nil, nodes(0, 0)} {
		for _, steady := range []bool{false, true} {
			for _, spec := range scheduler.Policies() {
				trial := good
				trial.Policy, trial.Told, trial.Steady, trial.Model = spec, told, steady, ModelOf(&spec)
				if out, err := trial.Run(context.Background()); err != nil || out.Value != 0 {
					t.Errorf("%s on %d nodes of rate 0: got %v, %v", spec.Name, len(told), out, err)
				}
			}
		}
	}
}

// BenchmarkTrial is one step of index in its steady state.
func BenchmarkTrial(b *testing.B) {
	for _, n := range []int{1000, 100000, 1000000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			trial := Trial{Policy: policy(b, "index"), Estimator: estimator(b, "fixed"), Told: nodes(zipf(n)...), Probes: 1,
				Items: Poisson, Steady: true, Steps: 1}
			r, err := trial.start(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			begun := int64(0)
			for b.Loop() {
				begun++
				r.play(begun)
			}
		})
	}
}
