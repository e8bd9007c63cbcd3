package scheduler

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// stairs are the least costs of nodes as lines: at a price a node takes the cheapest.
func stairs(rng *rand.Rand, n int, c float64) *relaxation {
	lines := make([][][2]float64, n) // cost and probes a step
	r := &relaxation{n: n, c: c, guess: math.Exp(20 * (rng.Float64() - .5))}
	scale := math.Exp(40 * (rng.Float64() - .5))
	for i := range lines {
		for range 1 + rng.IntN(4) {
			lines[i] = append(lines[i], [2]float64{scale * rng.ExpFloat64(), 1 / float64(1+rng.IntN(30))})
		}
		lines[i] = append(lines[i], [2]float64{scale * 40, 0}) // not probed at all
	}
	r.node = func(i int, v float64) (least, spent float64) {
		least = math.Inf(1)
		for _, l := range lines[i] {
			if cost := l[0] + float64(v*l[1]); cost < least || cost == least && l[1] < spent {
				least, spent = cost, l[1]
			}
		}
		return least, spent
	}
	return r
}

func TestABoundIsTheGreatestValueOfAnyPrice(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	free, dear := 0, 0
	for round := range 2000 {
		n := 1 + rng.IntN(20)
		r := stairs(rng, n, float64(1+rng.IntN(3))*rng.Float64())
		best, err := r.best(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		// Halving, between prices that no guess is beyond.
		low, high := 0.0, 1e30
		for range 300 {
			middle := (low + high) / 2
			if low > 0 && high/low > 4 || low == 0 && high > 1e-30 {
				middle = math.Sqrt(max(low, 1e-31) * high)
			}
			if _, slope, _ := r.at(context.Background(), middle, 1); slope > 0 {
				low = middle
			} else {
				high = middle
			}
		}
		want, _, _ := r.at(context.Background(), high, 1)
		if zero, _, _ := r.at(context.Background(), 0, 1); zero >= want {
			want = zero
			free++
		} else {
			dear++
		}
		if math.Abs(best.v-want) > 1e-9*math.Abs(want) {
			t.Fatalf("round %d: %d nodes: got %g at a price of %g, want %g at %g", round, n, best.v, best.at, want, high)
		}
	}
	if free < 100 || dear < 100 {
		t.Errorf("%d times probes were free, %d times they had a price", free, dear)
	}
}

// Each price costs a look at every node: with many nodes few are tried.
func TestBoundsOfManyNodesTryFewPrices(t *testing.T) {
	const n, most = 50_000, 16
	slow := scattered(n, 3)
	for i := range slow {
		slow[i].Decay /= n
	}
	for name, nodes := range map[string][]Interest{"fast": scattered(n, 3), "slow": slow} {
		for _, c := range []int{1, 10, n / 10} {
			looks := &looked{Context: context.Background()}
			if _, err := RewardBoundContext(looks, nodes, c); err != nil {
				t.Fatal(err)
			}
			// A sample is looked at once a price, and all nodes are some times.
			whole := looks.times / ((n + nodesALook - 1) / nodesALook)
			if whole > most {
				t.Errorf("%s, %d probes a step: all nodes were looked at some %d times, want %d at most", name, c, whole, most)
			}
		}
	}
}

// looked counts the looks at a context.
type looked struct {
	context.Context
	times int
}

func (l *looked) Err() error { l.times++; return nil }
