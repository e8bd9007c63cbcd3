package placement

import (
	"math"
	"testing"
)

// A unit that joins takes its part of the objects, and nothing moves between
// others, at each number of units.
func TestJumpBackMovesOnlyToTheUnitThatJoins(t *testing.T) {
	const objects = 20_000
	at := make([]int, objects)
	for n := 2; n <= 300; n++ {
		moved := 0
		for i := range at {
			to := jumpBack(Mix(uint64(i)), n)
			if to == at[i] {
				continue
			}
			if to != n-1 {
				t.Fatalf("%d units: object %d moves from %d to %d", n, i, at[i], to)
			}
			at[i] = to
			moved++
		}
		want := objects / float64(n)
		if d := math.Abs(float64(moved)-want) / math.Sqrt(want); d > 4.5 {
			t.Errorf("%d units: %d objects moved, want about %.0f: %.1f deviations", n, moved, want, d)
		}
	}
}

// The chance of each unit is that of the others, also right below and above
// powers of two, where levels begin.
func TestJumpBackIsUniform(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000} {
		loads := make([]float64, n)
		objects := 400 * n
		for i := range objects {
			loads[jumpBack(Mix(uint64(i)*7+3), n)]++
		}
		sum := 0.0
		for _, load := range loads {
			sum += (load - 400) * (load - 400) / 400
		}
		freedom := float64(n - 1)
		if math.Abs(sum-freedom) > 5*math.Sqrt(2*freedom) {
			t.Errorf("%d units: chi-square %.1f with %d degrees of freedom", n, sum, n-1)
		}
	}
}
