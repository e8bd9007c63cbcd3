package heads

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/lsm/lsmtest"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// rig has keys on disk, and none in memory.
type rig struct {
	Heads
	t        *testing.T
	disk     lsm.Disk
	keyspace keyspace.Keyspace
	writer   writeback.Writer
	keys     format.Keys
}

func newRig(t *testing.T, keys int) *rig {
	t.Helper()
	r := &rig{t: t, keys: format.DeriveKeys([16]byte{1})}
	r.keyspace.Init(&r.keys.Values, 0)
	r.keyspace.Phys = []uint32{1}
	lsmtest.Open(t, vfs.NewMem(), &r.disk)
	t.Cleanup(r.keyspace.Pool.Close)
	r.writer.Init(writeback.Config{Disk: &r.disk, Keyspace: &r.keyspace})
	r.Config = Config{Disk: &r.disk, Keyspace: &r.keyspace, Writer: &r.writer, Values: &r.keys.Values}
	b := r.disk.DB.NewBatch()
	counts := map[int]int64{}
	for n := range keys {
		key := fmt.Appendf(nil, "key%d", n)
		h := r.keys.Hash.Sum(key)
		counts[format.ShardOf(h)]++
		head := format.AppendHead(nil, &format.Head{Kind: structures.KindString, Short: true, LSN: uint64(n)})
		if err := b.Set(format.AppendHeadKey(nil, 1, h, key), append(head, key...), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.disk.Apply(b, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	for sh := range r.keyspace.Shard {
		r.keyspace.Shard[sh].Tables = make([]*keyspace.Table, 1)
		r.keyspace.Shard[sh].SetCount(1, counts[sh])
	}
	return r
}

// fault reads a key, and returns the string that it has.
func (r *rig) fault(key string) (value string, lsn uint64) {
	r.t.Helper()
	h := r.keys.Hash.Sum([]byte(key))
	t := r.keyspace.Table(format.ShardOf(h), 0)
	lsn, i, err := r.Fault(t, h, []byte(key), 0)
	if err != nil {
		r.t.Fatal(err)
	}
	if i < 0 {
		return "", 0
	}
	_, b, _ := t.Parts(t.Meta(i))
	return string(b), lsn
}

// A key is read with the record that its head contains; one that the disk lacks is missing; a head that does not decode is an error.
func TestKeysAreReadWhenTheyAreAskedFor(t *testing.T) {
	r := newRig(t, 100)
	if value, lsn := r.fault("key7"); value != "key7" || lsn != 7 {
		t.Errorf("key7 is %q of record %d", value, lsn)
	}
	if value, _ := r.fault("key100"); value != "" || r.Faults.Load() != 1 {
		t.Errorf("a key that is not there is %q; %d faults", value, r.Faults.Load())
	}
	h := r.keys.Hash.Sum([]byte("key8"))
	if err := r.disk.DB.Set(format.AppendHeadKey(nil, 1, h, []byte("key8")), []byte{255}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, i, err := r.Fault(r.keyspace.Table(format.ShardOf(h), 0), h, []byte("key8"), 0); !errors.Is(err, format.ErrCorrupt) || i >= 0 {
		t.Errorf("a damaged head: slot %d, %v", i, err)
	}
}

// A walk visits each key once, be it in memory, on disk or in both, and not what was deleted in memory.
func TestWalkMergesMemoryAndDisk(t *testing.T) {
	r := newRig(t, 2000)
	r.fault("key3")
	r.fault("key4")
	h := r.keys.Hash.Sum([]byte("key4"))
	table := r.keyspace.Table(format.ShardOf(h), 0)
	table.Erase(table.Find(h, []byte("key4")))
	seen := map[string]int{}
	for sh := range format.ShardCount {
		from := uint64(sh) << 56
		r.Walk(r.keyspace.Table(sh, 0), from, from|(1<<56-1), func(err error) { t.Fatal(err) }, func(w *Walked) bool {
			seen[string(w.Key)]++
			return true
		})
	}
	for n := range 2000 {
		key := fmt.Sprint("key", n)
		if want := map[bool]int{true: 0, false: 1}[n == 4]; seen[key] != want {
			t.Fatalf("%s was visited %d times", key, seen[key])
		}
	}
}

// The warmer fills all tables, and stops when it is told to, to go on after Restart.
func TestWarmerFillsTables(t *testing.T) {
	r := newRig(t, 3000)
	stop := true
	w := &Warmer{WarmConfig: WarmConfig{Heads: &r.Heads, Stops: func() bool { return stop }, Touch: func() uint64 { return 0 },
		Failed: func(err error) { t.Error(err) }}}
	if err := w.All(); !errors.Is(err, ErrStopped) {
		t.Fatalf("without room: %v", err)
	}
	task := w.Work()
	task.Step(false)
	stop = false
	w.Restart()
	for range format.ShardCount {
		task.Step(false)
	}
	n := 0
	for sh := range format.ShardCount {
		table := r.keyspace.Table(sh, 0)
		if n += table.Used; !table.Resident && table.Disk > 0 {
			t.Fatalf("shard %d is not resident", sh)
		}
	}
	if n != 3000 {
		t.Errorf("%d keys are in memory", n)
	}
}
