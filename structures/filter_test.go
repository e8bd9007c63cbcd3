package structures_test

import (
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
)

func TestFilterKnowsAllAndFewOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 7, 200, 500, 5000} {
		f := structures.NewFilter(n)
		added := map[uint32]bool{}
		for range n {
			hash := r.Uint32()
			added[hash] = true
			f.Add(hash)
		}
		for hash := range added {
			if !f.May(hash) {
				t.Fatalf("filter of %d: %x was added", n, hash)
			}
		}
		doubts := 0
		const others = 20000
		for range others {
			if hash := r.Uint32(); f.May(hash) && !added[hash] {
				doubts++
			}
		}
		if n == 0 && doubts > 0 || doubts > others/40 {
			t.Errorf("filter of %d: in doubt about %d of %d", n, doubts, others)
		}
	}
}
