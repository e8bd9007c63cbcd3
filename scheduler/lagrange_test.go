package scheduler

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// testdata/lagrange.json was worked out by another program, by value iteration of the
// index of one arm.
func TestLagrangeIndexIsTheKnownOne(t *testing.T) {
	var known []struct {
		Arrival         float64
		Weights, Decays []float64
		Price           float64
		Ages            []int64
		Index           [][]float64
	}
	raw, err := os.ReadFile("testdata/lagrange.json")
	if err == nil {
		err = json.Unmarshal(raw, &known)
	}
	if err != nil || len(known) == 0 {
		t.Fatal(err)
	}
	for _, k := range known {
		for i := range k.Weights {
			n := NewNode(DefaultParams(), 0)
			n.Arrival, n.Weight, n.Decay = k.Arrival, k.Weights[i], k.Decays[i]
			for j, age := range k.Ages {
				if got, want := LagrangeIndex(&n, age, k.Price), k.Index[i][j]; math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
					t.Errorf("node %d at age %d: %v, want %v", i, age, got, want)
				}
			}
		}
	}
}

// gamma is what probing now is worth more than waiting a step, by value iteration of one
// arm that is charged the price: both forms of nodes.
func TestLagrangeIndexIsTheAdvantageOfAProbe(t *testing.T) {
	const ages, rounds = 60, 20_000
	for _, decay := range []float64{0, .2, .7} {
		n := NewNode(DefaultParams(), 0)
		n.Estimate, n.Arrival, n.Decay, n.Cost = 2, 2, decay, 1.5
		price := 2.5
		// What waits costs in each step, and is paid by a probe or not; interest is
		// earned by a probe.
		earns, waits := func(int) float64 { return 0 }, func(age int) float64 { return -2 * float64(age) }
		if decay > 0 {
			earns, waits = func(age int) float64 { return InterestOf(&n).Reward(int64(age)) }, func(int) float64 { return 0 }
		}
		// Relative values h by age: probing leads to age 1, waiting to the next age.
		h, gain := make([]float64, ages+2), 0.0
		for range rounds {
			next := make([]float64, ages+2)
			for a := 1; a <= ages; a++ {
				next[a] = .5*h[a] + .5*(waits(a)+max(earns(a)-price*n.Cost+h[1], h[a+1]))
			}
			next[ages+1] = next[ages]
			gain = next[1] - h[1]
			done := math.Abs(gain) < 1e-15
			for a := range next {
				done = done && math.Abs(next[a]-h[a]-gain) < 1e-13
				h[a] = next[a]
			}
			for a := len(h) - 1; a >= 1; a-- {
				h[a] -= h[1]
			}
			if done {
				break
			}
		}
		for _, a := range []int{1, 2, 3, 5, 8} {
			want := earns(a) - price*n.Cost + h[1] - h[a+1]
			if got := LagrangeIndex(&n, int64(a), price); math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
				t.Errorf("decay %v, age %d: %v, by value iteration %v", decay, a, got, want)
			}
		}
	}
}

func ExampleLagrangeIndex() {
	n := NewNode(DefaultParams(), 0)
	n.Arrival, n.Decay = 250, .7
	for _, age := range []int64{1, 2, 5} {
		fmt.Printf("%.2f ", LagrangeIndex(&n, age, 128.571428570473))
	}
	// Output: -19.03 25.91 64.82
}
