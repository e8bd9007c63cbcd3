package zset

import (
	"fmt"
	"testing"
)

// twins are two members with the same hash, as any large set has some.
func twins(t *testing.T, s *Set) (a, b []byte) {
	t.Helper()
	seen := map[uint32]int{}
	for i := range 1 << 20 {
		member := fmt.Append(nil, "twin", i)
		if j, ok := seen[s.hashOf(member)]; ok {
			return fmt.Append(nil, "twin", j), member
		}
		seen[s.hashOf(member)] = i
	}
	t.Fatal("no two members have the same hash")
	return nil, nil
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
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			cursor = s.Scan(cursor, 1, func(member []byte, _ float64) { seen[string(member)]++ })
		}
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
