package placemap

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

var _ structures.Value = (*Map)(nil)

// made is a map of a strategy without units.
func made(t testing.TB, strategy string) *Map {
	t.Helper()
	v, err := New(placement.Options{Strategy: strategy, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// draws are units for a random Set: equal ones for a strategy that needs it.
func draws(rng *rand.Rand, weighted bool) []placement.Unit {
	units := make([]placement.Unit, 1+rng.IntN(4))
	first := rng.IntN(40)
	for i := range units {
		units[i] = placement.Unit{Name: fmt.Sprint("unit-", (first+i*7)%40), Capacity: 2}
		if weighted {
			units[i].Capacity = .25 + 100*rng.Float64()
		}
		if rng.IntN(3) == 0 {
			units[i].Domain = fmt.Sprint("rack-", rng.IntN(6))
		}
	}
	return units
}

// play does n random changes, some of which fail, and calls each after every one.
func play(v *Map, ch *structures.Change, rng *rand.Rand, n int, each func()) {
	spec, _ := placement.Lookup(v.State().Map.Options().Strategy)
	for range n {
		if rng.IntN(3) > 0 {
			_, _ = v.Set(ch, draws(rng, spec.Weighted))
		} else {
			_ = v.Remove(ch, []string{fmt.Sprint("unit-", rng.IntN(40))})
		}
		if rng.IntN(8) == 0 {
			v.Lend()
		}
		each()
	}
}

func replay(t testing.TB, v *Map, record []byte) {
	t.Helper()
	for len(record) > 0 {
		op, args, rest, err := structures.NextOp(record)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Apply(op, &args); err != nil {
			t.Fatal(err)
		}
		record = rest
	}
}

func decoded(t testing.TB, v *Map) *Map {
	t.Helper()
	d, err := Decode(v.AppendHead(nil))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// differ tells where two maps do not agree: in their bytes, or about objects.
func differ(a, b *Map) string {
	if !bytes.Equal(a.AppendHead(nil), b.AppendHead(nil)) {
		return "the encodings differ"
	}
	x, y := a.State(), b.State()
	for i := range uint64(200) {
		hash := placement.Mix(i)
		if x.Map.Name(x.Map.Locate(hash)) != y.Map.Name(y.Map.Locate(hash)) {
			return fmt.Sprintf("object %d is elsewhere", i)
		}
		p, perr := x.LocateCopies(hash, 3, nil)
		q, qerr := y.LocateCopies(hash, 3, nil)
		if !errors.Is(perr, qerr) || fmt.Sprint(p) != fmt.Sprint(q) {
			return fmt.Sprintf("the copies of object %d are elsewhere: %v %v, %v %v", i, p, perr, q, qerr)
		}
	}
	return ""
}

func TestReplayAndEncodingGiveTheSameMap(t *testing.T) {
	for _, spec := range placement.Strategies() {
		seed := uint64(spec.Number)
		rng := rand.New(rand.NewPCG(seed, 1))
		v, replayed, ch := made(t, spec.Name), made(t, spec.Name), new(structures.Change)
		// stored starts anew from bytes every now and then, and goes on from
		// there, as after a restart in the middle of the journal.
		stored, step := made(t, spec.Name), 0
		play(v, ch, rng, 120, func() {
			replay(t, replayed, ch.Encoded())
			replay(t, stored, ch.Encoded())
			ch.Reset(1 << 20)
			if step++; step%15 != 0 {
				return
			}
			stored = decoded(t, stored)
			for what, other := range map[string]*Map{"replayed": replayed, "stored and replayed": stored, "decoded": decoded(t, v)} {
				if where := differ(v, other); where != "" {
					t.Fatalf("%s, seed %d, step %d: %s: %s", spec.Name, seed, step, what, where)
				}
			}
		})
	}
}

func TestFailedChangesChangeNothing(t *testing.T) {
	unit := func(name string, capacity float64) []placement.Unit {
		return []placement.Unit{{Name: name, Capacity: capacity}}
	}
	for _, spec := range placement.Strategies() {
		v, ch := made(t, spec.Name), new(structures.Change)
		if err := v.Remove(ch, []string{"a"}); !errors.Is(err, placement.ErrUnit) {
			t.Errorf("%s: remove from an empty map: %v", spec.Name, err)
		}
		if _, err := v.Set(nil, append(unit("a", 1), unit("b", 1)...)); err != nil {
			t.Fatal(err)
		}
		before := v.AppendHead(nil)
		for _, capacity := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e-10, 1e16, math.MaxFloat64} {
			if _, err := v.Set(ch, append(unit("c", 1), unit("a", capacity)...)); !errors.Is(err, placement.ErrCapacity) {
				t.Errorf("%s: capacity %v: %v", spec.Name, capacity, err)
			}
		}
		for _, x := range []struct {
			err  error
			want error
		}{
			{v.Remove(ch, []string{"a", "nosuch"}), placement.ErrUnit},
			{v.Remove(ch, []string{"a", "a"}), placement.ErrDuplicate},
			{v.Remove(ch, []string{"a", "b"}), placement.ErrLast},
		} {
			if !errors.Is(x.err, x.want) {
				t.Errorf("%s: got %v, want %v", spec.Name, x.err, x.want)
			}
		}
		if ch.Len() > 0 || !bytes.Equal(before, v.AppendHead(nil)) {
			t.Errorf("%s: the map changed, or %d bytes were recorded", spec.Name, ch.Len())
		}
	}
}

func TestChangeRecordsTheChangeOnly(t *testing.T) {
	v, ch := made(t, ""), new(structures.Change)
	var units []placement.Unit
	for i := range 1000 {
		units = append(units, placement.Unit{Name: fmt.Sprint("unit-", i), Capacity: float64(1 + i%100)})
	}
	if _, err := v.Set(nil, units); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Set(ch, []placement.Unit{{Name: "unit-7", Capacity: 2.5, Domain: "rack"}}); err != nil {
		t.Fatal(err)
	}
	if ch.Len() > 40 {
		t.Errorf("one unit: %d bytes recorded", ch.Len())
	}
}

func TestLentStateStaysAsItIs(t *testing.T) {
	v := made(t, "")
	set := func(name string) {
		t.Helper()
		if _, err := v.Set(nil, []placement.Unit{{Name: name, Capacity: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	set("a")
	lent := v.Lend()
	set("b")
	if lent.Map.Len() != 1 || v.State().Map.Len() != 2 || v.Version() != 2 {
		t.Errorf("lent %d units, now %d, version %d", lent.Map.Len(), v.State().Map.Len(), v.Version())
	}
	now := v.State().Map
	if set("c"); v.State().Map != now {
		t.Error("the map was copied though nobody holds it")
	}
}

func TestTablesForFewNumbersOfCopiesAreKept(t *testing.T) {
	v := made(t, "")
	for i := range 20 {
		if _, err := v.Set(nil, []placement.Unit{{Name: fmt.Sprint(i), Capacity: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	small := v.Size()
	for k := 2; k < 20; k++ {
		s := v.ForCopies(k)
		if _, err := s.LocateCopies(1, k, nil); err != nil || !s.Ready(k) {
			t.Fatalf("%d copies: %v, ready %v", k, err, s.Ready(k))
		}
		if n := v.State().samplers(); n > maxSamplers {
			t.Fatalf("%d copies: %d tables", k, n)
		}
	}
	if v.Size() <= small {
		t.Errorf("size is %d with tables for copies, %d without", v.Size(), small)
	}
}

func TestApplyRefusesWhatDoesNotFit(t *testing.T) {
	for name, record := range map[string]func(ch *structures.Change){
		"unknown operation": func(ch *structures.Change) { ch.Op(99, 0) },
		"unknown unit":      func(ch *structures.Change) { ch.Op(opRemove, 1); ch.String("x") },
		"last unit":         func(ch *structures.Change) { ch.Op(opRemove, 1); ch.String("a") },
		"argument missing":  func(ch *structures.Change) { ch.Op(opSet, 2); ch.String("b"); ch.Uint(1) },
		"no capacity":       func(ch *structures.Change) { ch.Op(opSet, 3); ch.String("b"); ch.Uint(0); ch.String("") },
		"long capacity": func(ch *structures.Change) {
			ch.Op(opSet, 3)
			ch.String("b")
			ch.String("123456789")
			ch.String("")
		},
	} {
		v := made(t, "")
		if _, err := v.Set(nil, []placement.Unit{{Name: "a", Capacity: 1}}); err != nil {
			t.Fatal(err)
		}
		before, ch := v.AppendHead(nil), new(structures.Change)
		record(ch)
		op, args, _, err := structures.NextOp(ch.Encoded())
		if err != nil {
			t.Fatal(err)
		}
		err = v.Apply(op, &args)
		if !errors.Is(err, structures.ErrCorrupt) && !errors.Is(err, structures.ErrUnknownChange) {
			t.Errorf("%s: got %v", name, err)
		}
		if !bytes.Equal(before, v.AppendHead(nil)) {
			t.Errorf("%s: the map changed", name)
		}
	}
}
