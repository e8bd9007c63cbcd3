package placemap

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures"
)

// bounded is a map to which objects can be assigned.
func bounded(t testing.TB) *Map {
	t.Helper()
	v, err := New(placement.Options{Strategy: "jumpback", Seed: 7, Bound: .25, Spread: 2})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestObjectsAreReplayedAndStored(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	v, replayed, stored, ch := bounded(t), bounded(t), bounded(t), new(structures.Change)
	draw := func() (hashes []uint64) {
		for range 1 + rng.IntN(20) {
			hashes = append(hashes, placement.Mix(uint64(rng.IntN(300))))
		}
		return hashes
	}
	if _, _, err := v.Assign(ch, draw(), nil); !errors.Is(err, placement.ErrEmpty) || ch.Len() > 0 {
		t.Fatalf("without units: %v, %d bytes", err, ch.Len())
	}
	moved := 0
	play(v, ch, rng, 200, func() {
		moved++
		if v.State().Map.Len() > 0 {
			was := v.Lend().Map.Assigned()
			slots, added, err := v.Assign(ch, draw(), nil)
			if err != nil || len(slots) == 0 || v.State().Map.Assigned() != was+added {
				t.Fatal(slots, added, err)
			}
			if _, err := v.Release(ch, draw()); err != nil {
				t.Fatal(err)
			}
		}
		replay(t, replayed, ch.Encoded())
		replay(t, stored, ch.Encoded())
		ch.Reset(1 << 20)
		if moved%10 == 0 {
			stored = decoded(t, stored)
			for what, other := range map[string]*Map{"replayed": replayed, "stored": stored} {
				if where := differ(v, other); where != "" {
					t.Fatalf("step %d, %s: %s", moved, what, where)
				}
			}
		}
	})
	if v.State().Map.Assigned() == 0 || v.Size() <= bounded(t).Size() {
		t.Errorf("%d objects, %d bytes", v.State().Map.Assigned(), v.Size())
	}
}

// A lent map stays as it is when objects come and go.
func TestObjectsLeaveLentMapsAlone(t *testing.T) {
	v := bounded(t)
	if _, err := v.Set(nil, []placement.Unit{{Name: "a", Capacity: 1}}); err != nil {
		t.Fatal(err)
	}
	lent := v.Lend()
	if _, _, err := v.Assign(nil, []uint64{1, 2}, nil); err != nil {
		t.Fatal(err)
	}
	again := v.Lend()
	if n, err := v.Release(nil, []uint64{1, 1, 5}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if a, b, c := lent.Map.Assigned(), again.Map.Assigned(), v.State().Map.Assigned(); a != 0 || b != 2 || c != 1 {
		t.Errorf("objects: %d, %d and %d", a, b, c)
	}
}

func TestObjectsThatDoNotFitAreRefused(t *testing.T) {
	later := errors.New("later")
	limited, v := new(structures.Change), bounded(t)
	limited.Limit(&structures.Limit{Ops: opRemove, Err: later})
	if _, err := v.Set(nil, []placement.Unit{{Name: "a", Capacity: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Assign(limited, []uint64{1}, nil); !errors.Is(err, later) || v.State().Map.Assigned() > 0 {
		t.Errorf("assign within a limit: %v", err)
	}
	if _, err := v.Release(limited, []uint64{1}); !errors.Is(err, later) {
		t.Errorf("release within a limit: %v", err)
	}
	if v.Form() != 1 || made(t, "maglev").Form() != 0 || made(t, "jumpback").Form() != 1 {
		t.Error("forms are not those of the options")
	}
	if _, err := made(t, "").Release(nil, []uint64{1}); !errors.Is(err, placement.ErrBound) {
		t.Errorf("release without a bound: %v", err)
	}
	if _, _, err := v.Assign(nil, []uint64{1}, nil); err != nil {
		t.Fatal(err)
	}
	for _, record := range []func(ch *structures.Change){
		func(ch *structures.Change) { ch.Op(opAssign, 1); ch.Uint(1) }, // is assigned
		func(ch *structures.Change) { ch.Op(opRelease, 1); ch.Uint(2) },
		func(ch *structures.Change) { ch.Op(opRelease, 2); ch.Uint(1); ch.Uint(1) },
		func(ch *structures.Change) { ch.Op(opAssign, 1); ch.String("123456789") },
	} {
		ch := new(structures.Change)
		record(ch)
		op, args, _, err := structures.NextOp(ch.Encoded())
		if err != nil {
			t.Fatal(err)
		}
		if err := decoded(t, v).Apply(op, &args); !errors.Is(err, structures.ErrCorrupt) {
			t.Errorf("record %x: %v", ch.Encoded(), err)
		}
	}
}

// The bytes on disk never change, of maps with bounds and of sets neither.
func TestEncodingOfObjectsIsTheOneOnDisk(t *testing.T) {
	v, ch := bounded(t), new(structures.Change)
	if _, err := v.Set(ch, []placement.Unit{{Name: "a", Capacity: 1, Domain: "x/y"}, {Name: "b", Capacity: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.Assign(ch, []uint64{9, 1 << 40, 1 << 60, 3, 1 << 63}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Release(ch, []uint64{3}); err != nil {
		t.Fatal(err)
	}
	sets, err := New(placement.Options{Seed: 7, Scatter: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := sets.Set(nil, []placement.Unit{{Name: fmt.Sprint(i), Capacity: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	got := "head " + hex.EncodeToString(v.AppendHead(nil)) + "\nrecord " + hex.EncodeToString(ch.Encoded()) +
		"\nsets " + hex.EncodeToString(sets.AppendHead(nil)) + "\n"
	want, err := os.ReadFile("testdata/golden_objects.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
