package sweep

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/lsm/lsmtest"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
)

const phys = 1 // the physical database of the rig's only logical one

// rig is a Sweeper with a keyspace of one database and a disk in memory. It is the host of the Sweeper.
type rig struct {
	*testing.T
	s        Sweeper
	keyspace keyspace.Keyspace
	keys     format.Keys
	disk     lsm.Disk
	clock    expiry.Clock

	lsn, synced uint64
	refusal     error // of Synced
	defers      bool
	expired     map[string]int
	parts       map[string]int
	reports     []error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, keys: format.DeriveKeys([16]byte{1}), expired: map[string]int{}, parts: map[string]int{}}
	r.keyspace.Init(&r.keys.Values, 0)
	r.keyspace.Phys = []uint32{phys}
	for i := range r.keyspace.Shard {
		r.keyspace.Shard[i].Tables = make([]*keyspace.Table, 1)
	}
	lsmtest.Open(t, vfs.NewMem(), &r.disk)
	t.Cleanup(r.keyspace.Pool.Close)
	r.s.Init(Config{Host: r, Operator: r, Disk: &r.disk, Keyspace: &r.keyspace, Keys: &r.keys, Clock: &r.clock})
	return r
}

func (r *rig) Defers() bool                          { return r.defers }
func (r *rig) Expired(_ int, key []byte)             { r.expired[string(key)]++ }
func (r *rig) Sync() uint64                          { return r.lsn }
func (r *rig) Synced(lsn uint64) (bool, error)       { return r.synced >= lsn, r.refusal }
func (r *rig) Error(_ string, err error)             { r.reports = append(r.reports, err) }
func (r *rig) cycle(now int64) int                   { return r.s.Cycle(now, time.Second) }
func (r *rig) NamesParts(int, *keyspace.Object) bool { return true }

func (r *rig) PartsExpired(_ int, o *keyspace.Object, n int, parts [][]byte) {
	if len(parts) != n {
		r.T.Errorf("%d parts of %s have expired, and %q are named", n, o.Key, parts)
	}
	r.parts[string(o.Key)] += n
}

func (r *rig) Journal(rec []byte, _ *keyspace.Object, _ []byte) uint64 {
	if len(rec) == 0 {
		r.Fatal("an empty record")
	}
	r.lsn++
	return r.lsn
}

// add adds a key to memory that expires, without a copy on disk.
func (r *rig) add(key string, expire int64, flags uint64) {
	h := r.keys.Hash.Sum([]byte(key))
	sh := &r.keyspace.Shard[format.ShardOf(h)]
	sh.Mu.Lock()
	defer r.keyspace.UnlockShard(sh)
	r.keyspace.Table(format.ShardOf(h), 0).AddInline(h, []byte(key), []byte("value"), expire, keyspace.Dirty|flags)
}

// store adds keys to the disk only, with entries of the index.
func (r *rig) store(now, expire int64, keys ...string) {
	b := r.disk.DB.NewBatch()
	var lists expiry.Lists
	for _, key := range keys {
		h := r.keys.Hash.Sum([]byte(key))
		head := format.Head{Kind: structures.KindString, Short: true, Payload: []byte("value"), Expire: expire}
		r.must(b.Set(format.AppendHeadKey(nil, phys, h, []byte(key)), append(format.AppendHead(nil, &head), head.Payload...), nil))
		lists.Add(now, phys, h, expire)
		t := r.keyspace.Table(format.ShardOf(h), 0)
		t.Disk, t.Resident = t.Disk+1, false
	}
	written, err := lists.Write(b, &r.keys)
	r.must(errors.Join(err, r.disk.Apply(b, pebble.NoSync)))
	r.clock.Note(written)
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// lists is how many lists the index has.
func (r *rig) lists() (n int) {
	it, err := r.disk.DB.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixExpiry), UpperBound: format.AppendGroupEnd(nil, format.PrefixExpiry)})
	r.must(err)
	for it.First(); it.Valid(); it.Next() {
		n++
	}
	r.must(it.Close())
	return n
}

func TestKeysGoOnceTheirTimeHasCome(t *testing.T) {
	r := newRig(t)
	for i := range 300 {
		r.add(fmt.Sprint("soon ", i), 10, 0)
		r.add(fmt.Sprint("later ", i), 1000, 0)
	}
	if n := r.cycle(9); n != 0 {
		t.Fatalf("%d keys expired before their time", n)
	}
	if n := r.cycle(10); n != 300 || len(r.expired) != 300 || r.lsn != 300 {
		t.Fatalf("%d keys expired, %d were told, with %d records", n, len(r.expired), r.lsn)
	}
	if n := r.cycle(1000); n != 300 {
		t.Fatalf("%d of the other keys expired", n)
	}
	if r.s.Capped.Load() != 0 {
		t.Error("a cycle ended early that had time")
	}
}

// What the budget does not reach, the next cycles do.
func TestCyclesGoOnWhereTheOneBeforeEnded(t *testing.T) {
	r := newRig(t)
	for i := range 2000 {
		r.add(fmt.Sprint(i), 10, 0)
	}
	cycles := 0
	for total := 0; total < 2000; cycles++ {
		if cycles == 2000 {
			t.Fatalf("%d keys expired in %d cycles", total, cycles)
		}
		total += r.s.Cycle(10, 20*time.Microsecond)
	}
	if cycles < 10 || r.s.Capped.Load() == 0 {
		t.Errorf("%d cycles of 20 us sufficed for 2000 keys", cycles)
	}
}

// A key that only the disk has becomes a tombstone, and the next pass removes it there.
func TestKeysOnDiskOnlyBecomeTombstones(t *testing.T) {
	r := newRig(t)
	r.store(0, 5000, "a", "b")
	r.store(0, 50_000, "c")
	if n := r.cycle(10_000); n != 2 || r.expired["a"] != 1 || r.expired["b"] != 1 {
		t.Fatalf("%d keys expired: %v", n, r.expired)
	}
	h := r.keys.Hash.Sum([]byte("a"))
	table := r.keyspace.Table(format.ShardOf(h), 0)
	if i := table.Find(h, []byte("a")); i < 0 || table.Meta(i)&(keyspace.Tombstone|keyspace.Dirty|keyspace.OnDisk) == 0 {
		t.Error("no tombstone")
	}
}

// A list goes once the device has the deletions: after a crash before that it is there again.
func TestListsStayUntilTheJournalIsOnTheDevice(t *testing.T) {
	r := newRig(t)
	r.store(0, 5000, "a", "b", "c")
	before := r.lists()
	if before == 0 || r.cycle(10_000) != 3 {
		t.Fatal("nothing to begin with")
	}
	if r.cycle(10_000); r.lists() != before {
		t.Error("lists went before the journal was synced")
	}
	r.synced, r.refusal = r.lsn, errors.New("not the leader any more")
	if r.cycle(10_000); r.lists() != before || len(r.reports) == 0 {
		t.Errorf("lists went though the group does not have the deletions; %d reports", len(r.reports))
	}
	r.refusal = nil
	if r.cycle(10_000); r.lists() != 0 {
		t.Errorf("%d lists are left", r.lists())
	}
}

// Who does not decide deletes nothing, and looks again later.
func TestNothingIsDeletedWhereAnotherServerDecides(t *testing.T) {
	r := newRig(t)
	r.defers = true
	r.add("in memory", 10, 0)
	r.store(0, 5000, "on disk")
	if n := r.cycle(10_000); n != 0 || r.lsn != 0 {
		t.Fatalf("%d keys deleted", n)
	}
	r.synced, r.defers = r.lsn, false
	if n := r.cycle(10_000 + 2*LeaderDelay); n != 2 {
		t.Errorf("%d keys deleted after it was told to decide", n)
	}
}

func TestFieldsExpireAndTheLastOneTakesTheKey(t *testing.T) {
	r := newRig(t)
	key := []byte("hash")
	h := r.keys.Hash.Sum(key)
	v := hash.New(&r.keys.Values)
	v.Set(nil, []byte("one"), []byte("1"))
	v.Set(nil, []byte("two"), []byte("2"))
	v.ExpireAt(nil, []byte("one"), 10)
	v.ExpireAt(nil, []byte("two"), 20)
	table := r.keyspace.Table(format.ShardOf(h), 0)
	table.AddObject(h, &keyspace.Object{Key: key, Value: v, Whole: true}, keyspace.Dirty)
	if r.cycle(10); r.parts["hash"] != 1 || table.Find(h, key) < 0 {
		t.Fatalf("%d fields expired, or the key is gone", r.parts["hash"])
	}
	if r.cycle(20); r.parts["hash"] != 2 || table.Find(h, key) >= 0 {
		t.Errorf("%d fields expired, or the key is left", r.parts["hash"])
	}
}
