package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// keeping is a schedule with deadlines under test.
type keeping struct {
	table  *Table
	keeper *Keeper
	c      int
	step   int64
}

func newKeeping(c int, rates []float64, deadlines []int64) *keeping {
	k := &keeping{table: &Table{Probes: c}, keeper: Keep(indexPolicy.New()), c: c}
	for i, rate := range rates {
		p := DefaultParams()
		p.Rate, p.Deadline = rate, deadlines[i]
		Enter(k.table, fixed{}, i, p, 0)
	}
	k.keeper.Attach(k.table)
	return k
}

// play is one step. It returns the picks and by how much deadlines were missed at most.
func (k *keeping) play() (picks []int, late int64) {
	k.step++
	picks = k.keeper.Pick(nil, k.step, k.c, nil)
	for _, slot := range picks {
		Observe(k.table, k.keeper, fixed{}, slot, 1, k.step)
	}
	for slot := k.table.After(0); slot >= 0; slot = k.table.After(slot + 1) {
		if n := k.table.Node(slot); n.Deadline > 0 {
			late = max(late, k.step-n.Last-n.Deadline+1)
		}
	}
	return picks, max(0, late)
}

// instance draws deadlines whose load is at most c, as near to it as they happen to
// come, and the steps in which the nodes were probed last: any that keep them.
func instance(rng *rand.Rand, c int) (rates []float64, deadlines []int64) {
	load, most := 0.0, int64(2+rng.IntN(60))
	if rng.IntN(4) == 0 {
		most = 1 + rng.Int64N(6)
	}
	for range 1 + rng.IntN(80) {
		d := int64(0)
		if rng.IntN(4) > 0 {
			d = 1 + rng.Int64N(most)
			if load+loadOf(d) > float64(c)+1e-12 {
				d = 0
			} else {
				load += loadOf(d)
			}
		}
		rates, deadlines = append(rates, math.Exp(-6*rng.Float64())), append(deadlines, d)
	}
	return rates, deadlines
}

// The theorem of deadlines.go: if the sum of 1/floor(D/2) is at most c, none is missed.
func TestDeadlinesAreKeptIfTheirLoadIsAtMostC(t *testing.T) {
	for seed := range testscale.Rounds(uint64(400)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		c := 1 + rng.IntN(3)
		rates, deadlines := instance(rng, c)
		k := newKeeping(c, rates, deadlines)
		for range 300 {
			if _, late := k.play(); late > 0 {
				t.Fatalf("seed %d: c = %d, deadlines %v: %d steps late in step %d", seed, c, deadlines, late, k.step)
			}
		}
	}
}

// urgentByScan is the rule, written down once more.
func (k *keeping) urgentByScan(step int64) []int {
	type node struct {
		due  int64
		slot int
	}
	load, pending := 0.0, []node(nil)
	for slot := k.table.After(0); slot >= 0; slot = k.table.After(slot + 1) {
		n := k.table.Node(slot)
		if n.Deadline == 0 {
			continue
		}
		load += loadOf(n.Deadline)
		if !k.table.Hidden(slot) && n.Age(step) >= (n.Deadline+1)/2 {
			pending = append(pending, node{n.Last + n.Deadline, slot})
		}
	}
	left := float64(k.c) - load
	if left < 0 {
		left = float64(k.c) / 2
	}
	slices.SortFunc(pending, func(a, b node) int {
		if a.due != b.due {
			return int(a.due - b.due)
		}
		return a.slot - b.slot
	})
	excess := 0.0
	for i, p := range pending {
		excess = max(excess, float64(i+1)-left*float64(p.due-step))
	}
	var picks []int
	for _, p := range pending[:min(int(math.Ceil(excess-1e-9)), k.c, len(pending))] {
		picks = append(picks, p.slot)
	}
	return picks
}

// The tree over pending nodes finds what a scan of them finds, whatever is leased, and
// the rest are the policy's.
func TestUrgentNodesAreThoseOfAScan(t *testing.T) {
	for seed := range testscale.Rounds(uint64(60)) {
		rng := rand.New(rand.NewPCG(seed, 6))
		c := 1 + rng.IntN(3)
		rates, deadlines := instance(rng, c)
		if seed%3 == 0 { // more than can be kept
			for i := range deadlines {
				deadlines[i] = rng.Int64N(20)
			}
		}
		k := newKeeping(c, rates, deadlines)
		for range 200 {
			if slot := rng.IntN(len(rates)); rng.IntN(3) == 0 {
				k.table.Hide(slot, !k.table.Hidden(slot))
				k.keeper.Touch(slot)
			}
			want := k.urgentByScan(k.step + 1)
			got, _ := k.play()
			if !slices.Equal(got[:min(len(want), len(got))], want) {
				t.Fatalf("seed %d, step %d: picks %v, of which a scan says that %v are urgent", seed, k.step, got, want)
			}
			for i, slot := range got {
				if slices.Contains(got[:i], slot) {
					t.Fatalf("seed %d, step %d: %v has a node twice", seed, k.step, got)
				}
			}
		}
	}
}

// A deadline of 1 for everybody cannot be kept: each step still has its probes.
func TestDeadlinesThatCannotBeKeptAreAnEffort(t *testing.T) {
	rates, deadlines := make([]float64, 50), make([]int64, 50)
	for i := range rates {
		rates[i], deadlines[i] = 1, 1
	}
	k := newKeeping(2, rates, deadlines)
	seen := map[int]int{}
	for range 100 {
		picks, _ := k.play()
		if len(picks) != 2 {
			t.Fatalf("step %d: %v", k.step, picks)
		}
		for _, slot := range picks {
			seen[slot]++
		}
	}
	for slot := range rates {
		if seen[slot] != 4 {
			t.Errorf("node %d was probed %d times in 100 steps of 2 probes of 50 nodes", slot, seen[slot])
		}
	}
}

func ExampleKeep() {
	table, keeper := &Table{Probes: 1}, Keep(indexPolicy.New())
	for slot, rate := range []float64{5, 4, 3, .001} {
		p := DefaultParams()
		p.Rate = rate
		if rate < .01 {
			p.Deadline = 6 // somebody wants to see it now and then
		}
		Enter(table, fixed{}, slot, p, 0)
	}
	keeper.Attach(table)
	for step := int64(1); step <= 12; step++ {
		for _, slot := range keeper.Pick(nil, step, 1, nil) {
			fmt.Print(slot, " ")
			Observe(table, keeper, fixed{}, slot, 1, step)
		}
	}
	// Output: 0 1 2 0 3 1 0 2 1 3 0 2
}
