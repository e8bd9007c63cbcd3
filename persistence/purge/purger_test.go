package purge

import (
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/lsm/lsmtest"
	"github.com/vigildb/vigil/persistence/writeback"
)

// rig is a Purger with the writeback that it waits for. It is its host.
type rig struct {
	*testing.T
	p        Purger
	w        writeback.Writer
	keyspace keyspace.Keyspace
	keys     format.Keys
	disk     lsm.Disk
	clock    expiry.Clock

	refusal error  // of AwaitSync
	awaited uint64 // by it
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, keys: format.DeriveKeys([16]byte{1})}
	r.keyspace.Init(&r.keys.Values, 0)
	r.keyspace.Phys = []uint32{1}
	lsmtest.Open(t, vfs.NewMem(), &r.disk)
	t.Cleanup(r.keyspace.Pool.Close)
	r.w.Init(writeback.Config{Disk: &r.disk, Keyspace: &r.keyspace}) // nothing is ever under way
	r.p.Config = Config{Host: r, Disk: &r.disk, Keyspace: &r.keyspace, Writer: &r.w, Clock: &r.clock}
	return r
}

func (r *rig) AwaitSync(lsn uint64) error {
	r.awaited = max(r.awaited, lsn)
	return r.refusal
}

func (r *rig) Seal(_ *pebble.Batch, lsn uint64) error {
	if lsn > r.awaited {
		r.Errorf("a batch says record %d, and the device has the journal up to %d", lsn, r.awaited)
	}
	return nil
}

// fill gives physical databases a key, a page, a count and a list each, on disk.
func (r *rig) fill(phys ...uint32) {
	r.Helper()
	b := r.disk.DB.NewBatch()
	for _, one := range phys {
		h := r.keys.Hash.Sum([]byte("key"))
		var lists expiry.Lists
		lists.Add(1, one, h, 5000)
		_, err := lists.Write(b, &r.keys)
		r.must(errors.Join(err, b.Set(format.AppendHeadKey(nil, one, h, []byte("key")), []byte("head"), nil),
			b.Set(format.AppendPageKey(nil, one, h, []byte("key"), 0), []byte("page"), nil), b.Set(format.AppendCountKey(nil, one, 0), []byte("count"), nil)))
	}
	r.must(r.disk.Apply(b, pebble.Sync))
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// left returns which of physical databases the disk has anything of, with all four of what fill gave them.
func (r *rig) left(phys ...uint32) (some []uint32) {
	r.Helper()
	for _, one := range phys {
		kinds := 0
		for _, prefix := range []byte{format.PrefixCount, format.PrefixExpiry, format.PrefixHead, format.PrefixPage} {
			any, err := lsm.Any(r.disk.DB, format.AppendPhysBound(nil, prefix, uint64(one)), format.AppendPhysBound(nil, prefix, uint64(one)+1))
			r.must(err)
			if any {
				kinds++
			}
		}
		switch kinds {
		case 4:
			some = append(some, one)
		case 0:
		default:
			r.Errorf("the disk has %d of four kinds of keys of database %d", kinds, one)
		}
	}
	return some
}

func TestFlushedDatabasesGoWithAllTheirKeys(t *testing.T) {
	r := newRig(t)
	r.fill(1, 2, 3)
	r.p.Databases([]uint32{2}, 7)
	select {
	case <-r.w.Wake():
	default:
		t.Error("nobody was told to come for a flushed database")
	}
	r.must(r.p.Run())
	if got := r.left(1, 2, 3); !slices.Equal(got, []uint32{1, 3}) || r.awaited != 7 {
		t.Errorf("databases %v are left, the journal was awaited up to %d", got, r.awaited)
	}
}

// Without the record of the flush a crash would bring back a part of the database.
func TestNothingGoesBeforeTheJournalSaysSo(t *testing.T) {
	r := newRig(t)
	r.fill(1)
	r.p.Databases([]uint32{1}, 7)
	r.refusal = errors.New("the device is gone")
	if err := r.p.Run(); !errors.Is(err, r.refusal) || len(r.left(1)) != 1 {
		t.Fatalf("error %v, %d databases left", err, len(r.left(1)))
	}
	r.refusal = nil
	if r.must(r.p.Run()); len(r.left(1)) != 0 {
		t.Error("what could not be removed is not tried again")
	}
}

func TestTablesOfFlushedDatabasesGiveTheirMemoryBack(t *testing.T) {
	r := newRig(t)
	sh := &r.keyspace.Shard[3]
	sh.Tables = make([]*keyspace.Table, 1)
	sh.Mu.Lock()
	table := r.keyspace.Table(3, 0)
	for i := range 1000 {
		key := []byte{byte(i), byte(i >> 8)}
		table.AddInline(3<<56|uint64(i), key, make([]byte, 100), 0, keyspace.Dirty)
	}
	sh.Tables[0] = nil
	r.p.Table(3, table)
	r.keyspace.UnlockShard(sh)
	before := r.keyspace.Memory.Load()
	if r.p.Drain(); r.keyspace.Memory.Load() >= before-100_000 || !table.Dropped {
		t.Errorf("%d bytes of %d are left", r.keyspace.Memory.Load(), before)
	}
}

// A start removes what has no name any more: a crash came between a flush and what was to free it.
func TestAStartRemovesWhatHasNoName(t *testing.T) {
	r := newRig(t)
	r.fill(1, 2, 5, 9, 1<<32-1)
	r.keyspace.Shard[0].Counts = map[uint32]int64{2: 1, 5: 1}
	r.must(r.p.Unmapped([]uint32{9, 2}, 0))
	if got := r.left(1, 2, 5, 9, 1<<32-1); !slices.Equal(got, []uint32{2, 9}) {
		t.Errorf("databases %v are left", got)
	}
	if c := r.keyspace.Shard[0].Counts; len(c) != 1 || c[2] != 1 {
		t.Errorf("counts %v", c)
	}
}

// Databases that a list of a leader or a master lacks go, and only these.
func TestReplacedDatabasesGo(t *testing.T) {
	r := newRig(t)
	r.fill(1, 2, 3)
	r.p.Replaced([]uint32{1, 2, 3}, []uint32{3, 4, 1}, 5)
	r.must(r.p.Run())
	if got := r.left(1, 2, 3); !slices.Equal(got, []uint32{1, 3}) {
		t.Errorf("databases %v are left", got)
	}
	r.p.Replaced([]uint32{3, 4, 1}, []uint32{1, 3, 4}, 6)
	if phys, _ := r.p.flushed(); len(phys) != 0 {
		t.Errorf("databases %v are to go, and all are in use", phys)
	}
}

func TestForgottenDatabasesStay(t *testing.T) {
	r := newRig(t)
	r.fill(1)
	r.p.Databases([]uint32{1}, 7)
	r.p.Forget()
	if r.must(r.p.Run()); len(r.left(1)) != 1 {
		t.Error("memory is made anew from a database that is gone")
	}
}
