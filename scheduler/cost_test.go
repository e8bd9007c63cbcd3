package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDeterministicPoliciesAgreeWithKnownPeriods(t *testing.T) {
	policies := map[string]string{
		"greedy": "greedy", "sqrt_age": "sqrtage", "round_robin": "roundrobin", "whittle_probe": "index",
	}
	checked := 0
	for name, a := range known(t) {
		policy, ok := policies[strings.Split(name, "/")[0]]
		if !ok {
			continue
		}
		checked++
		rates, c := vectorAndProbes(t, name)
		got, ok := PeriodOf(policyNamed(t, policy), rates, c, 1e5)
		if !ok {
			t.Errorf("%s: no period found", name)
			continue
		}
		near(t, name, got.Cost, a.number(t), a.Rtol)
		if a.Cycle > 0 && got.Length != int64(a.Cycle) {
			t.Errorf("%s: period of %d steps, want %d", name, got.Length, a.Cycle)
		}
		_, picks := picksOf(t, policy, nodesOf(rates), rates, c, 20)
		for i, want := range a.Picks {
			if !slices.Equal(picks[i], want) {
				t.Errorf("%s: step %d picks %v, want %v", name, i+1, picks[i], want)
			}
		}
	}
	if checked < 12 {
		t.Errorf("only %d cases checked", checked)
	}
}

func TestRoundRobinCostIsThatOfTheRotationWithTiesByNumber(t *testing.T) {
	for m := 1; m <= 24; m++ {
		for c := 1; c <= m+1; c++ {
			rates := make([]float64, 0, m+2)
			for i := range m {
				if i%7 == 3 {
					rates = append(rates, 0)
				}
				rates = append(rates, float64(1+i*i%11))
			}
			got := rotationCost(rates, c)
			near(t, fmt.Sprintf("m=%d c=%d", m, c), RoundRobinCost(rates, c), got, 1e-9)
		}
	}
}

// rotationCost plays oldest first, the lowest number of several, for longer
// than it takes to settle, and then for a multiple of q (q+1).
func rotationCost(rates []float64, c int) float64 {
	var nodes []int
	for i, r := range rates {
		if r > 0 {
			nodes = append(nodes, i)
		}
	}
	last := make([]int, len(rates))
	q := len(nodes) / c
	warm, count := 40*len(nodes), max(1, q*(q+1))
	cost := 0.0
	for step := 1; step <= warm+count; step++ {
		for _, i := range nodes {
			if step > warm {
				cost += rates[i] * float64(step-last[i])
			}
		}
		slices.SortFunc(nodes, func(a, b int) int {
			if last[a] != last[b] {
				return last[a] - last[b]
			}
			return a - b
		})
		for _, i := range nodes[:min(c, len(nodes))] {
			last[i] = step
		}
	}
	return cost / float64(count)
}

func TestPeriodOfGivesUpAtTheLimit(t *testing.T) {
	if got, ok := PeriodOf(policyNamed(t, "index"), vector(t, "zipf1_100"), 1, 50); ok {
		t.Errorf("got %v within 50 steps of 100 nodes", got)
	}
	if got, ok := PeriodOf(policyNamed(t, "index"), nil, 1, 50); !ok || got.Cost != 0 {
		t.Errorf("no nodes: got %v, %v", got, ok)
	}
}

func TestCostsOfNothingAreZero(t *testing.T) {
	for _, rates := range [][]float64{nil, {0}, {0, 0}} {
		for name, v := range map[string]float64{
			"memoryless": MemorylessCost(rates, 2), "cyclic": CyclicCost(rates, 2), "roundrobin": RoundRobinCost(rates, 2),
		} {
			if v != 0 {
				t.Errorf("%s of %v: got %g, want 0", name, rates, v)
			}
		}
	}
}
