package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// known2 is what was computed elsewhere about copies and bounds.
type known2 struct {
	Placement struct {
		Copysets []struct {
			Units, Copies, Failed, Scatter, Sets int
			Loss                                 float64
			Random                               float64 `json:"loss_random_1e6_objects"`
		}
		Bounded []struct {
			Mean, Bound float64
			Cap         int
			Displaced   float64 `json:"displaced_first_order"`
		}
		Nested []struct {
			Capacities   []float64
			Copies, Most int
			Expected     []float64
		}
	}
}

func readScheduler2(t *testing.T) (k known2) {
	t.Helper()
	b, err := os.ReadFile("testdata/known2.json")
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	if err != nil || len(k.Placement.Nested) == 0 {
		t.Fatal(err, k)
	}
	return k
}

func TestBoundsAreTheKnownOnes(t *testing.T) {
	for _, k := range readScheduler2(t).Placement.Bounded {
		if got := DisplacedShare(k.Mean, k.Bound); math.Abs(got-k.Displaced) > 1e-12 {
			t.Errorf("mean %v, bound %v: displaced %v, want %v", k.Mean, k.Bound, got, k.Displaced)
		}
		// Seven units, mean objects each.
		if got := ceiling(5, 35, int(7*k.Mean), uint64(math.Round(k.Bound*boundUnit))); got != k.Cap {
			t.Errorf("mean %v, bound %v: at most %d, want %d", k.Mean, k.Bound, got, k.Cap)
		}
	}
}

// checkHeld says whether loads are those of the objects that a model knows.
func checkHeld(t *testing.T, m *Map, model map[uint64]bool) {
	t.Helper()
	loads := make([]int, len(m.slots))
	for hash := range model {
		at := m.Locate(hash)
		if !m.IsAssigned(hash) || m.Name(at) == "" {
			t.Fatalf("object %d is on slot %d", hash, at)
		}
		loads[at]++
	}
	for at, want := range loads {
		if got := m.load(at).Objects; got != want {
			t.Fatalf("slot %d: load %d, want %d", at, got, want)
		}
	}
	if m.Assigned() != len(model) {
		t.Fatalf("%d objects, want %d", m.Assigned(), len(model))
	}
}

// No unit is above its bound: not while objects come, not when one leaves and one
// comes, not after a change of units.
func TestNoUnitIsAboveItsBound(t *testing.T) {
	for _, bound := range []float64{.001, .05, .25, 1} {
		m := mapOf(t, Options{Seed: 5, Bound: bound}, manyUnits(true, 20)...)
		model, r := map[uint64]bool{}, rand.New(rand.NewPCG(1, 2))
		var all []uint64
		within := func(what string) {
			t.Helper()
			total := 0.0
			for _, s := range m.slots {
				total += s.decimal
			}
			for at, s := range m.slots {
				most := math.Ceil((1+bound)*s.decimal*float64(len(model))/total - 1e-6)
				if got := m.load(at).Objects; float64(got) > most {
					t.Fatalf("bound %v, %s: slot %d has %d objects, at most %v", bound, what, at, got, most)
				}
			}
		}
		assign := func() {
			hash := r.Uint64()
			at, added, err := m.Assign(hash)
			if err != nil || !added {
				t.Fatal(at, added, err)
			}
			if again, added, err := m.Assign(hash); again != at || added || err != nil {
				t.Fatalf("assigned again: %d, %v, %v, want %d", again, added, err, at)
			}
			all, model[hash] = append(all, hash), true
		}
		for range 2000 {
			assign()
			within("filling")
		}
		for range 2000 {
			i := r.IntN(len(all))
			if !m.Release(all[i]) || m.Release(all[i]) {
				t.Fatal("released twice, or not at all")
			}
			delete(model, all[i])
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			assign()
			within("one left and one came")
		}
		checkHeld(t, m, model)
		for _, change := range []func() error{
			func() error { return m.Set(Unit{Name: "new", Capacity: 300}) },
			func() error { return m.Remove("u3", "u7") },
			func() error { return m.Set(Unit{Name: "u1", Capacity: 1}, Unit{Name: "u5", Capacity: 100}) },
			func() error { return m.Set(Unit{Name: "u3", Capacity: 50}) },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			within("after a change")
			checkHeld(t, m, model)
		}
	}
}

// When all objects are known from the start, as many are displaced as the formula
// says; when they come one by one more, as what was displaced early stays so.
func TestFewObjectsAreDisplaced(t *testing.T) {
	for _, c := range []struct {
		units, mean  int
		bound        float64
		one, churned float64 // at most, one by one, and after twice as many have left and come
	}{{100, 100, .05, .18, .2}, {100, 100, .1, .11, .12}, {100, 100, .25, .04, .03}, {100, 10, .25, .18, .2}} {
		m := mapOf(t, Options{Seed: 9, Bound: c.bound}, manyUnits(false, c.units)...)
		objects := c.units * c.mean
		loads, excess, first := make([]float64, c.units), 0.0, DisplacedShare(float64(c.mean), c.bound)
		for i := range uint64(40 * objects) { // forty times over
			loads[m.Locate(Mix(i))]++
			if (i+1)%uint64(objects) == 0 {
				for at, load := range loads {
					excess += max(load-float64(ceiling(1, Capacity(c.units), objects, uint64(c.bound*boundUnit))), 0) / 40
					loads[at] = 0
				}
			}
		}
		if got := excess / float64(objects); math.Abs(got-first) > .15*first+2e-4 {
			t.Errorf("mean %d, bound %v: %.5f displaced, %.5f by the formula", c.mean, c.bound, got, first)
		}
		assign := func(i int) {
			if _, _, err := m.Assign(Mix(uint64(i))); err != nil {
				t.Fatal(err)
			}
		}
		displaced := func(from int) (share float64) {
			for i := range objects {
				if hash := Mix(uint64(from + i)); m.Locate(hash) != m.strategy.Locate(hash) {
					share += 1 / float64(objects)
				}
			}
			return share
		}
		for i := range objects {
			assign(i)
		}
		one := displaced(0)
		for i := range 2 * objects {
			m.Release(Mix(uint64(i)))
			assign(objects + i)
		}
		churned := displaced(2 * objects)
		t.Logf("mean %d, bound %v: displaced %.4f by the formula, %.4f one by one, %.4f after churn", c.mean, c.bound, first, one, churned)
		if one > c.one || churned > c.churned || one == 0 {
			t.Errorf("mean %d, bound %v: displaced %.4f, then %.4f, want at most %v, %v", c.mean, c.bound, one, churned, c.one, c.churned)
		}
	}
}

// Random changes, against a set of objects; what is decoded goes on as the map would
// have, and a preview counts what then moves.
func TestObjectsSurviveRandomChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	m, model := mapOf(t, Options{Seed: 5, Bound: .1, Copies: 2}, Unit{Name: "a", Capacity: 3}, Unit{Name: "b", Capacity: 2}), map[uint64]bool{}
	for step := range 3000 {
		hash := uint64(r.IntN(400)) << 55 // many meet in the table
		switch k := r.IntN(20); {
		case k < 12:
			if _, added, err := m.Assign(hash); err != nil || added == model[hash] {
				t.Fatal(added, err)
			}
			model[hash] = true
		case k < 18:
			if m.Release(hash) != model[hash] {
				t.Fatalf("step %d: released %v", step, !model[hash])
			}
			delete(model, hash)
		default:
			u := Unit{Name: fmt.Sprint("u", r.IntN(6)), Capacity: float64(1 + r.IntN(9))}
			p, err := m.PreviewSet(u)
			if err != nil {
				t.Fatal(err)
			}
			was := m.Clone()
			if _, known := m.Unit(u.Name); known && r.IntN(2) == 0 && m.Len() > 2 {
				p, err = m.PreviewRemove(u.Name)
				err = errors.Join(err, m.Remove(u.Name))
			} else {
				err = m.Set(u)
			}
			if err != nil {
				t.Fatal(err)
			}
			moved := 0
			for hash := range model {
				if was.Name(was.Locate(hash)) != m.Name(m.Locate(hash)) {
					moved++
				}
			}
			if n := len(model); n > 0 && math.Abs(p.Moved-float64(moved)/float64(n)) > 1e-9 {
				t.Fatalf("step %d: %d of %d moved, preview says %v", step, moved, n, p.Moved)
			}
		}
		if step%50 == 0 {
			checkHeld(t, m, model)
			next, err := Decode(encoded(t, m))
			if err != nil {
				t.Fatal(err)
			}
			m = next
			checkHeld(t, m, model)
		}
	}
}

func TestAssigningIsRefused(t *testing.T) {
	if _, _, err := newMap(t, "jump", 3).Assign(1); !errors.Is(err, ErrBound) {
		t.Errorf("without a bound: %v", err)
	}
	m := mapOf(t, Options{Bound: .5})
	if _, _, err := m.Assign(1); !errors.Is(err, ErrEmpty) || m.Release(1) {
		t.Errorf("without units: %v", err)
	}
	if err := m.Set(Unit{Name: "a", Capacity: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(MaxObjects) {
		if _, _, err := m.Assign(i); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := m.Assign(MaxObjects); !errors.Is(err, ErrObjects) {
		t.Errorf("one too many: %v", err)
	}
	if _, added, err := m.Assign(5); err != nil || added {
		t.Errorf("one of those that are there: %v, %v", added, err)
	}
	for _, o := range []Options{{Bound: -1}, {Bound: math.NaN()}, {Bound: 1e-4}, {Bound: 1001}, {Spread: -1}, {Spread: 65}, {Scatter: -1}, {Scatter: 65},
		{Scatter: 2, Strategy: "jump"}, {Scatter: 2, Copies: 1}, {Scatter: 2, Spread: 1}, {Scatter: 2, Bound: .5}} {
		if _, err := NewMap(o); !errors.Is(err, ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	m := mapOf(b, Options{Bound: .1}, manyUnits(true, 100)...)
	for i := range uint64(100_000) {
		if _, _, err := m.Assign(Mix(i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		m.Release(Mix(i))
		if _, _, err := m.Assign(Mix(i + 100_000)); err != nil {
			b.Fatal(err)
		}
	}
}
