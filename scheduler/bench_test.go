package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkPick is one step: a pick and the observation of it.
func BenchmarkPick(b *testing.B) {
	for _, name := range []string{"index", "whittle", "memoryless"} {
		for _, n := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("policy=%s/n=%d", name, n), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				table, est := new(Table), fixed{}
				for slot := range n {
					p := DefaultParams()
					p.Rate, p.Decay = rng.Float64(), .01+rng.Float64()/10
					Enter(table, est, slot, p, 0)
				}
				policy := policyNamed(b, name).New()
				policy.Attach(table)
				var picks []int
				step := int64(0)
				b.ReportAllocs()
				for b.Loop() {
					step++
					picks = policy.Pick(picks[:0], step, 1, rng)
					for _, slot := range picks {
						Observe(table, policy, est, slot, 1, step)
					}
				}
			})
		}
	}
}
