package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkThompsonStep is a pick and the learning of what it found, after the
// start plan. longest-ms is the longest pick of them, with -benchtime 2000x those
// in which the order of the nodes settles.
func BenchmarkThompsonStep(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			models := scattered(n, 1)
			table, p := new(Table), thompsonPolicy.New()
			for slot := range models {
				Enter(table, fixed{}, slot, DefaultParams(), 0)
			}
			p.Attach(table)
			w, rng := season{noisy: true}, rand.New(rand.NewPCG(1, 1))
			step, picks := int64(0), []int(nil)
			var longest time.Duration
			one := func(count int) {
				step++
				begin := time.Now()
				picks = p.Pick(picks[:0], step, count, nil)
				longest = max(longest, time.Since(begin))
				for _, slot := range picks {
					node := table.Node(slot)
					Observe(table, p, fixed{}, slot, w.reward(models[slot], node.Age(step), rng), step)
				}
			}
			for range 40 {
				one(n / 10)
			}
			b.ReportAllocs()
			longest = 0
			for b.Loop() {
				one(1)
			}
			b.ReportMetric(longest.Seconds()*1000, "longest-ms")
		})
	}
}

// BenchmarkThompsonShare reports which share of what full knowledge earns thompson
// has earned after so many steps, in the mean of three seeds, and in the last
// fifth of the steps.
func BenchmarkThompsonShare(b *testing.B) {
	_, weighted := table1(true)
	slow := make([]Interest, len(weighted))
	for i, m := range weighted {
		m.Arrival = 2.5
		slow[i] = m
	}
	for _, w := range []struct {
		name string
		season
	}{{"nodes=4/items=2.5", season{slow, 1, true}}, {"nodes=40/crawlers=2", season{scattered(40, 101), 2, true}}} {
		for _, steps := range []int64{500, 2000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/steps=%d", w.name, steps), func(b *testing.B) {
				for b.Loop() {
					all, late := 0.0, 0.0
					for seed := uint64(1); seed <= 3; seed++ {
						got, known := w.play(b, "thompson", steps, seed), w.play(b, "whittle", steps, seed)
						all += totalOf(got) / totalOf(known) / 3
						late += totalOf(got[steps*4/5:]) / totalOf(known[steps*4/5:]) / 3
					}
					b.ReportMetric(all, "share")
					b.ReportMetric(late, "late-share")
				}
			})
		}
	}
}
