package persistence

import (
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkMaterialiseExpiring writes 200,000 heads that expire within an hour, in
// one place: 100 bytes each.
func BenchmarkMaterialiseExpiring(b *testing.B) {
	const keys = 200_000
	for b.Loop() {
		b.StopTimer()
		r := rand.New(rand.NewPCG(1, 0))
		s := benchStore(b, Options{JournalBound: 1 << 40, Now: func() int64 { return 1 }})
		all(s, 1, func(tx *Tx) {
			for i := range keys {
				tx.SetString(benchKey(nil, i), make([]byte, 100), Expiry(1+r.Int64N(3600_000)))
			}
		})
		b.StartTimer()
		materialise(b, s)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
}

// BenchmarkExpireOnDisk deletes 50,000 keys that only the disk has.
func BenchmarkExpireOnDisk(b *testing.B) {
	const keys = 50_000
	for b.Loop() {
		b.StopTimer()
		s := benchStore(b, Options{JournalBound: 1 << 40, Now: func() int64 { return 1 }})
		all(s, 1, func(tx *Tx) {
			for i := range keys {
				tx.SetString(benchKey(nil, i), make([]byte, 100), Expiry(1000))
			}
		})
		spillAll(b, s)
		b.StartTimer()
		if n := s.ExpireCycle(2000, 100*time.Second); n != keys {
			b.Fatalf("%d keys expired", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
}
