package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/scheduler"
	"github.com/vigildb/vigil/structures"
)

// BenchmarkNext is one NEXT and one OBSERVE, recorded.
func BenchmarkNext(b *testing.B) {
	for _, policy := range []string{"index", "whittle", "memoryless"} {
		for _, n := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("policy=%s/n=%d", policy, n), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				s := make1(b, func(c *Config) { c.Policy = policy })
				for i := range n {
					p := scheduler.DefaultParams()
					p.Rate, p.Decay = rng.Float64(), .01+rng.Float64()/10
					if _, err := s.Add(nil, fmt.Appendf(nil, "node-%d", i), p, 1000); err != nil {
						b.Fatal(err)
					}
				}
				ch := new(structures.Change)
				name := make([]byte, 0, 64)
				b.ReportAllocs()
				for b.Loop() {
					ch.Reset(1 << 20)
					picks, err := s.Next(ch, 1, 1000, 1000)
					if err != nil {
						b.Fatal(err)
					}
					for _, p := range picks {
						name = append(name[:0], p.Node...)
						if err := s.Observe(ch, name, 1, 1000); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
