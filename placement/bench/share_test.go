package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/placement"
)

// SHARE moves less than twice the optimum as long as its stretch stays. The
// default stretch is a function of the number of units, and a step of it moves
// several times the optimum: whoever needs the bound gives one.
func TestShareIsTwoCompetitiveWithAStretchOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		stretch        float64
		steps, between [2]float64 // bounds of moved over optimum
	}{
		{stretch: 10.5, steps: [2]float64{1.5, 2}, between: [2]float64{1.5, 2}},
		{stretch: 0, steps: [2]float64{4, 8}, between: [2]float64{1.5, 2}},
	} {
		steps, between := shareRatios(t, c.stretch)
		t.Logf("stretch %v: %.3f where n passes 32, %.3f elsewhere", c.stretch, steps, between)
		if steps < c.steps[0] || steps > c.steps[1] {
			t.Errorf("stretch %v, n passes 32: moved %.3f of the optimum, want %v", c.stretch, steps, c.steps)
		}
		if between < c.between[0] || between > c.between[1] {
			t.Errorf("stretch %v: moved %.3f of the optimum, want %v", c.stretch, between, c.between)
		}
	}
}

// shareRatios plays random joins, leaves and changes around 32 units, for
// several seeds, and returns moved over optimum of those that pass 32, where
// the default stretch changes, and of all others.
func shareRatios(t *testing.T, stretch float64) (steps, between float64) {
	t.Helper()
	var moved, optimum [2]float64
	for seed := range uint64(8) {
		m, err := placement.NewMap(placement.Options{Strategy: "share", Stretch: stretch, Seed: seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 8))
		for i := range 30 {
			if err := m.Set(anyUnit(r, fmt.Sprint("u", i))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 60 {
			before := m.Len()
			p, err := anyChange(r, m, i)
			if err != nil {
				t.Fatal(err)
			}
			kind := 0
			if (before <= 32) != (m.Len() <= 32) {
				kind = 1
			}
			moved[kind] += p.Moved
			optimum[kind] += p.Optimum
		}
	}
	return moved[1] / optimum[1], moved[0] / optimum[0]
}

func anyUnit(r *rand.Rand, name string) placement.Unit {
	return placement.Unit{Name: name, Capacity: 1 + 99*r.Float64()}
}

// anyChange changes one unit and returns the preview of that.
func anyChange(r *rand.Rand, m *placement.Map, i int) (placement.Preview, error) {
	if r.IntN(3) == 0 {
		name := m.Units()[r.IntN(m.Len())].Name
		p, err := m.PreviewRemove(name)
		if err != nil {
			return p, err
		}
		return p, m.Remove(name)
	}
	u := anyUnit(r, fmt.Sprint("n", i))
	if r.IntN(2) == 0 {
		u.Name = m.Units()[r.IntN(m.Len())].Name
	}
	p, err := m.PreviewSet(u)
	if err != nil {
		return p, err
	}
	return p, m.Set(u)
}
