package zset

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// members makes names of 15 bytes.
func members(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = fmt.Appendf(nil, "member:%08d", i)
	}
	return all
}

// benchSet makes a set of members with random scores.
func benchSet(b *testing.B, r *rand.Rand, names [][]byte) *Set {
	b.Helper()
	entries := make([]Entry, len(names))
	for i, name := range names {
		entries[i] = Entry{name, r.Float64()}
	}
	s, err := Build(testKeys(1), entries)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		names := members(n)
		r := rand.New(rand.NewPCG(1, 2))
		each := func(name string, f func(s *Set)) {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				s := benchSet(b, r, names)
				b.ReportAllocs()
				for b.Loop() {
					f(s)
				}
			})
		}
		each("move", func(s *Set) { s.Add(nil, names[r.IntN(n)], r.Float64(), 0) })
		each("increment", func(s *Set) { s.Add(nil, names[r.IntN(n)], 1e-9, Increment) })
		each("rank", func(s *Set) { s.Rank(names[r.IntN(n)]) })
		each("range", func(s *Set) { s.Range(r.IntN(n), 10, func([]byte, float64) bool { return true }) })
		each("score range", func(s *Set) {
			s.Range(s.Before(BeforeScore(r.Float64())), 10, func([]byte, float64) bool { return true })
		})
		each("remove and add", func(s *Set) {
			name := names[r.IntN(n)]
			s.Remove(nil, name)
			s.Add(nil, name, r.Float64(), 0)
		})
		each("pop and add", func(s *Set) {
			var name [15]byte
			s.Pop(nil, Least, 1, func(member []byte, _ float64) { copy(name[:], member) })
			s.Add(nil, name[:], r.Float64(), 0)
		})
		b.Run(fmt.Sprintf("add new/n=%d", n), func(b *testing.B) {
			s := New(testKeys(1))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if s.Add(nil, names[i], r.Float64(), 0); i+1 == n {
					s, i = New(testKeys(1)), -1
				}
				i++
			}
		})
		b.Run(fmt.Sprintf("read back/n=%d", n), func(b *testing.B) {
			s := benchSet(b, r, names)
			for b.Loop() {
				again, _ := Decode(s.AppendHead(nil), testKeys(1))
				s.Pages(true, func(id uint64, page []byte) { _ = again.SetPage(id, page) })
				if err := again.Complete(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.Size())/float64(n), "B/member")
		})
	}
}
