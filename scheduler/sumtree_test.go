package scheduler

import (
	"math/rand/v2"
	"testing"
)

// model of a sumTree: weights in a list, and a draw that walks a full binary
// tree over all of them.
func drawn(weights []float64, first, count int, x float64) (leaf int) {
	if count == 1 {
		return first
	}
	left, right := summed(weights, first, count/2), summed(weights, first+count/2, count/2)
	if right > 0 && x >= left {
		return drawn(weights, first+count/2, count/2, x-left)
	}
	return drawn(weights, first, count/2, x)
}

func summed(weights []float64, first, count int) float64 {
	if first >= len(weights) {
		return 0
	}
	if count == 1 {
		return weights[first]
	}
	return summed(weights, first, count/2) + summed(weights, first+count/2, count/2)
}

func TestSumTreeDrawsAsOneBinaryTreeWould(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 3))
		weights := make([]float64, 1+rng.IntN(9000))
		size := 64
		for size < len(weights) {
			size *= 2
		}
		tree := sumTree{weight: func(leaf int) float64 {
			if leaf < len(weights) {
				return weights[leaf]
			}
			return 0
		}}
		for range 200 {
			for range 20 {
				leaf := rng.IntN(len(weights))
				if weights[leaf] = rng.Float64(); rng.IntN(3) == 0 {
					weights[leaf] = 0
				}
				tree.Set(leaf)
			}
			if rng.IntN(5) == 0 {
				block := rng.IntN(len(weights)) / fan
				clear(weights[block*fan : min(len(weights), (block+1)*fan)])
				tree.Drop(block * fan)
			}
			total := summed(weights, 0, size)
			if got := tree.Total(); got != total {
				t.Fatalf("seed %d: total %v, want %v", seed, got, total)
			}
			if total == 0 {
				continue
			}
			u := rng.Float64()
			if got, want := tree.Find(u), drawn(weights, 0, size, u*total); got != want {
				t.Fatalf("seed %d: %g draws %d, want %d", seed, u, got, want)
			}
		}
		built := sumTree{weight: tree.weight}
		built.Build((len(weights)+fan-1)/fan, func(int) bool { return true })
		if built.Total() != tree.Total() {
			t.Errorf("seed %d: built %v, told %v", seed, built.Total(), tree.Total())
		}
	}
}

// One node at the highest slot must not cost what a full table does.
func TestLoneNodeAtTheLastSlotIsCheap(t *testing.T) {
	for _, spec := range []PolicySpec{indexPolicy, whittlePolicy, memorylessPolicy} {
		table, p := new(Table), spec.New()
		p.Attach(table)
		n := NewNode(DefaultParams(), 0)
		n.Estimate, n.Decay = 1, .1
		for _, slot := range []int{MaxNodes - 1, 0} {
			table.Put(slot, n)
			p.Touch(slot)
		}
		got := p.Pick(nil, 5, 1, rand.New(rand.NewPCG(1, 1)))
		if len(got) != 1 || p.Bytes() > 8<<20 {
			t.Errorf("%s: picks %v, holds %d bytes", spec.Name, got, p.Bytes())
		}
		table.Remove(0)
		p.Touch(0)
		if got := p.Pick(nil, 5, 1, rand.New(rand.NewPCG(1, 1))); len(got) != 1 || got[0] != MaxNodes-1 {
			t.Errorf("%s: picks %v of the last slot alone", spec.Name, got)
		}
		fresh := spec.New()
		fresh.Attach(table)
		if got := fresh.Pick(nil, 5, 1, rand.New(rand.NewPCG(1, 1))); len(got) != 1 || got[0] != MaxNodes-1 {
			t.Errorf("%s: picks %v when attached", spec.Name, got)
		}
	}
}
