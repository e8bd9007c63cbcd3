package slots

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// rig is a Placer with one table, and no disk.
type rig struct {
	Placer
	keyspace keyspace.Keyspace
	writer   writeback.Writer
	uses     Uses
	keys     format.Keys
	t        *keyspace.Table
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{keys: format.DeriveKeys([16]byte{1})}
	r.keyspace.Init(&r.keys.Values, keyspace.RecentBytes)
	r.keyspace.Phys = []uint32{1}
	r.keyspace.Shard[0].Tables = make([]*keyspace.Table, 1)
	t.Cleanup(r.keyspace.Pool.Close)
	r.writer.Init(writeback.Config{Keyspace: &r.keyspace, Keys: &r.keys})
	r.Placer = New(&r.keyspace, &r.writer, &r.uses, func(error) {}, 1)
	r.t = r.keyspace.Table(0, 0)
	return r
}

// value returns the string at a key, whose hash is h.
func (r *rig) value(h uint64, key string) string {
	i := r.t.Find(h, []byte(key))
	if i < 0 {
		return "missing"
	}
	if o := r.t.Object(r.t.Meta(i)); o != nil {
		return string(o.Value.(interface{ Bytes() []byte }).Bytes())
	}
	_, b, _ := r.t.Parts(r.t.Meta(i))
	return string(b)
}

// A string is what was set and patched, be it a record or an object, and its slot is dirty.
func TestPatchedStringsAreWhole(t *testing.T) {
	r := newRig(t)
	key, h := []byte("k"), uint64(5)
	want := ""
	for _, patch := range []struct {
		off  int
		with string
	}{{0, "abc"}, {1, "X"}, {6, "end"}, {100, strings.Repeat("y", 3000)}, {2, "Z"}, {9000, "last"}} {
		r.PatchString(r.t, r.t.Find(h, key), h, key, patch.off, []byte(patch.with))
		b := []byte(want + strings.Repeat("\x00", max(0, patch.off+len(patch.with)-len(want))))
		copy(b[patch.off:], patch.with)
		if want = string(b); r.value(h, "k") != want {
			t.Fatalf("after a patch at %d: %d bytes, want %d", patch.off, len(r.value(h, "k")), len(want))
		}
	}
	r.SetString(r.t, r.t.Find(h, key), h, key, []byte("short"), 0)
	if i := r.t.Find(h, key); r.value(h, "k") != "short" || r.t.Meta(i)&keyspace.Dirty == 0 {
		t.Errorf("the key is %q, dirty: %v", r.value(h, "k"), r.t.Meta(i)&keyspace.Dirty != 0)
	}
}

// A small value rests as a record, is an object while it is used, and has what was changed afterwards.
func TestSmallValuesRestAsRecords(t *testing.T) {
	r := newRig(t)
	v := hash.New(&r.keys.Values)
	var ch structures.Change
	v.Set(&ch, []byte("field"), []byte("value"))
	h := uint64(7)
	r.Place(r.t, -1, h, &keyspace.Object{Key: []byte("k"), Value: v, Whole: true})
	for range 3 {
		r.Compact()
		i := r.t.Find(h, []byte("k"))
		if !r.t.IsCompact(r.t.Meta(i)) {
			t.Fatal("it is no record")
		}
		o := r.Object(r.t, i, h)
		if b, ok := o.Value.(*hash.Hash).Get([]byte("field"), 0); !ok || string(b) != "value" {
			t.Fatalf("the field is %q", b)
		}
	}
	r.Compact()
}

// Uses are seconds under LRU, and a counter that grows ever more rarely, and decays, under LFU.
func TestUsesAreNoted(t *testing.T) {
	r := newRig(t)
	r.Clock = r.uses.ClockAt(100_000)
	r.SetString(r.t, -1, 1, []byte("k"), []byte("v"), 0)
	i := r.t.Find(1, []byte("k"))
	if idle := IdleSeconds(r.t.Meta(i)>>keyspace.TouchShift, r.uses.ClockAt(130_000)); idle != 30 {
		t.Errorf("not used for %d s", idle)
	}
	r.uses.LFU.Store(true)
	r.Clock = r.uses.ClockAt(60_000)
	r.t.SetTouch(i, r.Fresh()>>keyspace.TouchShift)
	few, many := 0, 0
	for n := range 5000 {
		if r.Touch(r.t, i); n == 100 {
			few = int(Counter(r.t.Meta(i)>>keyspace.TouchShift, r.Clock))
		}
	}
	many = int(Counter(r.t.Meta(i)>>keyspace.TouchShift, r.Clock))
	if few <= lfuStart || many <= few || many > 100 {
		t.Errorf("the counter is %d after a hundred uses, %d after five thousand", few, many)
	}
	if later := int(Counter(r.t.Meta(i)>>keyspace.TouchShift, r.uses.ClockAt(6*60_000))); later != many-5 {
		t.Errorf("five minutes later it is %d, was %d", later, many)
	}
}

// The first failure stays until whoever has the Placer forgets it.
func TestFirstFailureStays(t *testing.T) {
	r := newRig(t)
	first := errors.New("first")
	r.Fail(first)
	r.Fail(errors.New("second"))
	if r.Err != first {
		t.Error(r.Err)
	}
	if r.Abandon(); r.Err != nil {
		t.Error(r.Err)
	}
}
