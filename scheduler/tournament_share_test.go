package scheduler

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// Many nodes with much due at once are what several goroutines are for: picks
// must be the scan's, whether one goroutine plays or four do.
func TestSharedMatchesPickWhatAScanPicks(t *testing.T) {
	nodes := max(8, testscale.Rounds(40)) * fan * fan // 40 blocks of sharedLevel
	for _, workers := range testscale.Some([]int{4, 1}) {
		restore := runtime.GOMAXPROCS(workers)
		t.Cleanup(func() { runtime.GOMAXPROCS(restore) })
		for name, kind := range map[string]string{"index": "uniform", "whittle": "ties", "freshness": "uniform"} {
			const seed = 31
			f := newField(policyNamed(t, name))
			f.rng = rand.New(rand.NewPCG(seed, 1))
			for slot := range nodes {
				n := kinds[kind](f.rng)
				f.table.Put(slot, n)
				f.policy.Touch(slot)
			}
			for round := range 12 {
				f.step += []int64{1, 1, 3, 1000, 100_000}[round%5]
				if round == 6 {
					f.policy.Attach(f.table)
				}
				count := 1 + f.rng.IntN(3)
				got, want := f.policy.Pick(nil, f.step, count, nil), scanned(f.table, name, f.step, count)
				if !slices.Equal(got, want) {
					t.Fatalf("%s seed %d step %d: %d workers pick %v, a scan %v", name, seed, f.step, workers, got, want)
				}
				for slot := f.rng.IntN(9); slot < nodes; slot += 1 + f.rng.IntN(999) { // probed
					n := f.table.Node(slot)
					n.Last = f.step
					f.table.Store(slot, &n)
					f.policy.Touch(slot)
				}
			}
		}
	}
}
