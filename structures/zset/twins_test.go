package zset

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/structurestest"
)

// twins are two members with the same hash, as any large set has some.
func twins(t *testing.T, s *Set) (a, b []byte) {
	t.Helper()
	return alike(t, func(member []byte) uint32 { return s.hashOf(member) })
}

// alike are two members for which hash is the same.
func alike(t *testing.T, hash func(member []byte) uint32) (a, b []byte) {
	t.Helper()
	seen := map[uint32]int{}
	for i := range 1 << 20 {
		member := fmt.Append(nil, "twin", i)
		h := hash(member)
		if j, ok := seen[h]; ok {
			return fmt.Append(nil, "twin", j), member
		}
		seen[h] = i
	}
	t.Fatal("no two members have the same hash")
	return nil, nil
}

// A cursor has one bit less than a hash: two members that differ in it are visited together,
// which a scan of one member a call would miss otherwise.
func TestMembersThatShareACursorAreVisited(t *testing.T) {
	for seed := byte(1); ; seed++ {
		s := New(testKeys(seed))
		a, b := alike(t, func(member []byte) uint32 { return s.hashOf(member) >> 1 })
		if s.hashOf(a) == s.hashOf(b) {
			continue
		}
		for i := range 1000 {
			s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
		}
		s.Add(nil, a, 100, 0)
		s.Add(nil, b, 600, 0)
		seen := map[string]int{}
		structurestest.Scan(t, func(cursor uint64) uint64 {
			return s.Scan(cursor, 1, func(member []byte, _ float64) { seen[string(member)]++ })
		})
		if len(seen) != 1002 || seen[string(a)] != 1 || seen[string(b)] != 1 {
			t.Errorf("seed %d: %d members were visited, the two %d and %d times", seed, len(seen), seen[string(a)], seen[string(b)])
		}
		return
	}
}

// In one leaf or in two, members with the same hash are found, visited and removed each
// on its own.
func TestMembersWithTheSameHashAreToldApart(t *testing.T) {
	for _, apart := range []float64{0, 500} {
		s := New(testKeys(1))
		for i := range 1000 {
			s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
		}
		a, b := twins(t, s)
		s.Add(nil, a, 100, 0)
		s.Add(nil, b, 100+apart, 0)
		seen := map[string]int{}
		structurestest.Scan(t, func(cursor uint64) uint64 {
			return s.Scan(cursor, 1, func(member []byte, _ float64) { seen[string(member)]++ })
		})
		if len(seen) != 1002 || seen[string(a)] != 1 || seen[string(b)] != 1 {
			t.Errorf("%v apart: %d members were visited, the twins %d and %d times", apart, len(seen), seen[string(a)], seen[string(b)])
		}
		s.Add(nil, a, 900, 0) // to another leaf
		check(t, s)
		if !s.Remove(nil, b) || s.Remove(nil, b) {
			t.Errorf("%v apart: the second twin was not removed once", apart)
		}
		if score, ok := s.Score(a); !ok || score != 900 {
			t.Errorf("%v apart: the first twin has %v, %v", apart, score, ok)
		}
		check(t, s)
	}
}

// Two entries of the index that are the same cannot be told by a delta: their bucket is written
// whole, also if it is evicted when the leaf of both is split.
func TestMembersWithTheSameHashSurviveDeltas(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	for _, split := range []bool{false, true} {
		s, d := evictedSet()
		for i := range 1000 {
			s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
		}
		a, b := twins(t, s)
		store := func() {
			d.stores = 1 // with deltas
			d.store(s)
			evictAll(s)
		}
		store()
		store()
		s.Add(nil, a, 100.5, 0)
		store()
		s.Add(nil, b, 100.5, 0)
		store()
		if split {
			for i := range 120 {
				s.Add(nil, fmt.Append(nil, "between", i), 100+float64(i%10)/10+0.01, 0)
				if i%10 == 0 {
					store()
				}
			}
			store()
		}
		s = d.load(t, s)
		check(t, s)
		if s.LoadAll(); d.failed {
			t.Fatalf("split %v: a page cannot be read", split)
		}
		for _, twin := range [][]byte{a, b} {
			if score, ok := s.Score(twin); !ok || score != 100.5 {
				t.Errorf("split %v: %q has %v, %v", split, twin, score, ok)
			}
		}
		check(t, s)
		if !s.Remove(nil, a) || !s.Remove(nil, b) || d.deltas == 0 {
			t.Errorf("split %v: the twins were not there, or %d deltas were written", split, d.deltas)
		}
		check(t, s)
	}
}
