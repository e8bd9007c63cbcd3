package scheduler

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// limitsKnown are the answers of testdata/limits.json, which were worked out by
// another program.
type limitsKnown struct {
	Groups []struct {
		Rates        []float64
		Group        []int
		StepsBetween []int64 `json:"steps_between"`
		Probes       int
		Bound        float64
		Picks        [][]int
	}
	Deadlines []struct {
		Rates    []float64
		Deadline []int64
		Probes   int
		Bound    float64
	}
	Budget []struct {
		Rates, Cost   []float64
		Budget, Bound float64
		Picks         [][]int
	}
}

func readLimits(t *testing.T) (known limitsKnown) {
	t.Helper()
	raw, err := os.ReadFile("testdata/limits.json")
	if err == nil {
		err = json.Unmarshal(raw, &known)
	}
	if err != nil || len(known.Groups) == 0 || len(known.Deadlines) == 0 || len(known.Budget) == 0 {
		t.Fatalf("limits.json: %v", err)
	}
	return known
}

func wantBound(t *testing.T, what string, demands []Demand, limits []float64, c, want float64) {
	t.Helper()
	got, err := LimitedBound(context.Background(), demands, limits, c)
	if err != nil || math.Abs(got-want) > 1e-6*want {
		t.Errorf("%s: bound %v, %v, want %v", what, got, err, want)
	}
}

func TestGroupsGiveTheKnownPicksAndBounds(t *testing.T) {
	for _, g := range readLimits(t).Groups {
		table, policy := &Table{Probes: g.Probes}, indexPolicy.New()
		limits, demands := []float64{math.Inf(1)}, []Demand(nil)
		for h, steps := range g.StepsBetween {
			table.Groups.Put(int32(h+1), Group{Limits: Limits{Steps: steps}})
			limits = append(limits, math.Inf(1))
			if steps > 0 {
				limits[h+1] = 1 / float64(steps)
			}
		}
		for slot, rate := range g.Rates {
			p := DefaultParams()
			p.Rate, p.Group = rate, int32(g.Group[slot]+1)
			Enter(table, fixed{}, slot, p, 0)
			demands = append(demands, Demand{Worth: rate, Price: 1, Group: g.Group[slot] + 1})
		}
		policy.Attach(table)
		for i, want := range g.Picks {
			step := int64(i + 1)
			table.Groups.Open(policy, 0, step)
			got := policy.Pick(nil, step, g.Probes, nil)
			if !slices.Equal(got, want) {
				t.Fatalf("step %d: picks %v, want %v", step, got, want)
			}
			for _, slot := range got {
				table.Groups.Give(policy, table.GroupOf(slot), 0, step, true)
				Observe(table, policy, fixed{}, slot, 1, step)
			}
		}
		wantBound(t, "groups", demands, limits, float64(g.Probes), g.Bound)
	}
}

func TestDeadlinesAndBudgetsGiveTheKnownBoundsAndPicks(t *testing.T) {
	known := readLimits(t)
	for _, g := range known.Deadlines {
		var demands []Demand
		for i, rate := range g.Rates {
			demands = append(demands, Demand{Worth: rate, Price: 1, Deadline: g.Deadline[i]})
		}
		wantBound(t, "deadlines", demands, nil, float64(g.Probes), g.Bound)
	}
	for _, g := range known.Budget {
		table, policy, purse := new(Table), indexPolicy.New(), Purse{Budget: g.Budget}
		var demands []Demand
		for slot, rate := range g.Rates {
			p := DefaultParams()
			p.Rate, p.Cost = rate, g.Cost[slot]
			Enter(table, fixed{}, slot, p, 0)
			demands = append(demands, Demand{Worth: rate, Price: p.Cost})
		}
		policy.Attach(table)
		for i, want := range g.Picks {
			step := int64(i + 1)
			got := purse.Afford(table, step, len(g.Rates), func(count int) []int { return policy.Pick(nil, step, count, nil) })
			if !slices.Equal(got, want) {
				t.Fatalf("budget %v, step %d: picks %v, want %v", g.Budget, step, got, want)
			}
			purse.Fill(step)
			for _, slot := range got {
				purse.Pay(g.Cost[slot])
				Observe(table, policy, fixed{}, slot, 1, step)
			}
		}
		wantBound(t, "budget", demands, nil, g.Budget, g.Bound)
	}
}

// Without limits the bound is LB3.
func TestTheBoundWithoutLimitsIsLB3(t *testing.T) {
	rates := []float64{.5, .25, .125, .0625, .03, 0}
	var demands []Demand
	for _, rate := range rates {
		demands = append(demands, Demand{Worth: rate, Price: 1})
	}
	wantBound(t, "no limits", demands, nil, 1, LB3(rates, 1))
}

// The cost that is learnt is the mean of what was reported, and moves with it.
func TestCostsAreLearntFromWhatIsReported(t *testing.T) {
	p := DefaultParams()
	p.Pay(5)
	if p.Cost != 1 {
		t.Errorf("a given cost became %v", p.Cost)
	}
	p.Priced = 1
	for _, cost := range []float64{2, 4, 6} {
		p.Pay(cost)
	}
	if math.Abs(p.Cost-4) > 1e-12 {
		t.Errorf("the mean of 2, 4 and 6 is %v", p.Cost)
	}
	for range 200 {
		p.Pay(10)
	}
	if math.Abs(p.Cost-10) > 1e-3 {
		t.Errorf("after 200 costs of 10 it is %v", p.Cost)
	}
}
