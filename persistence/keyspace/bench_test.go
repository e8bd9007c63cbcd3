package keyspace

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/persistence/slab"
)

// BenchmarkBytesOfAKey is what a key of 16 bytes takes beside its bytes and those of its value: its place in the table, and what
// its record has in front and behind. It is the mean over tables of 4,000 to 8,000 keys, a million to two in all shards.
func BenchmarkBytesOfAKey(b *testing.B) {
	for _, value := range []int{10, 50, 200} {
		b.Run(fmt.Sprintf("value=%d", value), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			beside, places, tables := 0.0, 0.0, 0
			for b.Loop() {
				for n := 4000; n < 8000; n += 500 {
					var p slab.Pool
					var mem int64
					t := NewTable(0, &p, &mem, 0)
					for i := range n {
						t.AddInline(r.Uint64()>>8, fmt.Appendf(nil, "key:%012d", i), make([]byte, value), 0, Dirty)
					}
					beside += float64(mem)/float64(n) - float64(16+value)
					places += float64(SlotBytes) * float64(t.Places()) / float64(n)
					tables++
					p.Close()
				}
			}
			b.ReportMetric(beside/float64(tables), "B/key")
			b.ReportMetric(places/float64(tables), "B/place")
		})
	}
}
