package set

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestAlgebraEqualsThatOfMaps compares with maps, for sets of any sizes and kinds.
func TestAlgebraEqualsThatOfMaps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	common := 0
	for round := 0; round < 100 || common < 1000; round++ { // fewer would be no trial
		sets := make([]*Set, 1+r.IntN(4)+r.IntN(10)/9*20)
		span, share := 1+r.IntN(9000), r.IntN(3)
		for i := range sets {
			if i > 0 && r.IntN(5) == 0 {
				sets[i] = sets[r.IntN(i)]
				continue
			}
			sets[i] = New(testKeys(1))
			for range []int{0, 3, 100, 24_000 / (len(sets) + 3)}[r.IntN(4)] {
				if n := r.IntN(span); share == 0 || share == 1 && n%2 == 0 {
					sets[i].Add(nil, fmt.Append(nil, (n-span/2)*n))
				} else {
					sets[i].Add(nil, fmt.Append(nil, "word", n))
				}
			}
		}
		first := members(t, sets[0])
		union, inter, diff := maps.Clone(first), maps.Clone(first), maps.Clone(first)
		for _, s := range sets[1:] {
			has := members(t, s)
			maps.Copy(union, has)
			maps.DeleteFunc(inter, func(m string, _ bool) bool { return !has[m] })
			maps.DeleteFunc(diff, func(m string, _ bool) bool { return has[m] })
		}
		common += len(inter)
		if got := members(t, Union(sets, testKeys(1))); !maps.Equal(got, union) {
			t.Fatalf("union of %d sets: got %d, want %d", len(sets), len(got), len(union))
		}
		check := func(what string, want map[string]bool, each func(visit func([]byte) bool)) {
			t.Helper()
			got := map[string]bool{}
			each(func(m []byte) bool { got[string(m)] = true; return true })
			if !maps.Equal(got, want) {
				t.Fatalf("%s of %d sets: got %d, want %d", what, len(sets), len(got), len(want))
			}
			limit, n := len(want)/2, 0
			each(func([]byte) bool { n++; return n < limit })
			if limit > 0 && n != limit {
				t.Fatalf("%s of %d sets, stopped at %d: visited %d", what, len(sets), limit, n)
			}
		}
		check("union", union, func(visit func([]byte) bool) { Unite(sets, testKeys(1), visit) })
		check("intersection", inter, func(visit func([]byte) bool) { Intersect(sets, visit) })
		check("difference", diff, func(visit func([]byte) bool) { Subtract(sets[0], sets[1:], testKeys(1), visit) })
	}
}

func BenchmarkIntersect(b *testing.B) {
	for _, word := range []string{"", "member-"} {
		var sets []*Set
		for i := range 2 {
			s := New(testKeys(1))
			for n := range 1000 {
				s.Add(nil, fmt.Append(nil, word, n*2+i*(n%2)))
			}
			sets = append(sets, s)
		}
		b.Run(fmt.Sprintf("1000x1000/%q", word), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Intersect(sets, func([]byte) bool { return true })
			}
		})
	}
}

func BenchmarkAddAndHas(b *testing.B) {
	const n = 1_000_000
	for _, word := range []string{"", "member-0000"} {
		texts := make([][]byte, n)
		for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
			texts[i] = fmt.Append(nil, word, at)
		}
		var s *Set
		b.Run(fmt.Sprintf("add/%q", word), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					s = New(testKeys(1))
				}
				s.Add(nil, texts[i%n])
			}
			b.ReportMetric(float64(s.Size())/float64(s.Len()), "B/member")
		})
		b.Run(fmt.Sprintf("has/%q", word), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				s.Has(texts[i*7%n])
			}
		})
	}
}
