package scheduler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// picksOf gives the picks of each step under known rates.
func picksOf(t *testing.T, policy string, nodes []Params, rates []float64, c int, steps int64) (Outcome, [][]int) {
	t.Helper()
	var picks [][]int
	tr := Trial{Policy: policyNamed(t, policy), Estimator: estimatorNamed(t, "fixed"), Nodes: nodes, Rates: rates,
		Probes: c, Each: func(_ int64, p []int) { picks = append(picks, slices.Clone(p)) }}
	return tr.Run(steps, steps), picks
}

func TestIndexAgreesWithKnownAnswers(t *testing.T) {
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		if part[0] != "whittle_probe" {
			continue
		}
		rates := vector(t, part[1])
		// 2520 is a multiple of every period up to ten.
		out, picks := picksOf(t, "index", nodesOf(rates), rates, 1, 2520*4)
		near(t, name, out.Cost, a.number(t), a.Rtol)
		for i, want := range a.Picks {
			if !slices.Equal(picks[i], want) {
				t.Errorf("%s: step %d picks %v, want %v", name, i+1, picks[i], want)
			}
		}
	}
}

func TestIndexCostsAtMostTwoPercentOverLB3(t *testing.T) {
	for _, name := range testscale.Some([]string{"pow2_20", "pow2_10", "zipf1_100", "uniform_100", "zipf2_1000"}) {
		for _, c := range []int{1, 3} {
			rates := vector(t, name)
			out, _ := picksOf(t, "index", nodesOf(rates), rates, c, 20000)
			ratio := out.Cost / LB3(rates, c)
			t.Logf("%s c=%d: %.5f x LB3", name, c, ratio)
			if ratio > 1.02 || ratio < 0.99 {
				t.Errorf("%s c=%d: index costs %.5f x LB3, want at most 1.02", name, c, ratio)
			}
		}
	}
}

func TestWhittleEarnsTheOptimumOfTableI(t *testing.T) {
	cases := known(t)
	for _, tc := range []struct {
		name     string
		weighted bool
		c        int
	}{
		{"table1/whittle_reward/N0=1", false, 1},
		{"table1_w/whittle_reward/N0=1", true, 1},
		{"table1_w/whittle_reward/N0=3", true, 3},
	} {
		a := cases[tc.name]
		nodes, _ := table1(tc.weighted)
		out, picks := picksOf(t, "whittle", nodes, make([]float64, 4), tc.c, 2400)
		near(t, tc.name, out.Reward, a.number(t), a.Rtol)
		cycle := picks[len(picks)-a.Cycle:]
		if !rotation(cycle, a.Acts) {
			t.Errorf("%s: cycle %v, want %v", tc.name, cycle, a.Acts)
		}
	}
	near(t, "471.3825", cases["table1/optimum/N0=1"].number(t), 471.3825, 1e-6)
}

// rotation says whether b is a, begun elsewhere, up to the order in a step.
func rotation(a, b [][]int) bool {
	sorted := func(s [][]int) [][]int {
		var out [][]int
		for _, p := range s {
			p = slices.Clone(p)
			slices.Sort(p)
			out = append(out, p)
		}
		return out
	}
	a, b = sorted(a), sorted(b)
	for i := range a {
		if reflect.DeepEqual(append(slices.Clone(a[i:]), a[:i]...), b) {
			return true
		}
	}
	return false
}

func TestMemorylessProbabilitiesAgreeWithKnownAnswers(t *testing.T) {
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		if part[0] != "memoryless_probs_head" {
			continue
		}
		nearAll(t, name, probabilities(t, vector(t, part[1])), a.list(t), a.Rtol)
	}
}

// probabilities are the memoryless draw probabilities at given estimates.
func probabilities(t *testing.T, rates []float64) []float64 {
	t.Helper()
	table, p := tableOf(rates), policyNamed(t, "memoryless").New()
	p.Attach(table)
	var probs []float64
	for slot := range rates {
		probs = append(probs, p.Value(slot, 1))
	}
	return probs
}

func tableOf(rates []float64) *Table {
	table := new(Table)
	for slot, p := range nodesOf(rates) {
		Enter(table, fixed{}, slot, p, 0)
	}
	return table
}

// script is a Source that gives the numbers of a list.
type script []float64

func (s *script) Float64() float64 {
	u := (*s)[0]
	*s = (*s)[1:]
	return u
}

func TestAdaptiveDrawsAgreeWithKnownAnswers(t *testing.T) {
	cases := known(t)
	probs, draws := cases["adaptive_trace/probs"], cases["adaptive_trace/draws"]
	want := probs.list(t)
	// Algorithm 1 draws from roots of the estimates, so squares give the p.
	estimates := make([]float64, len(want))
	for i, p := range want {
		estimates[i] = p * p
	}
	nearAll(t, "adaptive_trace/probs", probabilities(t, estimates), want, 1e-9)
	policy := policyNamed(t, "adaptive").New()
	policy.Attach(tableOf(estimates))
	for i, slot := range draws.list(t) {
		u := script{draws.U[i]}
		got := policy.Pick(nil, 1, 1, &u)
		if !slices.Equal(got, []int{int(slot)}) {
			t.Errorf("draw %g: got %v, want %d", draws.U[i], got, int(slot))
		}
	}
}

func TestMemorylessMeasuredCostAgreesWithTheory(t *testing.T) {
	for name, a := range known(t) {
		part := strings.Split(name, "/")
		if part[0] != "mc_memoryless" {
			continue
		}
		var c int
		if _, err := fmt.Sscanf(part[2], "c=%d", &c); err != nil {
			t.Fatal(err)
		}
		rates := vector(t, part[1])
		near(t, name, MemorylessCost(rates, c), a.Theory, 1e-9)
		tr := Trial{Policy: policyNamed(t, "memoryless"), Estimator: estimatorNamed(t, "fixed"), Nodes: nodesOf(rates),
			Rates: rates, Probes: c, Draws: rand.New(rand.NewPCG(5, 6))}
		cost := tr.Run(2000, 200000).Cost
		if d := cost - a.Theory; d > 4*a.Stderr || d < -4*a.Stderr {
			t.Errorf("%s: measured %g, want %g within %g", name, cost, a.Theory, 4*a.Stderr)
		}
	}
}

func TestAdaptiveConvergesToMemoryless(t *testing.T) {
	a := known(t)["mc_adaptive/pow2_10/steps 20k..100k"]
	rates := vector(t, "pow2_10")
	nodes := make([]Params, len(rates))
	for i := range nodes {
		nodes[i] = DefaultParams()
	}
	spec := policyNamed(t, "adaptive")
	tr := Trial{Policy: spec, Estimator: estimatorNamed(t, spec.Estimator), Nodes: nodes, Rates: rates, Probes: 1,
		Items: Bernoulli, Draws: rand.New(rand.NewPCG(7, 8))}
	cost := tr.Run(20000, 80000).Cost
	if d := cost - a.Theory; d > 4*a.Stderr || d < -4*a.Stderr {
		t.Errorf("adaptive costs %g after 20000 steps, want %g within %g", cost, a.Theory, 4*a.Stderr)
	}
}

func TestIndexWithChangeComesNearLB3WhenRatesAreUnknown(t *testing.T) {
	rates := vector(t, "zipf1_100")
	nodes := make([]Params, len(rates))
	for i := range nodes {
		nodes[i] = DefaultParams()
	}
	tr := Trial{Policy: policyNamed(t, "index"), Estimator: estimatorNamed(t, "change"), Nodes: nodes, Rates: rates,
		Probes: 1, Items: Poisson, Draws: rand.New(rand.NewPCG(9, 10))}
	ratio := tr.Run(30000, 30000).Cost / LB3(rates, 1)
	t.Logf("%.4f x LB3", ratio)
	if ratio > 1.02 {
		t.Errorf("index with estimator change costs %.4f x LB3 after 300 probes a node, want at most 1.02", ratio)
	}
}

func TestRateZeroAndHiddenNodesAreNeverPicked(t *testing.T) {
	for _, spec := range Policies() {
		table := tableOf([]float64{0, .5, .3, 0, .2})
		for slot := range 5 {
			n := table.Node(slot)
			n.Decay = .1
			table.Store(slot, &n)
		}
		table.Hide(2, true)
		p := spec.New()
		p.Attach(table)
		rng := rand.New(rand.NewPCG(11, 12))
		for step := int64(1); step < 50; step++ {
			for _, slot := range p.Pick(nil, step, 5, rng) {
				if slot != 1 && slot != 4 {
					t.Fatalf("%s picks slot %d", spec.Name, slot)
				}
			}
		}
		table.Hide(1, true)
		table.Hide(4, true)
		p.Touch(1)
		p.Touch(4)
		if got := p.Pick(nil, 60, 5, rng); len(got) != 0 {
			t.Errorf("%s picks %v though all is hidden", spec.Name, got)
		}
	}
}

func TestTouchedPolicyEqualsFreshlyAttached(t *testing.T) {
	const seed = 13
	for _, spec := range Policies() {
		rng := rand.New(rand.NewPCG(seed, 1))
		table, p := new(Table), spec.New()
		p.Attach(table)
		for step := int64(1); step < 400; step++ {
			slot := table.Free()
			switch at := rng.IntN(table.Len() + 1); {
			case table.Has(at) && rng.IntN(4) == 0:
				table.Hide(at, !table.Hidden(at))
				for s := table.After(0); s >= 0; s = table.After(s + 1) {
					p.Touch(s)
				}
			case table.Live() > 0 && rng.IntN(4) == 0:
				slot = table.After(rng.IntN(table.Len()))
				table.Remove(slot)
				p.Touch(slot)
			default:
				node := NewNode(DefaultParams(), step-1)
				node.Decay, node.Estimate = .1, rng.Float64()
				table.Put(slot, node)
				p.Touch(slot)
			}
			fresh := spec.New()
			fresh.Attach(table)
			a := p.Pick(nil, step, 3, rand.New(rand.NewPCG(2, uint64(step))))
			b := fresh.Pick(nil, step, 3, rand.New(rand.NewPCG(2, uint64(step))))
			if !slices.Equal(a, b) {
				t.Fatalf("%s seed %d step %d: told picks %v, fresh %v", spec.Name, seed, step, a, b)
			}
		}
	}
}

func TestRankingPicksAsASortWould(t *testing.T) {
	const seed = 17
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range 100 {
		rates := make([]float64, 1+rng.IntN(200))
		for i := range rates {
			rates[i] = float64(rng.IntN(6)) / 4 // many ties and zeros
		}
		p := policyNamed(t, "index").New()
		p.Attach(tableOf(rates))
		var want []int
		for i, r := range rates {
			if r > 0 {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return int(4*rates[b]) - int(4*rates[a]) })
		count := 1 + rng.IntN(20)
		if got := p.Pick(nil, 3, count, nil); !slices.Equal(got, want[:min(count, len(want))]) {
			t.Fatalf("round %d seed %d: got %v, want %v", round, seed, got, want[:min(count, len(want))])
		}
	}
}

func TestNamesAndNumbersOfPoliciesAndEstimatorsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Policies() {
		if _, err := EstimatorNamed(p.Estimator); err != nil {
			t.Errorf("%s: default estimator: %v", p.Name, err)
		}
		if got, err := PolicyNumbered(p.Number); err != nil || got.Name != p.Name {
			t.Errorf("policy %d: got %s, %v", p.Number, got.Name, err)
		}
		if seen[p.Name] {
			t.Errorf("policy %s twice", p.Name)
		}
		seen[p.Name] = true
	}
	for _, e := range Estimators() {
		if got, err := EstimatorNumbered(e.Number); err != nil || got.Name != e.Name {
			t.Errorf("estimator %d: got %s, %v", e.Number, got.Name, err)
		}
	}
	if _, err := PolicyNamed("nonsense"); !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), "index") {
		t.Errorf("unknown policy: %v", err)
	}
	if _, err := EstimatorNamed(""); !errors.Is(err, ErrEstimator) {
		t.Errorf("unknown estimator: %v", err)
	}
}

func TestExploreTakesOnlyShownNodesOnce(t *testing.T) {
	table := tableOf([]float64{1, 1, 1, 1, 1, 1})
	table.Remove(3)
	table.Hide(2, true)
	got := Explore([]int{0}, table, 10, rand.New(rand.NewPCG(1, 1)))
	slices.Sort(got)
	if !slices.Equal(got, []int{0, 1, 4, 5}) {
		t.Errorf("got %v", got)
	}
	if got := Explore(nil, new(Table), 3, rand.New(rand.NewPCG(1, 1))); len(got) != 0 {
		t.Errorf("empty table: %v", got)
	}
}

func TestManyDrawsAreDistinct(t *testing.T) {
	rates := make([]float64, 3000)
	for i := range rates {
		rates[i] = 1
	}
	table := tableOf(rates)
	p := policyNamed(t, "memoryless").New()
	p.Attach(table)
	rng := rand.New(rand.NewPCG(3, 3))
	got := Explore(p.Pick(nil, 1, 1000, rng), table, 1000, rng)
	// 1000 draws from 3000 hit 3000 (1 - exp(-1/3)) nodes on average.
	if len(got) < 1750 || len(got) > 1950 {
		t.Errorf("%d nodes", len(got))
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != len(got) {
		t.Error("a node was picked twice")
	}
}
