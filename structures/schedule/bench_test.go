package schedule

import (
	"bytes"
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
					picks, err := s.Next(ch, 1, 1000, 1000, NamesOnly)
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

// stored is a schedule of n nodes as the disk has it.
func stored(tb testing.TB, n int) (head []byte, pages [][]byte) {
	tb.Helper()
	s := observedSchedule(tb, n, memoryCases[0].change, memoryCases[0].params)
	s.Pages(true, func(_ uint64, page []byte) { pages = append(pages, bytes.Clone(page)) })
	return s.AppendHead(nil), pages
}

// BenchmarkLoad reads a schedule back and asks it for a node.
func BenchmarkLoad(b *testing.B) {
	const n = 100_000
	head, pages := stored(b, n)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Decode(head, testKey)
		if err != nil {
			b.Fatal(err)
		}
		for id, page := range pages {
			if err := s.SetPage(uint64(id), page); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Complete(); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Peek(1, 1000, NamesOnly); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
}

// BenchmarkStore encodes all pages of a schedule.
func BenchmarkStore(b *testing.B) {
	const n = 100_000
	s := observedSchedule(b, n, memoryCases[0].change, memoryCases[0].params)
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = 0
		s.Pages(true, func(_ uint64, page []byte) { size += len(page) })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
	b.ReportMetric(float64(size)/n, "B/node")
}

// BenchmarkAdd adds a million nodes to a new schedule, again and again.
func BenchmarkAdd(b *testing.B) {
	s, i := make1(b, nil), 0
	ch, p := new(structures.Change), scheduler.DefaultParams()
	var name []byte
	b.ReportAllocs()
	for b.Loop() {
		if i == 1_000_000 {
			s, i = make1(b, nil), 0
		}
		ch.Reset(1 << 20)
		name = fmt.Appendf(name[:0], "node-%07d", i)
		p.Rate = float64(i%97+1) / 100
		if _, err := s.Add(ch, name, p, 1000); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkCost is a SCHED.COST, on the copy that it works on.
func BenchmarkCost(b *testing.B) {
	const n = 1_000_000
	nodes := manyNodes(n)
	for _, p := range scheduler.Policies() {
		b.Run(fmt.Sprintf("policy=%s/n=%d", p.Name, n), func(b *testing.B) {
			s := make1(b, func(c *Config) { c.Policy = p.Name })
			snap, err := s.Snapshot()
			if err != nil {
				b.Fatal(err)
			}
			snap.nodes = nodes
			for b.Loop() {
				if _, err := snap.Cost(b.Context(), 1_000_000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
