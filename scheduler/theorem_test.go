package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// optimum is the least cost of any schedule of up to three nodes, by relative
// value iteration on ages up to a limit, beyond which they stop to grow. It is
// exact if the optimum never lets an age come that far.
func optimum(rates []float64, c int, limit int) float64 {
	n := len(rates)
	states := 1
	for range n {
		states *= limit
	}
	actions := [][]int{}
	for set := range 1 << n {
		var nodes []int
		for i := range n {
			if set>>i&1 != 0 {
				nodes = append(nodes, i)
			}
		}
		if len(nodes) == min(c, n) {
			actions = append(actions, nodes)
		}
	}
	cost, next := make([]float64, states), make([][]int, states)
	ages := make([]int, n)
	for s := range states {
		for i, rest := 0, s; i < n; i++ {
			ages[i] = rest%limit + 1
			rest /= limit
			cost[s] += rates[i] * float64(ages[i])
		}
		for _, a := range actions {
			to, scale := 0, 1
			for i := range n {
				age := min(ages[i]+1, limit)
				for _, probed := range a {
					if probed == i {
						age = 1
					}
				}
				to += (age - 1) * scale
				scale *= limit
			}
			next[s] = append(next[s], to)
		}
	}
	value, fresh := make([]float64, states), make([]float64, states)
	for {
		low, high := math.Inf(1), math.Inf(-1)
		for s := range states {
			best := math.Inf(1)
			for _, to := range next[s] {
				best = min(best, value[to])
			}
			// Staying put with probability 1/2 makes periodic chains converge.
			fresh[s] = (cost[s] + best + value[s]) / 2
			change := 2 * (fresh[s] - value[s])
			low, high = min(low, change), max(high, change)
		}
		base := fresh[0]
		for s := range states {
			value[s] = fresh[s] - base
		}
		if high-low <= 1e-7*high {
			return (low + high) / 2
		}
	}
}

func TestTheorem1HoldsForTheOptimum(t *testing.T) {
	a := known(t)["optimal_cost/pow2_3/c=1"]
	near(t, "pow2_3", optimum(vector(t, "pow2_3"), 1, 16), a.number(t), 1e-6)
	const seed = 47
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range 12 {
		n := 2 + round%2
		rates := make([]float64, n)
		for i := range rates {
			rates[i] = math.Exp(rng.NormFloat64())
		}
		for c := 1; c < n; c++ {
			best := optimum(rates, c, 18)
			lb1, lb2, lb3 := LB1(rates, c), LB2(rates, c), LB3(rates, c)
			if lb1 > lb2+1e-9 || lb2 > lb3+1e-9 || lb3 > best*(1+1e-6) {
				t.Errorf("seed %d, %v c=%d: LB1 %g, LB2 %g, LB3 %g, optimum %g", seed, rates, c, lb1, lb2, lb3, best)
			}
			if p, ok := PeriodOf(policyNamed(t, "index"), rates, c, 1e5); !ok || p.Cost < best*(1-1e-6) || p.Cost > 1.05*best {
				t.Errorf("seed %d, %v c=%d: index %v, optimum %g", seed, rates, c, p, best)
			}
		}
	}
}

// randomRates are n rates over several orders of magnitude.
func randomRates(rng *rand.Rand, n int) []float64 {
	rates := make([]float64, n)
	spread := 4 * rng.Float64()
	for i := range rates {
		rates[i] = math.Exp(spread * rng.NormFloat64())
	}
	return rates
}

func TestTheorem2AndCorollaries3To5Hold(t *testing.T) {
	const seed = 53
	rng := rand.New(rand.NewPCG(seed, 1))
	worstCyclic, worstMemoryless := 0.0, 0.0
	for range 3000 {
		rates := randomRates(rng, 1+rng.IntN(30))
		c := 1 + rng.IntN(5)
		bound, more := LB1(rates, c), float64(c-1)/float64(c)
		cyclic, memoryless := CyclicCost(rates, c)/bound, MemorylessCost(rates, c)/bound
		worstCyclic, worstMemoryless = max(worstCyclic, cyclic), max(worstMemoryless, memoryless)
		if cyclic > 3+more+1e-9 {
			t.Errorf("seed %d: cyclic costs %g x LB1 for %v, c=%d", seed, cyclic, rates, c)
		}
		if memoryless > 2+more+1e-9 {
			t.Errorf("seed %d: memoryless costs %g x LB1 for %v, c=%d", seed, memoryless, rates, c)
		}
	}
	t.Logf("worst: cyclic %.3f x LB1, memoryless %.3f x LB1", worstCyclic, worstMemoryless)
}

func TestTheorem3NoOtherProbabilitiesAreBetter(t *testing.T) {
	const seed = 59
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		rates := randomRates(rng, 2+rng.IntN(10))
		roots, sum := 0.0, 0.0
		other := make([]float64, len(rates))
		for i, r := range rates {
			roots += math.Sqrt(r)
			other[i] = math.Sqrt(r) * math.Exp(.3*rng.NormFloat64())
			sum += other[i]
		}
		cost := 0.0
		for i, r := range rates {
			cost += r / (other[i] / sum)
		}
		near(t, "Theorem 3", MemorylessCost(rates, 1), roots*roots, 1e-9)
		if cost < roots*roots*(1-1e-12) {
			t.Errorf("seed %d: %v costs %g, less than %g", seed, other, cost, roots*roots)
		}
	}
}

func TestLemma3AndTheorem4ProbabilitiesStayPositiveAndConverge(t *testing.T) {
	rates := vector(t, "pow2_10")
	want := probabilities(t, rates)
	spec := policyNamed(t, "adaptive")
	table, p, est := new(Table), spec.New(), estimatorNamed(t, spec.Estimator).New(0)
	rng := rand.New(rand.NewPCG(61, 1))
	for slot := range rates {
		Enter(table, est, slot, DefaultParams(), 0)
	}
	p.Attach(table)
	distance := map[int64]float64{}
	for step := int64(1); step <= 100000; step++ {
		for _, slot := range p.Pick(nil, step, 1, rng) {
			n := table.Node(slot)
			Observe(table, p, est, slot, Bernoulli(rates[slot], n.Age(step), rng), step)
		}
		for slot := range rates {
			// p(t) of Lemma 3 is what the estimates of step t-1 give.
			if v := p.Value(slot, step); v < 1/(float64(len(rates))*math.Sqrt(float64(step+1)))*(1-1e-9) {
				t.Fatalf("step %d: node %d is drawn with probability %g", step, slot, v)
			}
		}
		if step == 100 || step == 3000 || step == 100000 {
			for slot := range rates {
				distance[step] += math.Abs(p.Value(slot, step)-want[slot]) / 2
			}
		}
	}
	t.Logf("variation distance %v", distance)
	if !(distance[100] > distance[3000] && distance[3000] > distance[100000] && distance[100000] < .01) {
		t.Errorf("variation distance by step: %v", distance)
	}
}

func TestGreedyCostsOmegaOfNWhereIndexCostsAConstant(t *testing.T) {
	for _, n := range []int{4, 8, 12} {
		rates := vector(t, fmt.Sprintf("pow2_%d", n))
		run := func(spec PolicySpec) float64 {
			tr := Trial{Policy: spec, Estimator: estimatorNamed(t, "fixed"), Nodes: nodesOf(rates), Rates: rates, Probes: 1}
			return tr.Run(4<<n, 4<<n).Cost
		}
		bad, good := run(policyNamed(t, "greedy")), run(policyNamed(t, "index"))
		t.Logf("n=%d: greedy %.3f, index %.3f", n, bad, good)
		if bad < float64(n)/4 || good > 3.5 {
			t.Errorf("n=%d: greedy costs %g, want at least n/4; index %g, want at most 3.5", n, bad, good)
		}
	}
}

func TestNoPolicyCostsLessThanLB3(t *testing.T) {
	const seed = 67
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range testscale.Rounds(30) {
		rates := randomRates(rng, 1+rng.IntN(12))
		c := 1 + rng.IntN(3)
		lb1, lb2, lb3 := LB1(rates, c), LB2(rates, c), LB3(rates, c)
		if lb1 > lb2*(1+1e-9) || lb2 > lb3*(1+1e-9) {
			t.Fatalf("seed %d round %d: LB1 %g, LB2 %g, LB3 %g", seed, round, lb1, lb2, lb3)
		}
		for _, spec := range Policies() {
			if spec.Rewards {
				continue
			}
			tr := Trial{Policy: spec, Estimator: estimatorNamed(t, "fixed"), Nodes: nodesOf(rates), Rates: rates,
				Probes: c, Draws: rng}
			// 2 %: the run ends in the midst of gaps.
			if cost := tr.Run(2000, 4000).Cost; cost < .98*lb3 {
				t.Errorf("seed %d round %d: %s costs %g, LB3 is %g for %v, c=%d", seed, round, spec.Name, cost, lb3, rates, c)
			}
			if spec.Cost != nil {
				if cost := spec.Cost(rates, c); cost < lb3*(1-1e-9) {
					t.Errorf("seed %d round %d: %s should cost %g, LB3 is %g for %v, c=%d", seed, round, spec.Name, cost, lb3, rates, c)
				}
			}
		}
	}
}
