package stream

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchLimits are those of the server's default configuration.
var benchLimits = PageLimits{Bytes: 4096, Entries: 100}

// benchStream makes a stream of n entries, one a millisecond, of two fields.
func benchStream(n int) *Stream {
	s := New()
	for i := range n {
		s.Add(nil, ID{uint64(i + 1), 0}, benchEntry(i), benchLimits)
	}
	return s
}

func benchEntry(i int) [][]byte {
	return [][]byte{[]byte("id"), fmt.Appendf(nil, "%06d", i), []byte("path"), fmt.Appendf(nil, "%06d", i*7%1_000_000)}
}

func BenchmarkStream(b *testing.B) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	b.Run("add", func(b *testing.B) {
		s, i, entry := New(), 0, benchEntry(1)
		for b.Loop() {
			i++
			s.Add(nil, ID{uint64(i), 0}, entry, benchLimits)
		}
		b.ReportMetric(float64(s.Size())/float64(s.Len()), "B/entry")
	})
	b.Run("range of 10", func(b *testing.B) {
		s := benchStream(n)
		for b.Loop() {
			left := 10
			s.Each(ID{uint64(r.IntN(n)), 0}, MaxID, func(*Entry) bool { left--; return left > 0 })
		}
	})
	b.Run("deliver and ack", func(b *testing.B) {
		s := benchStream(n)
		g := s.CreateGroup(nil, []byte("g"), ID{}, 0)
		c := g.CreateConsumer(nil, []byte("c"), 1)
		before := s.Size()
		g.Deliver(nil, c, n-1, 1, false, func(*Entry) {})
		pending := float64(s.Size()-before) / float64(g.Pending())
		i := 0
		for b.Loop() {
			if i++; i == n {
				b.StopTimer()
				g.SetID(nil, ID{}, 0)
				g.Deliver(nil, c, n-1, 1, false, func(*Entry) {})
				b.StartTimer()
				i = 1
			}
			g.Ack(nil, []ID{{uint64(i), 0}})
		}
		b.ReportMetric(pending, "B/pending")
	})
}
