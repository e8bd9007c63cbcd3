package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkThompsonStep is a pick and the learning of what it found, after the
// start plan.
func BenchmarkThompsonStep(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			models := scattered(n, 1)
			table, p := new(Table), thompsonPolicy.New()
			for slot := range models {
				Enter(table, fixed{}, slot, DefaultParams(), 0)
			}
			p.Attach(table)
			w, rng := season{noisy: true}, rand.New(rand.NewPCG(1, 1))
			step, picks := int64(0), []int(nil)
			one := func(count int) {
				step++
				picks = p.Pick(picks[:0], step, count, nil)
				for _, slot := range picks {
					node := table.Node(slot)
					Observe(table, p, fixed{}, slot, w.reward(models[slot], node.Age(step), rng), step)
				}
			}
			for range 40 {
				one(n / 10)
			}
			b.ReportAllocs()
			for b.Loop() {
				one(1)
			}
		})
	}
}
