package placement

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// newMap makes a map of a strategy with n units u0, u1 ... of capacities 1 to
// 100, or of equal ones.
func newMap(t testing.TB, strategy string, n int) *Map {
	t.Helper()
	m := mapOf(t, Options{Strategy: strategy, Seed: 42})
	if err := m.Set(manyUnits(m.spec.Weighted, n)...); err != nil {
		t.Fatalf("set %d units of %s: %v", n, strategy, err)
	}
	return m
}

// mapOf makes a map with options and units.
func mapOf(t testing.TB, o Options, units ...Unit) *Map {
	t.Helper()
	m, err := NewMap(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Set(units...); err != nil {
		t.Fatalf("set %d units of %s: %v", len(units), o.Strategy, err)
	}
	return m
}

func manyUnits(weighted bool, n int) []Unit {
	units := make([]Unit, n)
	for i := range units {
		units[i] = Unit{Name: fmt.Sprintf("u%d", i), Capacity: 10}
		if weighted {
			units[i].Capacity = float64(1 + i*37%100)
		}
	}
	return units
}

// encoded returns a map's bytes.
func encoded(t testing.TB, m *Map) []byte {
	t.Helper()
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBadChangesLeaveMapsAsTheyWere(t *testing.T) {
	for _, strategy := range []string{"slots", "jump"} {
		m := newMap(t, strategy, 3)
		before := encoded(t, m)
		long := string(make([]byte, MaxName+1))
		all := errors.New("")
		for _, c := range []struct {
			name string
			err  error
			want error
		}{
			{"capacity 0", m.Set(Unit{Name: "u0"}), ErrCapacity},
			{"capacity -1", m.Set(Unit{Name: "u0", Capacity: -1}), ErrCapacity},
			{"capacity NaN", m.Set(Unit{Name: "u0", Capacity: math.NaN()}), ErrCapacity},
			{"capacity Inf", m.Set(Unit{Name: "u0", Capacity: math.Inf(1)}), ErrCapacity},
			{"capacity 1e300", m.Set(Unit{Name: "u0", Capacity: 1e300}), ErrCapacity},
			{"capacity 5e-324", m.Set(Unit{Name: "u0", Capacity: 5e-324}), ErrCapacity},
			{"second unit bad", m.Set(Unit{Name: "x", Capacity: 10}, Unit{Name: "y", Capacity: -3}), ErrCapacity},
			{"far smaller than the others", m.Set(Unit{Name: "x", Capacity: 1.1e-9}), ErrCapacity},
			{"no name", m.Set(Unit{Capacity: 10}), ErrName},
			{"long name", m.Set(Unit{Name: long, Capacity: 10}), ErrName},
			{"long domain", m.Set(Unit{Name: "x", Capacity: 10, Domain: long}), ErrName},
			{"set twice", m.Set(Unit{Name: "x", Capacity: 10}, Unit{Name: "x", Capacity: 10}), ErrDuplicate},
			{"remove unknown", m.Remove("u0", "nobody"), ErrUnit},
			{"remove twice", m.Remove("u0", "u0"), ErrDuplicate},
			{"remove all", m.Remove("u0", "u1", "u2"), ErrLast},
			{"unequal", m.Set(Unit{Name: "u0", Capacity: 11}), map[string]error{"jump": ErrUniform, "slots": all}[strategy]},
		} {
			if c.want == all {
				if err := m.Set(Unit{Name: "u0", Capacity: 1}); c.err != nil || err != nil {
					t.Errorf("%s: %s: got %v, %v", strategy, c.name, c.err, err)
				}
				continue
			}
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: %s: got %v, want %v", strategy, c.name, c.err, c.want)
			}
		}
		if strategy == "jump" && !bytes.Equal(encoded(t, m), before) {
			t.Errorf("%s: a failed change changed the map", strategy)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for _, o := range []Options{
		{Strategy: "nosuch"}, {Stretch: -1}, {Stretch: math.NaN()}, {Stretch: math.Inf(1)}, {Stretch: 1e-9},
		{Points: -1}, {Points: MaxPoints + 1}, {Slots: MaxSlots + 1}, {Copies: -2}, {Levels: MaxLevels + 1},
	} {
		o.Strategy = map[bool]string{true: "slots", false: o.Strategy}[o.Strategy == ""]
		if _, err := NewMap(o); !errors.Is(err, ErrOption) && !errors.Is(err, ErrStrategy) {
			t.Errorf("options %+v: got %v, want an error", o, err)
		}
	}
}

func TestNewUnitsTakeTheLowestFreeSlot(t *testing.T) {
	m := newMap(t, "slots", 4)
	if err := m.Remove("u1", "u2"); err != nil {
		t.Fatal(err)
	}
	if err := m.Set(Unit{Name: "a", Capacity: 1}, Unit{Name: "b", Capacity: 1}, Unit{Name: "c", Capacity: 1}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"u0", "a", "b", "u3", "c", ""} {
		if got := m.Name(i); got != want {
			t.Errorf("slot %d: got %q, want %q", i, got, want)
		}
	}
}

func TestEqualUnitsMayChangeCapacityTogether(t *testing.T) {
	m := newMap(t, "cutpaste", 3)
	if err := m.Set(Unit{Name: "u0", Capacity: 3}, Unit{Name: "u1", Capacity: 3}, Unit{Name: "u2", Capacity: 3}); err != nil {
		t.Errorf("all capacities at once: %v", err)
	}
	if u, ok := m.Unit("u1"); !ok || u.Capacity != 3 || math.Abs(u.Share-1.0/3) > 1e-15 {
		t.Errorf("unit u1: got %+v, %v", u, ok)
	}
}

func TestCapacitiesOfTwelveOrdersOfMagnitudeKeepTheirShares(t *testing.T) {
	m := newMap(t, "rendezvous", 0)
	if err := m.Set(Unit{Name: "big", Capacity: 1e12}, Unit{Name: "small", Capacity: 1.000001}); err != nil {
		t.Fatal(err)
	}
	for _, u := range m.Units() {
		if want := u.Capacity / (1e12 + 1.000001); math.Abs(u.Share/want-1) > 1e-6 {
			t.Errorf("share of %s: got %g, want %g", u.Name, u.Share, want)
		}
	}
	for _, c := range []float64{1e15, 1e-9} {
		m := newMap(t, "slots", 0)
		if err := m.Set(Unit{Name: "x", Capacity: c}, Unit{Name: "y", Capacity: c / 3 * 2.9}); (err == nil) != (c > 1e-9) {
			t.Errorf("capacities about %g: %v", c, err)
		}
		if err := m.Set(Unit{Name: "x", Capacity: c}); err != nil {
			t.Errorf("capacity %g: %v", c, err)
		}
	}
}

// TestMapsSurviveRandomChanges compares maps with a model, and what they become
// by encoding, decoding and cloning.
func TestMapsSurviveRandomChanges(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 4))
		m := newMap(t, spec.Name, 4)
		model := map[string]float64{}
		for _, u := range m.Units() {
			model[u.Name] = u.Capacity
		}
		for step := range 40 {
			clone, before := m.Clone(), encoded(t, m)
			changeAtRandom(t, r, m, model)
			if got := encoded(t, clone); !bytes.Equal(got, before) {
				t.Fatalf("step %d: a clone followed its original", step)
			}
			again, err := Decode(encoded(t, m))
			if err != nil {
				t.Fatalf("step %d: decode: %v", step, err)
			}
			if got, want := fmt.Sprint(places(again.strategy, seed, 200)), fmt.Sprint(places(m.strategy, seed, 200)); got != want {
				t.Fatalf("step %d: a decoded map places otherwise", step)
			}
			if len(model) != m.Len() {
				t.Fatalf("step %d: %d units, want %d", step, m.Len(), len(model))
			}
			for _, u := range again.Units() {
				if model[u.Name] != u.Capacity {
					t.Fatalf("step %d: capacity of %s: got %g, want %g", step, u.Name, u.Capacity, model[u.Name])
				}
			}
		}
	})
}

// changeAtRandom sets or removes some units in a map and in its model.
func changeAtRandom(t *testing.T, r *rand.Rand, m *Map, model map[string]float64) {
	t.Helper()
	if r.IntN(3) == 0 && len(model) > 1 {
		u := m.Units()[r.IntN(m.Len())]
		if err := m.Remove(u.Name); err != nil {
			t.Fatal(err)
		}
		delete(model, u.Name)
		return
	}
	var units []Unit
	for _, i := range r.Perm(12)[:1+r.IntN(3)] {
		u := Unit{Name: fmt.Sprintf("u%d", i), Capacity: 10, Domain: string(rune('a' + i%3))}
		if m.spec.Weighted {
			u.Capacity = r.Float64()*20 + 0.5
		}
		units = append(units, u)
	}
	if err := m.Set(units...); err != nil {
		t.Fatalf("set %v: %v", units, err)
	}
	for _, u := range units {
		model[u.Name] = u.Capacity
	}
}

func TestDamagedBytesAreRefused(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		m := newMap(t, spec.Name, 5)
		if err := m.Remove("u1"); err != nil {
			t.Fatal(err)
		}
		b := encoded(t, m)
		for i := range b {
			if _, err := Decode(b[:i]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("first %d of %d bytes: got %v, want ErrCorrupt", i, len(b), err)
			}
			bad := bytes.Clone(b)
			bad[i] ^= 1 << (i % 8)
			if _, err := Decode(bad); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("byte %d damaged: got %v, want ErrCorrupt", i, err)
			}
		}
	})
}

// goldenMap is a map with a free slot, domains and a history.
const goldenMap = "56504c43010401010000000000000000000002004c04016100000000000004400278610001630000000000000440" +
	"0278630164000000000000044002786403000302b3971f91"

func TestEncodedMapIsFrozen(t *testing.T) {
	m, err := NewMap(Options{Strategy: "cutpaste", Seed: 1, Copies: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := m.Set(Unit{Name: name, Capacity: 2.5, Domain: "x" + name}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Remove("b"); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(encoded(t, m)); got != goldenMap {
		t.Errorf("encoded map: got %s, want %s", got, goldenMap)
	}
}

func FuzzDecode(f *testing.F) {
	for _, spec := range Strategies() {
		m := newMap(f, spec.Name, 5)
		if err := m.Remove("u2"); err != nil {
			f.Fatal(err)
		}
		f.Add(encoded(f, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = sealed(b)
		m, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, want ErrCorrupt", err)
			}
			return
		}
		if !bytes.Equal(encoded(t, m), b) {
			t.Fatalf("%x decodes but is encoded otherwise", b)
		}
		if m.Len() > 0 {
			if at := m.Locate(Hash(b, 1)); m.Name(at) == "" {
				t.Fatalf("%x places on slot %d without a unit", b, at)
			}
		}
	})
}

// sealed puts the right checksum at the end, so that a fuzzer gets behind it.
func sealed(b []byte) []byte {
	if len(b) < 4 {
		return b
	}
	return appendSum(bytes.Clone(b[:len(b)-4]), 0)
}

// Tables give whole parts of all hashes, so that is what units report.
func TestSharesOfTablesAreThoseOfTheirParts(t *testing.T) {
	m := newMap(t, "slots", 0)
	if units := m.Units(); len(units) != 0 {
		t.Errorf("an empty map has units %v", units)
	}
	if err := m.Set(Unit{Name: "a", Capacity: 1}, Unit{Name: "b", Capacity: 10}, Unit{Name: "c", Capacity: 100}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{148, 1476, 14760} {
		u := m.Units()[i]
		if u.Share*16384 != want {
			t.Errorf("slots of %s: got %g, want %g", u.Name, u.Share*16384, want)
		}
		if one, _ := m.Unit(u.Name); one != u {
			t.Errorf("unit %s: got %+v, want %+v", u.Name, one, u)
		}
	}
	m = newMap(t, "maglev", 3)
	total, sum := 0.0, 0.0
	for _, u := range m.Units() {
		total += u.Capacity
		sum += u.Share
	}
	for _, u := range m.Units() {
		entries, fair := u.Share*65537, u.Capacity/total*65537
		if entries != math.Trunc(entries) || math.Abs(entries-fair) >= 1 {
			t.Errorf("maglev's entries of %s: got %g, want a whole number near %g", u.Name, entries, fair)
		}
	}
	if math.Abs(sum-1) > 1e-15 {
		t.Errorf("shares add up to %g, want 1", sum)
	}
}

// Of strategies without history places follow from the numbers and capacities
// of the units that are there; a unit's number follows from when it joined.
func TestPlacesFollowFromNumberedUnitsWithoutHistory(t *testing.T) {
	for _, strategy := range []string{"rendezvous", "maglev", "nearest", "share"} {
		units := manyUnits(strategy != "nearest", 9) // which keeps the mean of the first capacities
		short, long, other := newMap(t, strategy, 0), newMap(t, strategy, 0), newMap(t, strategy, 0)
		twice := units[2]
		twice.Capacity *= 2
		for _, err := range []error{
			short.Set(units[:6]...),
			long.Set(units...),
			long.Remove("u7", "u2"),
			long.Set(twice), // takes the number that it had
			long.Set(units[2]),
			long.Remove("u8", "u6"),
			other.Set(units[5], units[4], units[3], units[2], units[1], units[0]),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		moved := 0
		for i := range 5000 {
			h := Mix(uint64(i))
			want := short.Name(short.Locate(h))
			if got := long.Name(long.Locate(h)); got != want {
				t.Fatalf("%s, hash %x: got %s after changes, want %s", strategy, h, got, want)
			}
			if other.Name(other.Locate(h)) != want {
				moved++
			}
		}
		if moved < 1000 {
			t.Errorf("%s: another order of joining moves %d of 5000, want many", strategy, moved)
		}
	}
}
