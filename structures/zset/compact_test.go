package zset

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures"
)

// A set that was compacted and loaded again, into one that was something else before,
// is the set, and the same changes have the same results.
func TestCompactSetIsTheSet(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var other structures.Compact = New(testKeys(1))
	small, large := 0, 0
	for round := range 200 {
		m := &model{T: t, r: rand.New(rand.NewPCG(seed, uint64(round))), set: New(testKeys(1)), want: map[string]float64{}, names: 60, long: 20}
		for range 1 + m.r.IntN(80) {
			m.step(true)
			if !m.set.IsCompact(1024) {
				large++
				continue
			}
			small++
			b := m.set.AppendCompact([]byte("x"))
			if b[0] != 'x' || len(b) > 1024+32 {
				t.Fatalf("appended %d bytes", len(b))
			}
			other.LoadCompact(b[1:])
			loaded := other.(*Set)
			check(t, loaded)
			same(t, loaded, m.set)
			if loaded.Encoding(10, 30) != m.set.Encoding(10, 30) || !bytes.Equal(loaded.AppendHead(nil), m.set.AppendHead(nil)) {
				t.Fatal("the set that was loaded says something else of itself")
			}
			if m.r.IntN(2) == 0 {
				was := m.set
				m.set = loaded
				for range m.r.IntN(10) {
					m.step(true)
				}
				check(t, loaded)
				m.compare()
				other = was // loaded into again
			}
		}
	}
	if small == 0 || large == 0 {
		t.Errorf("%d were small and %d large", small, large)
	}
}

func TestSetsThatDoNotFitAreNotCompacted(t *testing.T) {
	large, many := New(testKeys(1)), New(testKeys(1))
	large.Add(nil, make([]byte, 1025), 1, 0)
	for i := range 1000 {
		many.Add(nil, fmt.Append(nil, i), 1, 0)
	}
	for name, s := range map[string]*Set{"large": large, "many": many, "empty": New(testKeys(1))} {
		if s.IsCompact(1024) {
			t.Errorf("%s is said to be small", name)
		}
	}
}

func TestLoadingACompactSetAllocatesNothing(t *testing.T) {
	s, other := New(testKeys(1)), New(testKeys(1))
	for i := range 20 {
		s.Add(nil, fmt.Append(nil, "member", i), float64(i), 0)
	}
	b := s.AppendCompact(nil)
	other.LoadCompact(b)
	if n := testing.AllocsPerRun(100, func() {
		other.LoadCompact(b)
		b = other.AppendCompact(b[:0])
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}
