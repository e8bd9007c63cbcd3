package schedule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/scheduler/sim"
	"github.com/vigildb/vigil/structures/testscale"
)

// rated makes a schedule of nodes with given rates.
func rated(t *testing.T, change func(*Config), nodes ...scheduler.Params) *Snapshot {
	t.Helper()
	c := DefaultConfig()
	c.Estimator, c.Seed = "fixed", 1
	change(&c)
	s := New(testKey)
	if err := s.Create(nil, c, 1); err != nil {
		t.Fatal(err)
	}
	for i, p := range nodes {
		if _, err := s.Add(nil, fmt.Appendf(nil, "node%d", i), p, 1); err != nil {
			t.Fatal(err)
		}
	}
	n, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ratesOf(rates ...float64) []scheduler.Params {
	out := make([]scheduler.Params, len(rates))
	for i, r := range rates {
		out[i] = scheduler.DefaultParams()
		out[i].Rate = r
	}
	return out
}

func cost(t *testing.T, n *Snapshot) Cost {
	t.Helper()
	c, err := n.Cost(context.Background(), 2_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCostIsExactWhereItCanBe(t *testing.T) {
	rates := []float64{0.9, 0.5, 0.1}
	memoryless := cost(t, rated(t, func(c *Config) { c.Policy = "memoryless" }, ratesOf(rates...)...))
	if memoryless.Method != ByFormula || memoryless.Steps != 0 || memoryless.Value != scheduler.MemorylessCost(rates, 1) {
		t.Errorf("memoryless: got %+v", memoryless)
	}
	index := cost(t, rated(t, func(*Config) {}, ratesOf(rates...)...))
	if index.Method != ByPeriod || index.Steps < 1 || math.Abs(index.Value-2.8) > 1e-9 {
		t.Errorf("index: got %+v, want 2.8 over a period", index)
	}
	for _, c := range []Cost{memoryless, index} {
		if c.Rewards || c.LB1 != scheduler.LB1(rates, 1) || c.Bound != scheduler.LB3(rates, 1) || c.Ratio != c.Value/c.Bound || c.Ratio < 1 {
			t.Errorf("bounds: got %+v", c)
		}
	}
	weighted := ratesOf(0.45, 0.5, 0.2)
	weighted[0].Weight, weighted[2].Cost = 2, 2
	if c := cost(t, rated(t, func(*Config) {}, weighted...)); math.Abs(c.Value-2.8) > 1e-9 || c.Bound != index.Bound {
		t.Errorf("weights and costs: got %+v, want %+v", c, index)
	}
}

func TestCostIsSimulatedWhereItMustBe(t *testing.T) {
	tableI := func(weights ...float64) (nodes []scheduler.Params) {
		for i, c := range []float64{0.7, 0.35, 0.7, 0.21} {
			p := scheduler.DefaultParams()
			p.Arrival, p.Decay, p.Weight = 250, c, weights[i]
			nodes = append(nodes, p)
		}
		return nodes
	}
	whittle := func(c *Config) { c.Policy = "whittle" }
	type simulated struct {
		reward, bound float64
		nodes         []scheduler.Params
	}
	for _, want := range testscale.Some([]simulated{{282.82533587817295, 285.570841526592, tableI(1, 0.7, 0.4, 0.3)},
		{471.3825180448887, 471.3825180448886, tableI(1, 1, 1, 1)}}) {
		c := cost(t, rated(t, whittle, want.nodes...))
		if !c.Rewards || c.Method != BySimulation || c.Steps != 55440 || math.Abs(c.Value-want.reward) > 1e-9*want.reward ||
			math.Abs(c.Bound-want.bound) > 1e-6*want.bound || c.LB1 != 0 {
			t.Errorf("whittle: got %+v, want %g of %g", c, want.reward, want.bound)
		}
	}
	explore := cost(t, rated(t, func(c *Config) { c.Explore = 0.1 }, ratesOf(0.9, 0.5, 0.1)...))
	if explore.Method != BySimulation || explore.Ratio < 1 || explore.Ratio > 1.3 {
		t.Errorf("index that explores: got %+v", explore)
	}
	var many []float64
	for i := range 1000 {
		many = append(many, 1/float64(i+1))
	}
	index := cost(t, rated(t, func(c *Config) { c.Probes = 3 }, ratesOf(many...)...))
	if index.Method != BySimulation || index.Ratio < 0.999 || index.Ratio > 1.005 {
		t.Errorf("index of 1000 nodes: got %+v", index)
	}
}

// Rates that are spread over some powers of ten, as those of pages are.
func manyNodes(n int) []scheduler.Params {
	rng := rand.New(rand.NewPCG(7, 8))
	nodes := make([]scheduler.Params, n)
	for i := range nodes {
		p := scheduler.DefaultParams()
		p.Rate, p.Weight = 1e-3*math.Pow(rng.Float64(), -1/1.1), 1+3*rng.Float64()
		p.Arrival, p.Decay = p.Rate, .01+rng.Float64()/10
		nodes[i] = p
	}
	return nodes
}

func TestCostsOfManyNodesAreNearTheirLimit(t *testing.T) {
	nodes := manyNodes(limitNodes)
	for _, c := range []int{20, 1000} {
		for _, policy := range testscale.Some([]string{"index", "sqrtage", "stride", "whittle", "freshness"}) {
			n := rated(t, func(cf *Config) { cf.Policy, cf.Probes = policy, c })
			n.nodes = nodes
			limit := cost(t, n)
			if limit.Method != ByLimit || limit.Steps != 0 {
				t.Fatalf("%s: got %+v, want the limit", policy, limit)
			}
			steps := int64(4*len(nodes)/c + 200)
			played, err := n.simulated(context.Background(), n.policy, steps, steps, 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%-9s %4d probes a step: %.6g, %.5f of the limit", policy, c, played.Value, played.Value/limit.Value)
			if far := math.Abs(played.Value/limit.Value - 1); far > .003 {
				t.Errorf("%s, %d probes a step: played %g, limit %g", policy, c, played.Value, limit.Value)
			}
		}
	}
}

func TestCostsOfFewNodesAndOfExploringAreNoLimit(t *testing.T) {
	for _, change := range []func(*Config, *int){
		func(_ *Config, n *int) { *n = limitNodes - 1 },
		func(c *Config, _ *int) { c.Explore = .1 },
		func(c *Config, _ *int) { c.Budget = 2 },
		func(c *Config, _ *int) { c.Policy = "lspe" },
	} {
		count := limitNodes
		n := rated(t, func(c *Config) { change(c, &count) })
		n.nodes = manyNodes(count)
		if c, ok := n.ofMany(sim.Bounds{}); ok {
			t.Errorf("%d nodes of %+v: got %+v", count, n.config, c)
		}
	}
}

func TestCostOfALearnerIsThatOfWhatItBelieves(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Seed = "thompson", 1
	s := New(testKey)
	if err := s.Create(nil, c, 1); err != nil {
		t.Fatal(err)
	}
	truth := map[string]scheduler.Interest{}
	for i, decay := range []float64{0.7, 0.35, 0.7, 0.21} {
		name := fmt.Sprint("source", i)
		truth[name] = scheduler.Interest{Weight: 1, Arrival: 250, Decay: decay, Cost: 1}
		if _, err := s.Add(nil, []byte(name), scheduler.DefaultParams(), 1); err != nil {
			t.Fatal(err)
		}
	}
	for now := range int64(2000) {
		picks, err := s.Next(nil, 0, now, -1, WithStats)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range picks {
			m := truth[p.Node]
			if err := s.Observe(nil, []byte(p.Node), m.Reward(p.Age), now); err != nil {
				t.Fatal(err)
			}
		}
	}
	n, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Cost(context.Background(), testscale.Rounds[int64](costSteps))
	if err != nil {
		t.Fatal(err)
	}
	if !got.Rewards || math.Abs(got.Bound-471.3825) > 15 || got.Ratio < 0.97 || got.Ratio > 1.001 {
		t.Errorf("got %+v, want nearly 471.3825 of 471.3825", got)
	}
}

func TestCostOfNothingIsNothing(t *testing.T) {
	for _, p := range scheduler.Policies() {
		for _, nodes := range [][]scheduler.Params{nil, ratesOf(0, 0)} {
			if p.Check != nil && len(nodes) > 0 && p.Check(&nodes[0]) != nil {
				continue
			}
			c := cost(t, rated(t, func(c *Config) { c.Policy = p.Name }, nodes...))
			if c.Value != 0 || c.Bound != 0 || c.Ratio != 0 {
				t.Errorf("%s on %d nodes of rate 0: got %+v", p.Name, len(nodes), c)
			}
		}
	}
	if _, err := New(testKey).Snapshot(); err != ErrNotCreated {
		t.Errorf("Snapshot before Create: got %v, want %v", err, ErrNotCreated)
	}
}

func TestSimulateJudgesEveryPolicyByTheSameBounds(t *testing.T) {
	n := rated(t, func(c *Config) { c.Policy = "memoryless" }, ratesOf(0.5, 0.25, 0.125, 0.0625)...)
	policies, err := n.suited(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if policies[0].Name != "memoryless" || len(policies) < 5 {
		t.Fatalf("suited: got %d, %s first", len(policies), policies[0].Name)
	}
	costs, err := n.Simulate(context.Background(), policies, 20000, 7)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range costs {
		t.Logf("%-12s %.4f x LB3", c.Policy, c.Ratio)
		if c.Policy != policies[i].Name || c.Bound != costs[0].Bound || c.Ratio < 0.99 || c.Steps != 20000 {
			t.Errorf("got %+v", c)
		}
	}
	again, err := n.Simulate(context.Background(), policies, 20000, 7)
	if err != nil || !reflect.DeepEqual(costs, again) {
		t.Errorf("same seed: got %+v, %v, want %+v", again, err, costs)
	}
}

func TestSimulateRefusesPoliciesThatDoNotSuit(t *testing.T) {
	n := rated(t, func(*Config) {}, ratesOf(0.5, 0.25)...)
	thirsty := n.Policy()
	thirsty.Memo = maxMemo
	picky := n.Policy()
	picky.Check = func(*scheduler.Params) error { return scheduler.ErrDecay }
	for _, tc := range []struct {
		policy scheduler.PolicySpec
		why    error
	}{{thirsty, ErrLearnsTooMuch}, {picky, scheduler.ErrDecay}} {
		_, err := n.Simulate(context.Background(), []scheduler.PolicySpec{n.Policy(), tc.policy}, 10, 1)
		if unsuited, ok := errors.AsType[*UnsuitedError](err); !ok || unsuited.Policy != tc.policy.Name || !errors.Is(err, tc.why) {
			t.Errorf("got %v, want that of policy %s: %v", err, tc.policy.Name, tc.why)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := n.Simulate(ctx, nil, 1<<40, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	if _, err := n.Cost(ctx, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestSimulateAsksEachPolicyOnceOfEachNode(t *testing.T) {
	n := rated(t, func(*Config) {}, ratesOf(0.5, 0.25, 0.125)...)
	p, asked := n.Policy(), 0
	p.Check = func(*scheduler.Params) error { asked++; return nil }
	if _, err := n.Simulate(context.Background(), []scheduler.PolicySpec{p}, 10, 1); err != nil || asked != 3 {
		t.Errorf("asked %d times of 3 nodes, %v", asked, err)
	}
}

func TestTinyParametersCountAsZero(t *testing.T) {
	for _, policy := range []string{"whittle", "freshness"} {
		tiny := scheduler.Params{Rate: 1, Weight: 1e15, Decay: 1e-320, Arrival: 1e-320, Cost: 1}
		slow := scheduler.Params{Rate: 1, Weight: 1e15, Decay: 1e-100, Arrival: 1e15, Cost: 1e-15}
		c := cost(t, rated(t, func(c *Config) { c.Policy = policy }, tiny, slow))
		if math.IsNaN(c.Ratio) || math.IsInf(c.Value, 0) || math.IsInf(c.Bound, 0) {
			t.Errorf("%s: cost %+v, want finite numbers", policy, c)
		}
	}
}

// Nodes that are handed out several times in one step of a wall clock can have
// estimates that no user may state.
func TestEstimatesAboveTheLargestRateHaveACost(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Estimator, c.StepMillis, c.Seed = "adaptive", "paper", 1<<40, 1
	s := New(testKey)
	if err := s.Create(nil, c, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(nil, []byte("a"), scheduler.DefaultParams(), 1); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.Next(nil, 1, 1, 1000, NamesOnly); err != nil {
			t.Fatal(err)
		}
		if err := s.Observe(nil, []byte("a"), scheduler.MaxNumber, 1); err != nil {
			t.Fatal(err)
		}
	}
	if e := s.table.Node(0).Estimate; e <= scheduler.MaxNumber {
		t.Fatalf("the estimate is %g, want one above %g", e, scheduler.MaxNumber)
	}
	n, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if got := cost(t, n); got.Value != scheduler.MaxNumber || got.Ratio != 1 {
		t.Errorf("got %+v, want the greatest rate", got)
	}
}

// ephemeral are the nodes of Table I of P2 with the weights of its text.
func ephemeral() []scheduler.Params {
	nodes := ratesOf(1, 1, 1, 1)
	for i, decay := range []float64{0.7, 0.35, 0.7, 0.21} {
		nodes[i].Decay, nodes[i].Arrival = decay, 250
		nodes[i].Weight = []float64{1, 0.7, 0.4, 0.3}[i]
	}
	return nodes
}

// What greedy looks for it is judged by.
func TestGreedyIsJudgedByRewardsWhereInterestDecays(t *testing.T) {
	n := rated(t, func(c *Config) { c.Policy = "greedy" }, ephemeral()...)
	got := cost(t, n)
	if !got.Rewards || math.Abs(got.Value-279.29) > 0.02 || math.Abs(got.Bound-285.5708) > 1e-3 {
		t.Errorf("got %+v, want a reward of 279.29 below 285.5708", got)
	}
	names := []string{}
	for _, p := range n.Policies() {
		names = append(names, p.Name)
	}
	if want := []string{"greedy", "whittle", "thompson", "lspe"}; !slices.Equal(names, want) {
		t.Errorf("beside it are %q, want %q", names, want)
	}
	if c := cost(t, rated(t, func(c *Config) { c.Policy = "greedy" }, ratesOf(0.9, 0.5)...)); c.Rewards {
		t.Errorf("without decays got %+v, want a cost", c)
	}
}

// Where items wait for ever greedy goes by what waits, whatever decays say.
func TestGreedyBesideCostsIgnoresDecays(t *testing.T) {
	nodes := ratesOf(0.9, 0.5, 0.1)
	plain := rated(t, func(*Config) {}, nodes...)
	for i := range nodes {
		nodes[i].Decay = 0.5
	}
	decaying := rated(t, func(*Config) {}, nodes...)
	spec, err := scheduler.PolicyNamed("greedy")
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Simulate(context.Background(), []scheduler.PolicySpec{spec}, 2000, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decaying.Simulate(context.Background(), []scheduler.PolicySpec{spec}, 2000, 1)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
