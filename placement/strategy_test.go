package placement

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/structures/testscale"
)

// each runs a test for every strategy.
func each(t *testing.T, run func(t *testing.T, spec Spec)) {
	for _, spec := range Strategies() {
		t.Run(spec.Name, func(t *testing.T) { run(t, spec) })
	}
}

// newStrategy makes a strategy with default options.
func newStrategy(t testing.TB, spec Spec, seed uint64) Strategy {
	t.Helper()
	opts, err := Options{Strategy: spec.Name, Seed: seed}.Check()
	if err != nil {
		t.Fatalf("options of %s: %v", spec.Name, err)
	}
	return spec.New(opts)
}

// setAll sets units by one Apply where there is one.
func setAll(t testing.TB, s Strategy, changes []Change) {
	t.Helper()
	if b, ok := s.(Batcher); ok {
		if err := b.Apply(changes); err != nil {
			t.Fatalf("apply %d changes: %v", len(changes), err)
		}
		return
	}
	for _, c := range changes {
		err := s.Remove
		if c.Capacity > 0 {
			err = func(unit int) error { return s.Set(unit, c.Capacity) }
		}
		if err := err(c.Unit); err != nil {
			t.Fatalf("change %+v: %v", c, err)
		}
	}
}

// capacities returns n capacities: equal, or 1 to 100 where a strategy can.
func capacities(spec Spec, n int) []Change {
	out := make([]Change, n)
	for i := range out {
		out[i] = Change{Unit: i, Capacity: 1 << 30}
		if spec.Weighted {
			out[i].Capacity = Capacity(1+i*37%100) << 24
		}
	}
	return out
}

// exactShares says that shares equal capacities up to 1e-3 or better; the
// others have the variation that their documents tell.
func exactShares(name string) bool { return name != "nearest" && name != "share" && name != "copysets" }

func TestChiSquareOfSharesIsThatOfChance(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		if !exactShares(spec.Name) {
			return
		}
		const n, objects = 40, 400_000
		s := newStrategy(t, spec, 7)
		changes := capacities(spec, n)
		setAll(t, s, changes)
		var total float64
		for _, c := range changes {
			total += float64(c.Capacity)
		}
		var counts [n]int
		var key [8]byte
		for i := range objects { // raw sequential keys
			key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)
			counts[s.Locate(Hash(key[:], 0))]++
		}
		chi := 0.0
		for i, c := range changes {
			want := objects * float64(c.Capacity) / total
			chi += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
		}
		if got, tol := chi/(n-1), 3*math.Sqrt(2.0/(n-1)); math.Abs(got-1) > tol {
			t.Errorf("chi2/df of %d objects on %d units: got %.3f, want within %.3f of 1", objects, n, got, tol)
		}
	})
}

func TestLocateOfNoUnitsIsNone(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		s := newStrategy(t, spec, 1)
		if got := s.Locate(1 << 60); got != -1 {
			t.Errorf("Locate without units: got %d, want -1", got)
		}
		setAll(t, s, []Change{{Unit: 5, Capacity: 3}})
		for _, h := range []uint64{0, 1, 1 << 63, math.MaxUint64} {
			if got := s.Locate(h); got != 5 {
				t.Errorf("Locate(%d) with one unit: got %d, want 5", h, got)
			}
		}
		if err := s.Remove(5); err != nil {
			t.Fatal(err)
		}
		if got := s.Locate(1 << 60); got != -1 {
			t.Errorf("Locate after the last unit left: got %d, want -1", got)
		}
	})
}

func TestBadChangesLeaveStrategiesAsTheyWere(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		s := newStrategy(t, spec, 1)
		setAll(t, s, capacities(spec, 7))
		before := places(s, 3, 500)
		for _, bad := range []struct {
			name string
			err  error
		}{
			{"capacity 0", s.Set(1, 0)},
			{"capacity above the limit", s.Set(1, MaxCapacity+1)},
			{"unit -1", s.Set(-1, 1<<30)},
			{"unit 65536", s.Set(MaxUnits, 1<<30)},
			{"remove an unknown unit", s.Remove(99)},
			{"remove unit -1", s.Remove(-1)},
			{"remove unit 2^31-1", s.Remove(math.MaxInt32)},
			{"remove unit 65536", s.Remove(MaxUnits)},
		} {
			if bad.err == nil {
				t.Errorf("%s: no error", bad.name)
			}
		}
		if !spec.Weighted && s.Set(1, 5) != ErrUniform {
			t.Errorf("another capacity in a uniform strategy: want ErrUniform")
		}
		if after := places(s, 3, 500); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("places changed by failed changes")
		}
	})
}

// places locates some random hashes.
func places(s Strategy, seed uint64, n int) []int {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]int, n)
	for i := range out {
		out[i] = s.Locate(r.Uint64())
	}
	return out
}

func TestLocateDoesNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		s := newStrategy(t, spec, 1)
		setAll(t, s, capacities(spec, 100))
		h := uint64(1)
		if got := testing.AllocsPerRun(1000, func() { h = Mix(h); s.Locate(h) }); got != 0 {
			t.Errorf("allocations of Locate: got %v, want 0", got)
		}
	})
}

// TestStrategiesSurviveRandomChanges drives each strategy by random changes:
// clones do not follow, encoded history gives the same places, and Moves agrees
// with counted moves.
func TestStrategiesSurviveRandomChanges(t *testing.T) {
	each(t, func(t *testing.T, spec Spec) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 2))
		s := newStrategy(t, spec, seed)
		units := map[int]Capacity{}
		for step := range testscale.Rounds(60) {
			old := s.Clone()
			before := places(s, seed, 300)
			randomChange(t, r, spec, s, units)
			if fmt.Sprint(places(old, seed, 300)) != fmt.Sprint(before) {
				t.Fatalf("step %d: a clone followed its original", step)
			}
			checkDecoded(t, spec, s, units, seed)
			if step%10 == 9 && len(units) > 0 {
				checkMoves(t, old, s, seed)
			}
		}
	})
}

// randomChange sets or removes a unit in a strategy and in the model.
func randomChange(t *testing.T, r *rand.Rand, spec Spec, s Strategy, units map[int]Capacity) {
	t.Helper()
	unit := r.IntN(24)
	if _, ok := units[unit]; ok && r.IntN(3) == 0 {
		if err := s.Remove(unit); err != nil {
			t.Fatalf("remove %d: %v", unit, err)
		}
		delete(units, unit)
		return
	}
	c := Capacity(1 << 30)
	if spec.Weighted {
		c = 1 + Capacity(r.Uint64N(1<<32))
	}
	switch err := s.Set(unit, c); {
	case err == nil:
		units[unit] = c
	case spec.Name != "nearest" || !errors.Is(err, ErrLimit):
		// Only nearest counts by the first unit, which may be a very small one.
		t.Fatalf("set %d to %d: %v", unit, c, err)
	}
}

// checkDecoded rebuilds a strategy from units and history.
func checkDecoded(t *testing.T, spec Spec, s Strategy, units map[int]Capacity, seed uint64) {
	t.Helper()
	again := newStrategy(t, spec, seed)
	var changes []Change
	for u := range 24 {
		if c := units[u]; c > 0 {
			changes = append(changes, Change{u, c})
		}
	}
	setAll(t, again, changes)
	state := s.AppendState([]byte("x"))[1:]
	if err := again.DecodeState(state); err != nil {
		t.Fatalf("decode state of %d units: %v", len(units), err)
	}
	if fmt.Sprint(places(again, seed, 300)) != fmt.Sprint(places(s, seed, 300)) {
		t.Fatalf("a decoded strategy places otherwise")
	}
	if got := again.AppendState(nil); string(got) != string(state) {
		t.Fatalf("state encoded again: got %x, want %x", got, state)
	}
}

// checkMoves compares Moves with the moves of sampled hashes: each pair within
// five standard deviations.
func checkMoves(t *testing.T, from, to Strategy, seed uint64) {
	t.Helper()
	type pair struct{ from, to int }
	want := map[pair]float64{}
	from.Moves(to, func(a, b int, share Fraction) {
		if a == b || a < 0 || b < 0 || share < 0 {
			t.Fatalf("Moves visits %d to %d, %v", a, b, share)
		}
		want[pair{a, b}] += float64(share)
	})
	const sample = 60_000
	got := map[pair]float64{}
	r := rand.New(rand.NewPCG(seed, 3))
	for range sample {
		h := r.Uint64()
		if p := (pair{from.Locate(h), to.Locate(h)}); p.from != p.to && p.from >= 0 && p.to >= 0 {
			got[p] += 1.0 / sample
			if _, ok := want[p]; !ok {
				t.Fatalf("hash %d moves from %d to %d, which Moves does not tell", h, p.from, p.to)
			}
		}
	}
	for p, w := range want {
		if d := math.Abs(got[p] - w); d > 5*math.Sqrt(w/sample)+6.0/sample {
			t.Errorf("share moving from %d to %d: sampled %.6f, Moves tells %.6f", p.from, p.to, got[p], w)
		}
	}
}
