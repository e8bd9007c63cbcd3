package writeback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/lsm/lsmtest"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

// rig is a Writer with a keyspace of one database and a disk in memory. It is the host of the Writer.
type rig struct {
	t        *testing.T
	w        Writer
	keyspace keyspace.Keyspace
	keys     format.Keys
	disk     lsm.Disk
	journal  journal.Journal
	log      journal.Log
	clock    expiry.Clock

	lsn     uint64 // newest record
	failing error  // of AwaitSync
	awaited uint64 // by AwaitSync
	sealed  uint64
	bound   int64
	free    uint64
	total   uint64
	reports int
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	r := &rig{t: t, keys: format.DeriveKeys([16]byte{1})}
	r.keyspace.Init(&r.keys.Values, 0)
	r.keyspace.Phys = []uint32{1}
	for i := range r.keyspace.Shard {
		r.keyspace.Shard[i].Tables = make([]*keyspace.Table, 1)
	}
	r.journal.Init()
	lsmtest.Open(t, vfs.NewMem(), &r.disk)
	t.Cleanup(r.keyspace.Pool.Close)
	c.Host, c.Operator, c.Disk, c.Keyspace, c.Keys, c.Journal, c.Log, c.Expiries = r, r, &r.disk, &r.keyspace, &r.keys, &r.journal, &r.log, &r.clock
	c.Now = func() int64 { return 1 }
	r.w.Init(c)
	return r
}

func (r *rig) Contained(int) uint64 { return r.lsn }

func (r *rig) AwaitSync(lsn uint64) error {
	r.awaited = max(r.awaited, lsn)
	return r.failing
}

func (r *rig) Seal(_ *pebble.Batch, lsn uint64) error {
	if lsn > r.awaited {
		r.t.Errorf("a batch has record %d, and the journal is on the device up to %d", lsn, r.awaited)
	}
	r.sealed = lsn
	return nil
}

func (r *rig) Written(v structures.Value) structures.Value { return v }
func (r *rig) Unforced() bool                              { return false }
func (r *rig) Bound() int64                                { return r.bound }
func (r *rig) Trimmed() uint64                             { return 0 }
func (r *rig) Space() (free, total uint64)                 { return r.free, r.total }
func (r *rig) Error(string, error)                         { r.reports++ }

// change changes a key under the lock of its shard: f gets its table and slot, -1 for none.
func (r *rig) change(key string, f func(t *keyspace.Table, i int, hash uint64)) {
	h := r.keys.Hash.Sum([]byte(key))
	shard := format.ShardOf(h)
	sh := &r.keyspace.Shard[shard]
	sh.Mu.Lock()
	defer r.keyspace.UnlockShard(sh)
	t := r.keyspace.Table(shard, 0)
	f(t, t.Find(h, []byte(key)), h)
	r.lsn++
}

// set sets a key, which the disk may have if it is not in memory.
func (r *rig) set(key, value string, onDisk uint64) {
	r.change(key, func(t *keyspace.Table, i int, h uint64) {
		if i < 0 {
			t.AddInline(h, []byte(key), []byte(value), 0, keyspace.Dirty|onDisk)
			return
		}
		t.SetInline(i, []byte(key), []byte(value), 0)
		t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	})
}

// stored returns the head that the disk has of a key.
func (r *rig) stored(key string) (h format.Head, ok bool) {
	r.t.Helper()
	b, closer, err := r.disk.DB.Get(format.AppendHeadKey(nil, 1, r.keys.Hash.Sum([]byte(key)), []byte(key)))
	if errors.Is(err, pebble.ErrNotFound) {
		return h, false
	}
	if err == nil {
		h, err = format.DecodeHead(append([]byte(nil), b...))
	}
	if err = errors.Join(err, closer.Close()); err != nil {
		r.t.Fatal(err)
	}
	return h, true
}

func (r *rig) write() error {
	r.w.Lock()
	defer r.w.Unlock()
	return r.w.Write(r.t.Context())
}

// A batch is committed when the device has the journal up to the newest record in it, and not before. If that fails, it is
// committed by the next pass, with what changed meanwhile.
func TestBatchesAreCommittedBehindTheJournal(t *testing.T) {
	r := newRig(t, Config{BatchBytes: 1 << 20})
	r.set("a", "1", 0)
	r.set("b", "1", 0)
	r.failing = errors.New("the journal cannot be written")
	if err := r.write(); !errors.Is(err, r.failing) {
		t.Fatalf("got %v, want the journal's error", err)
	}
	if _, ok := r.stored("a"); ok || r.awaited < 2 {
		t.Fatalf("the disk has a value of a record that the journal lacks: %v, awaited %d", ok, r.awaited)
	}
	r.failing = nil
	r.set("a", "2", 0)
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "2", "b": "1"} {
		if h, _ := r.stored(key); string(h.Payload) != want || h.LSN > r.sealed {
			t.Errorf("%s: the disk has %q of record %d, want %q and none beyond %d", key, h.Payload, h.LSN, want, r.sealed)
		}
	}
	if err := r.write(); err != nil || r.w.Values.Load() != 3 {
		t.Errorf("%v, %d values were encoded, want 3", err, r.w.Values.Load())
	}
}

// After each pass the disk has what the keyspace has, whatever was set, deleted and evicted before, by small batches too.
func TestDiskIsTheModelAfterEachPass(t *testing.T) {
	const seed = 7
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := newRig(t, Config{BatchBytes: 200})
	model := map[string]string{}
	for range 40 {
		for range rnd.IntN(60) {
			key, value := fmt.Sprint("key:", rnd.IntN(100)), fmt.Sprint(rnd.Uint64())
			switch rnd.IntN(4) {
			case 0:
				r.change(key, func(t *keyspace.Table, i int, h uint64) {
					switch {
					case i >= 0:
						t.Erase(i)
					case model[key] != "": // it was evicted
						t.AddTombstone(h, []byte(key), false)
					}
				})
				delete(model, key)
			case 1:
				r.change(key, func(t *keyspace.Table, i int, _ uint64) {
					if i >= 0 && t.Meta(i)&(keyspace.Dirty|keyspace.OnDisk|keyspace.Tombstone) == keyspace.OnDisk {
						t.Spill(i)
					}
				})
			default:
				if model[key] != "" {
					r.set(key, value, keyspace.OnDisk) // if it was evicted
				} else {
					r.set(key, value, 0)
				}
				model[key] = value
			}
		}
		if err := r.write(); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			key := fmt.Sprint("key:", i)
			h, ok := r.stored(key)
			if want, there := model[key]; ok != there || string(h.Payload) != want {
				t.Fatalf("seed %d: the disk has %q of %s (%v), want %q (%v)", seed, h.Payload, key, ok, want, there)
			}
		}
	}
}

// Pages of a large value are evicted and read when they are needed: the bytes in memory stay near the bound.
func TestPagesOfALargeValueAreEvictedAndReadAgain(t *testing.T) {
	was := structures.SetIndexedPages(2)
	defer structures.SetIndexedPages(was)
	r := newRig(t, Config{BatchBytes: 1 << 20, LargeBytes: 1})
	v := hash.New(&r.keys.Values)
	field := func(i int) []byte { return fmt.Append(nil, "field:", i) }
	for i := range 2000 {
		v.Set(nil, field(i), make([]byte, 100))
	}
	o := &keyspace.Object{Key: []byte("h"), Value: v, Whole: true}
	r.change("h", func(t *keyspace.Table, _ int, h uint64) {
		t.AddObject(h, o, keyspace.Dirty)
		r.w.Enlarge(t, o, h)
	})
	if l := r.w.Large(); l.Values != 1 || l.Bytes < 200_000 {
		t.Fatalf("got %+v, want one value of 200,000 bytes and more", l)
	}
	if r.w.EvictPages(1 << 20); r.w.Large().Bytes < 200_000 {
		t.Error("pages were evicted that the disk does not have")
	}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the first time all were used
		r.w.EvictPages(1 << 20)
	}
	if l := r.w.Large(); l.Bytes > 50_000 {
		t.Errorf("%d bytes are in memory when all pages are evicted", l.Bytes)
	}
	for i := range 2000 {
		if _, ok := v.Get(field(i), 1); !ok {
			t.Fatalf("field %d is not read again", i)
		}
	}
	if r.w.PageReads.Load() == 0 {
		t.Error("no page was read")
	}
	r.change("h", func(t *keyspace.Table, _ int, _ uint64) { o.Unpage() })
	if l := r.w.Large(); l != (Large{}) {
		t.Errorf("got %+v when the value is gone", l)
	}
}

// reader is a transaction.
type reader struct{ err error }

func (r *reader) Fail(err error) { r.err = err }
func (r *reader) Failed() bool   { return r.err != nil }

// A page that the disk lacks fails who uses the value, and a later user is asked again.
func TestPageThatCannotBeReadFailsItsReader(t *testing.T) {
	r := newRig(t, Config{LargeBytes: 1})
	p := &Pager{w: &r.w, t: r.keyspace.Table(0, 0), o: &keyspace.Object{Key: []byte("h"), Value: hash.New(&r.keys.Values)}}
	one, other := new(reader), new(reader)
	for _, by := range []*reader{one, other} {
		if !p.Use(by) || p.Use(by) {
			t.Error("a reader is new once")
		}
		if p.ReadPage(1, func([]byte) error { return nil }) || by.err == nil || !p.Failed() {
			t.Errorf("a page that is not there was read: %v", by.err)
		}
	}
	p.reader = nil
	if p.ReadPage(1, nil) || !p.Failed() || r.reports != 1 {
		t.Errorf("without a reader: failed %v, %d reports", p.Failed(), r.reports)
	}
	if p.Retry(); p.Failed() {
		t.Error("it is not asked again")
	}
}

// Clients that change large values wait the longer the more memory these take, so that
// they end up at the pace of the disk before memory exceeds its bound by much. The others
// do not wait.
func TestWritersWaitForTheMemoryOfLargeValues(t *testing.T) {
	const bound = 64 << 20
	r := newRig(t, Config{JournalBound: 1 << 20})
	r.bound = bound
	last := time.Duration(-1)
	for _, step := range []struct {
		percent        int64
		least, longest time.Duration
	}{
		{0, 0, 0},
		{74, 0, 0},
		{84, time.Millisecond, maxLargeDelay / 4},
		{100, maxLargeDelay / 4, maxLargeDelay},
		{110, maxLargeDelay / 2, maxLargeDelay},
		{120, maxLargeDelay, maxLargeDelay},
		{1e6, maxLargeDelay, maxLargeDelay},
	} {
		r.w.large.Store(bound / 100 * step.percent)
		got := r.w.Pace(0)
		if got < step.least || got > step.longest || got < last {
			t.Errorf("large values take %d %% of the bound: %v, want %v to %v and no less than the %v before",
				step.percent, got, step.least, step.longest, last)
		}
		last = got
		if rest := r.w.Pace(got / 3); rest != got-got/3 {
			t.Errorf("after %v of %v: another %v", got/3, got, rest)
		}
		if rest := r.w.Pace(got); rest != 0 {
			t.Errorf("after all of %v: another %v", got, rest)
		}
		if r.w.Delay() != 0 {
			t.Errorf("large values take %d %% of the bound: all clients wait %v", step.percent, r.w.Delay())
		}
	}
	if r.bound = 0; r.w.Pace(0) != 0 {
		t.Errorf("without a bound writers wait %v", r.w.Pace(0))
	}
}

// The journal may get longer than its bound if its records are long: a start replays it in the same time. It takes a
// part of what is free at most.
func TestJournalOfLongRecordsMayBeLonger(t *testing.T) {
	const bound = 1 << 20
	length := func(bound, bytes int64, free, total uint64) int64 {
		r := newRig(t, Config{JournalBound: bound})
		for range 100 {
			r.journal.Append([]byte("record"), 0)
		}
		r.log.Add(100, bytes, 0)
		r.free, r.total = free, total
		return r.w.JournalBound()
	}
	for _, c := range []struct{ bytes, free, want int64 }{ // of 100 records
		{bound - 1, 1 << 20, 1}, // it is not looked at
		{bound * 2, 1 << 20, 4},
		{bound * 2, 24, 3},
		{bound * 2, 1, 1},
	} {
		if got := length(bound, c.bytes, uint64(c.free*bound), 1<<60); got != c.want*bound {
			t.Errorf("%d bytes, %d free: %d, want %d", c.bytes, c.free*bound, got, c.want*bound)
		}
	}
	for size, want := range map[int64]int64{40: 1000, 80: 1000, 200: 1861, 1000: 3444, 10_000: 4000} {
		if got := length(1000, 100*size, 0, 0); got != want {
			t.Errorf("records of %d bytes: %d, want %d", size, got, want)
		}
	}
}
