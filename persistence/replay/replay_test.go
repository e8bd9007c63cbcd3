package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/slots"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// rig is what a store has beside its clients, with two databases. It is the host of the writeback.
type rig struct {
	t        testing.TB
	files    files.Files
	reserve  reserve.Reserve
	commits  commits.Commits
	keyspace keyspace.Keyspace
	keys     format.Keys
	heads    heads.Heads
	writer   writeback.Writer
	purger   purge.Purger
	clock    expiry.Clock
	uses     slots.Uses
	catalog  *catalog.Catalog
	replayer Replayer
	arrived  uint64 // record of Arrived
}

func (r *rig) Contained(shard int) uint64                  { return r.keyspace.Shard[shard].Contains }
func (r *rig) AwaitSync(uint64) error                      { return nil }
func (r *rig) Seal(b *pebble.Batch, lsn uint64) error      { return r.files.Seal(b, lsn) }
func (r *rig) Written(v structures.Value) structures.Value { return v }
func (r *rig) Unforced() bool                              { return true }
func (r *rig) Trimmed() uint64                             { return 0 }
func (r *rig) Space() (free, total uint64)                 { return 0, 0 }
func (r *rig) Bound() int64                                { return 0 }

// newRig opens the files of a directory, with nothing in memory.
func newRig(t testing.TB, fsys vfs.FS, bound int64) *rig {
	t.Helper()
	r := &rig{t: t}
	zero := func() int64 { return 0 }
	r.reserve.Init(fsys, "db", 0, disktest.Silent{})
	r.files.Init(files.Config{FS: fsys, Dir: "db", OpenFiles: 100, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, SegmentBytes: 1 << 20,
		Reserve: &r.reserve, Operator: disktest.Silent{}, Now: zero, Ctx: context.Background(), Closing: func() bool { return false }})
	r.must(errors.Join(r.files.Open(), r.files.LoadMeta(), r.files.OpenLog(), r.files.LoadMarks()))
	r.files.Meta.Extend(2)
	r.keys = format.DeriveKeys(r.files.Meta.Secret)
	r.keyspace.Init(&r.keys.Values, 0)
	r.keyspace.Phys = r.files.Meta.Phys
	for i := range r.keyspace.Shard {
		r.keyspace.Shard[i].Tables = make([]*keyspace.Table, 2)
	}
	disk := &r.files.Disk
	r.commits.Init(commits.Config{Files: &r.files, Reserve: &r.reserve, Passes: &r.writer, Pacer: &r.writer, Operator: disktest.Silent{},
		Elapsed: func() time.Duration { return 0 }, Hash: r.keys.Hash.Sum, LockAll: r.keyspace.LockAll})
	r.writer.Init(writeback.Config{Host: r, Operator: disktest.Silent{}, Disk: disk, Keyspace: &r.keyspace, Keys: &r.keys, Journal: &r.commits.Journal,
		Log: &r.commits.Length, Expiries: &r.clock, Now: zero, BatchBytes: 1 << 20, JournalBound: 1 << 20, LargeBytes: 1 << 20})
	r.purger.Config = purge.Config{Host: r, Disk: disk, Keyspace: &r.keyspace, Writer: &r.writer, Clock: &r.clock}
	r.heads.Config = heads.Config{Disk: disk, Keyspace: &r.keyspace, Writer: &r.writer, Values: &r.keys.Values}
	var err error
	r.catalog, err = catalog.Load(disk.DB, nil)
	r.must(errors.Join(err, r.heads.LoadCounts()))
	r.replayer.Allowance = NewAllowance(bound)
	if bound > 0 {
		r.replayer.Allowance.Bound, r.replayer.Allowance.Window = 1, 1
	}
	r.replayer.Config = Config{Files: &r.files, Commits: &r.commits, Keyspace: &r.keyspace, Heads: &r.heads, Writer: &r.writer, Purger: &r.purger,
		Uses: &r.uses, Catalog: func() *catalog.Catalog { return r.catalog }, Hash: r.keys.Hash.Sum, Now: zero, Bound: func() int64 { return bound },
		Seed: func() uint64 { return 1 }, Unreadable: func(err error) { t.Error(err) }, Arrived: func(_ format.Replicated, lsn uint64) { r.arrived = lsn }}
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) close() {
	r.t.Helper()
	r.must(errors.Join(r.files.Log.Close(), r.files.Close()))
	r.keyspace.Pool.Close()
}

// journal writes a record to the log.
func (r *rig) journal(record func(rec *structures.Change)) {
	r.t.Helper()
	var rec structures.Change
	record(&rec)
	r.commits.Journal.Append(rec.Encoded(), 0)
	for _, c := range r.commits.Journal.Take(nil, true) {
		_, err := r.files.Log.Append(&c)
		r.must(errors.Join(err, r.files.Log.Flush(), r.files.Log.Sync()))
	}
}

func set(rec *structures.Change, key, value string) {
	format.RecordKey(rec, 0, []byte(key))
	format.RecordSet(rec, []byte(value), 0)
}

// get returns the string at a key, which is read from the disk if need be.
func (r *rig) get(key string) string {
	r.t.Helper()
	h := r.keys.Hash.Sum([]byte(key))
	t := r.keyspace.Table(format.ShardOf(h), 0)
	i := t.Find(h, []byte(key))
	if i < 0 {
		var err error
		_, i, err = r.heads.Fault(t, h, []byte(key), 0)
		r.must(err)
	}
	if i < 0 || t.Meta(i)&keyspace.Tombstone != 0 {
		return "missing"
	}
	_, b, _ := t.Parts(t.Meta(i))
	return string(b)
}

// A journal makes memory what its records say, be there room for it or not; what was written meanwhile is not replayed again.
func TestJournalMakesMemory(t *testing.T) {
	for _, bound := range []int64{0, 1 << 20} {
		fsys := vfs.NewMem()
		r := newRig(t, fsys, bound)
		r.must(r.files.Complete())
		for _, v := range []string{"one", "two"} {
			r.journal(func(rec *structures.Change) { set(rec, "a", v); set(rec, "b", v) })
		}
		r.journal(func(rec *structures.Change) {
			format.RecordKey(rec, 0, []byte("b"))
			rec.Op(format.OpDelete, 0)
			format.RecordKey(rec, 0, []byte("a"))
			rec.Op(format.OpPatch, 2)
			rec.Uint(3)
			rec.Bytes([]byte("!"))
			format.RecordOffset(rec, 77, 0)
		})
		r.must(r.files.WriteMeta(&r.files.Meta, nil))
		r.close()
		for range 2 { // the second time after what the first has written
			r = newRig(t, fsys, bound)
			at, err := r.replayer.Journal(t.Context())
			r.must(err)
			if at.LSN != 3 || r.get("a") != "two!" || r.get("b") != "missing" || r.arrived != 3 {
				t.Errorf("bound %d: record %d, a %q, b %q, arrived by %d", bound, at.LSN, r.get("a"), r.get("b"), r.arrived)
			}
			if loaded, total := r.replayer.Progress.Bytes(); loaded != total || total == 0 {
				t.Errorf("bound %d: %d of %d bytes are loaded", bound, loaded, total)
			}
			r.close()
		}
	}
}

// A replay ends with its context, and an operation of a newer version is refused.
func TestReplayThatCannotGoOn(t *testing.T) {
	fsys := vfs.NewMem()
	r := newRig(t, fsys, 0)
	r.must(r.files.Complete())
	r.journal(func(rec *structures.Change) { set(rec, "a", "v") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.replayer.Journal(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	r.journal(func(rec *structures.Change) {
		format.RecordKey(rec, 0, []byte("a"))
		rec.Op(structures.FirstOp-1, 0)
	})
	if _, err := r.replayer.Journal(t.Context()); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("of a newer version: %v", err)
	}
	r.close()
}

// FuzzReplayRecord feeds foreign records to the replay: they may be refused but
// must not crash it, and what they made can be written.
func FuzzReplayRecord(f *testing.F) {
	var rec structures.Change
	set(&rec, "key", "v")
	rec.Op(format.OpPatch, 2)
	rec.Uint(3)
	rec.Bytes([]byte("p"))
	rec.Op(format.OpDelete, 0)
	l := list.New()
	l.Push(nil, list.Tail, []byte("e"))
	format.RecordRestore(&rec, l, 0)
	l.Push(&rec, list.Head, []byte("e"))
	format.RecordMapping(&rec, 20, []uint32{0, 4})
	rec.Op(format.OpUser, 2)
	rec.String("u")
	rec.String("on")
	rec.Op(format.OpUser, 1)
	rec.String("u")
	rec.Op(format.OpConfiguration, 2)
	rec.String("d")
	rec.String("5")
	f.Add([]byte{format.OpUser, 0, format.OpUser, 3, 1, 'u', 0, 0})
	f.Add([]byte{format.OpConfiguration, 0, format.OpConfiguration, 3, 1, 'd', 0, 0})
	f.Add([]byte{format.OpMove, 0, format.OpMove, 3, 1, '7', 0, 0})
	f.Add(rec.Encoded())
	f.Add([]byte{format.OpKey, 2, 0, 0, format.OpPatch, 2, 8, 255, 255, 255, 255, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		rig := newRig(t, vfs.NewMem(), 0)
		defer rig.close()
		r := rig.replayer.new()
		for _, w := range r.workers {
			w.limit = 1 << 20
		}
		err := r.recordApart(r.workers[0], b, 1)
		if err == nil {
			err = r.apply()
		}
		if err == nil {
			rig.must(rig.writer.Write(t.Context()))
		}
	})
}
