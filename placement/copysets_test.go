package placement

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLossIsTheKnownOne(t *testing.T) {
	// The known values are 1-(1-x)^n with 1-x rounded, which n multiplies.
	const tolerance = 1.5e-11
	for _, k := range readScheduler2(t).Placement.Copysets {
		m := mapOf(t, Options{Scatter: k.Scatter, Copies: k.Copies}, manyUnits(false, k.Units)...)
		if m.Sets() != k.Sets {
			t.Errorf("%d units: %d sets, want %d", k.Units, m.Sets(), k.Sets)
		}
		if got := LossProbability(k.Units, k.Copies, float64(k.Sets), k.Failed); math.Abs(got-k.Loss) > tolerance {
			t.Errorf("%d units: loss %v, want %v", k.Units, got, k.Loss)
		}
		if got := LossProbability(k.Units, k.Copies, RandomSets(k.Units, k.Copies, 1e6), k.Failed); math.Abs(got-k.Random) > tolerance {
			t.Errorf("%d units, random: loss %v, want %v", k.Units, got, k.Random)
		}
	}
	if LossProbability(10, 3, 1e9, 5) != 1 || LossProbability(10, 3, 4, 2) != 0 {
		t.Error("more sets than there are, or fewer failures than copies")
	}
}

// checkSets says whether sets are what the strategy promises.
func checkSets(t *testing.T, m *Map) (least, most int32) {
	t.Helper()
	c := m.strategy.(*copysets)
	if c.count() != c.wanted() {
		t.Fatalf("%d units, %d sets, want %d", m.Len(), c.count(), c.wanted())
	}
	places := map[int32]int32{}
	for i := range c.count() {
		domains := map[string]bool{}
		for _, u := range c.set(i) {
			d := m.slots[u].domain
			if d == "" {
				d = "alone " + m.slots[u].name
			}
			domains[d] = true
			places[u]++
		}
		if len(domains) != c.width || m.Domains() != c.width {
			t.Fatalf("set %v is in %d domains, width %d of %d", c.set(i), len(domains), c.width, m.Domains())
		}
	}
	least = math.MaxInt32
	for _, u := range c.units {
		least, most = min(least, places[u]), max(most, places[u])
		if places[u] != c.places[u] {
			t.Fatalf("unit %d has %d places, %d are counted", u, places[u], c.places[u])
		}
	}
	return least, most
}

// Through joins and leaves all units have as many places, up to one, each set is in
// different domains, and a change moves little more than the unit's own copies.
func TestCopysetsStayLevel(t *testing.T) {
	const k = 3
	m := mapOf(t, Options{Scatter: 4, Copies: k, Seed: 8}, manyUnits(false, 40)...)
	r := rand.New(rand.NewPCG(3, 3))
	moved, own, joined := 0.0, 0.0, 0
	for step := range 120 {
		was := m.Clone()
		if n := m.Len(); n < 10 || r.IntN(2) == 0 && n < 60 {
			if err := m.Set(Unit{Name: fmt.Sprint("new", joined), Capacity: 10}); err != nil {
				t.Fatal(err)
			}
			joined++
		} else if err := m.Remove(m.Units()[r.IntN(n)].Name); err != nil {
			t.Fatal(err)
		}
		if least, most := checkSets(t, m); most-least > 1 {
			t.Fatalf("step %d, %d units: %d to %d places", step, m.Len(), least, most)
		}
		const objects = 2000
		var a, b []int
		for i := range uint64(objects) {
			a, _ = was.LocateCopies(Mix(i), k, a[:0])
			b, _ = m.LocateCopies(Mix(i), k, b[:0])
			for _, u := range a {
				if !slices.ContainsFunc(b, func(v int) bool { return m.Name(v) == was.Name(u) }) {
					moved += 1.0 / objects
				}
			}
		}
		own += k / float64(max(m.Len(), was.Len()))
	}
	t.Logf("moved %.3f copies, %.3f of the units that came and went", moved, own)
	if moved > 2.2*own {
		t.Errorf("moved %.3f copies, %.3f were on the units that came and went", moved, own)
	}
}

// Domains come, go and grow unequal; sets stay in different ones, and every unit has
// a place where domains are equal.
func TestCopysetsKeepDomainsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	m := mapOf(t, Options{Scatter: 4, Seed: 8}, Unit{Name: "u0", Capacity: 1, Domain: "r0"})
	for step := range 300 {
		if n := m.Len(); n > 30 || n > 1 && r.IntN(3) == 0 {
			if err := m.Remove(m.Units()[r.IntN(n)].Name); err != nil {
				t.Fatal(err)
			}
		} else if err := m.Set(Unit{Name: fmt.Sprint("u", r.IntN(40)), Capacity: 1, Domain: fmt.Sprint("r", r.IntN(6))}); err != nil {
			t.Fatal(err)
		}
		checkSets(t, m)
		if step%20 == 0 {
			again, err := Decode(encoded(t, m))
			if err != nil {
				t.Fatal(err)
			}
			m = again
			checkSets(t, m)
		}
	}
	units := manyUnits(false, 60)
	for i := range units {
		units[i].Domain = fmt.Sprint("rack", i%5)
	}
	m = mapOf(t, Options{Scatter: 6, Seed: 8}, units...)
	if least, most := checkSets(t, m); least != 3 || most != 3 {
		t.Errorf("racks alike: %d to %d places, want 3", least, most)
	}
}

func BenchmarkCopysetsBuild(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			units := manyUnits(false, n)
			for b.Loop() {
				m := mapOf(b, Options{Scatter: 4}, units...)
				if m.Sets() == 0 {
					b.Fatal("no sets")
				}
			}
		})
	}
}
