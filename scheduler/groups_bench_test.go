package scheduler

import (
	"fmt"
	"math"
	"testing"
)

// BenchmarkGroups is a step of a crawl of hosts of Zipf sizes, each of which may be asked
// once in some steps: a pick, a hand-out, an observation.
func BenchmarkGroups(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			f := newField(indexPolicy)
			hosts := n / 10
			for h := range hosts {
				f.table.Groups.Put(int32(h+1), Group{Limits: Limits{Steps: int64(1 + f.rng.IntN(2*n))}})
			}
			for slot := range n {
				p := DefaultParams()
				p.Rate, p.Group = f.rng.Float64(), int32(math.Pow(float64(hosts), f.rng.Float64()))
				Enter(f.table, fixed{}, slot, p, 0)
			}
			f.policy.Attach(f.table)
			step := func() {
				f.step++
				f.call(func() {
					f.table.Groups.Open(f.policy, 0, f.step)
					f.picks = f.policy.Pick(f.picks[:0], f.step, 1, nil)
					for _, slot := range f.picks {
						f.table.Groups.Give(f.policy, f.table.GroupOf(slot), 0, f.step, true)
						Observe(f.table, f.policy, fixed{}, slot, 1, f.step)
					}
				})
			}
			for range 2 * n {
				step()
			}
			bytes := f.policy.Bytes()
			f.pauses = f.pauses[:0]
			for b.Loop() {
				step()
			}
			f.worst(b)
			b.ReportMetric(float64(bytes)/float64(n), "bytes/node")
		})
	}
}
