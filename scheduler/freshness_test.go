package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The index is the price of a probe at which T is the best gap: there the mean
// profit (x(T) - v C)/T is greatest.
func TestFreshnessIndexIsThePriceOfAGap(t *testing.T) {
	n := Node{Params: DefaultParams()}
	n.Weight, n.Cost, n.Arrival = 3, 2, .07
	page := FreshnessOf(&n)
	profit := func(gap, v float64) float64 {
		return (page.Limit()*-math.Expm1(-page.Decay*gap) - v*page.Cost) / gap
	}
	for _, age := range []int64{1, 2, 10, 60} {
		v, gap := FreshnessIndex(&n, age), float64(age)
		near(t, fmt.Sprintf("index at %d", age), v,
			n.Weight/(n.Arrival*n.Cost)*(1-math.Exp(-n.Arrival*gap)*(1+n.Arrival*gap)), 1e-12)
		for _, other := range []float64{gap * .9, gap * 1.1} {
			if profit(other, v) >= profit(gap, v) {
				t.Errorf("age %d: a gap of %g is better than %g at the price %g", age, other, gap, v)
			}
		}
	}
}

func TestFreshnessIndexOfSlowChangesIsAParabola(t *testing.T) {
	n := Node{Params: DefaultParams()}
	for _, change := range []float64{1e-6, 1e-9, 1e-15} {
		n.Arrival = change
		near(t, fmt.Sprintf("D=%g", change), FreshnessIndex(&n, 20)/change, 20*20/2., 30*change+1e-14)
	}
	if n.Arrival = 0; FreshnessIndex(&n, 20) != 0 {
		t.Error("a page that never changes has an index")
	}
}

// With one page the policy probes it in every step; with several it comes near
// the bound and beats taking turns.
func TestFreshnessServesNearlyItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	var nodes []Node
	table := new(Table)
	for slot := range 60 {
		p := DefaultParams()
		p.Weight, p.Arrival = rng.ExpFloat64(), .2*rng.ExpFloat64()
		Enter(table, fixed{}, slot, p, 0)
		nodes = append(nodes, table.Node(slot))
	}
	const warm, steps = 2000, 4000
	earned := map[string]float64{}
	for _, name := range []string{"freshness", "roundrobin"} {
		policy := policyNamed(t, name).New()
		last := make([]int64, len(nodes))
		for slot := range nodes {
			table.Put(slot, nodes[slot])
		}
		policy.Attach(table)
		var picks []int
		for step := int64(1); step <= warm+steps; step++ {
			picks = policy.Pick(picks[:0], step, 3, nil)
			for _, slot := range picks {
				if step > warm {
					page := FreshnessOf(&nodes[slot])
					earned[name] += page.Reward(step-last[slot]) / steps
				}
				last[slot] = step
				Observe(table, policy, fixed{}, slot, 1, step)
			}
		}
	}
	bound := FreshnessBound(nodes, 3)
	t.Logf("bound %.4f, freshness %.4f, roundrobin %.4f", bound, earned["freshness"], earned["roundrobin"])
	if r := earned["freshness"] / bound; r < .97 || r > 1.005 {
		t.Errorf("freshness earns %.4f of the bound", r)
	}
	if earned["freshness"] < 1.1*earned["roundrobin"] {
		t.Errorf("freshness earns %g, roundrobin %g", earned["freshness"], earned["roundrobin"])
	}
}
