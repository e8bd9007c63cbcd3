package member

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/lsm/lsmtest"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/structures"
)

// rig is a member whose store has no keys: it notes which entries are applied. It is host, applier, replicator and log.
type rig struct {
	*testing.T
	m        *Member
	disk     lsm.Disk
	keyspace keyspace.Keyspace
	journal  journal.Journal
	durable  journal.Durability
	size     journal.Log
	expiries expiry.Clock
	meta     format.Meta
	fs       vfs.FS
	notes    map[uint64]int64

	applied  []uint64
	proposed []grouplog.Entry
	failing  error // of Apply
	hard     error // of Remake
	keys     bool
	lives    int
	remade   int
	trimmed  uint64
	deposed  []bool // whether it still led
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, fs: disktest.New(), meta: format.Meta{Secret: [16]byte{1}, Grouped: true}, notes: map[uint64]int64{}, trimmed: 1 << 60}
	r.meta.Extend(2)
	r.keyspace.Init(new(structures.HashKeys), 0)
	r.journal.Init()
	r.durable.Init()
	r.must(r.fs.MkdirAll("db", 0o700))
	lsmtest.Open(t, r.fs, &r.disk)
	r.m = New(Config{Host: r, Log: r, Replicator: r, Disk: &r.disk, Keyspace: &r.keyspace, Journal: &r.journal, Durable: &r.durable,
		Size: &r.size, Expiries: &r.expiries, FS: r.fs, Dir: "db"})
	r.must(r.m.Open())
	t.Cleanup(func() {
		r.m.Resign()
		r.must(r.m.CloseLog())
		r.keyspace.Pool.Close()
	})
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) Live() Applier              { r.lives++; return r }
func (r *rig) HoldStill() (end func())    { return r.keyspace.LockAll() }
func (r *rig) Remake() error              { r.remade++; r.journal.Resume(journal.Position{}); return r.hard }
func (r *rig) Rewarm()                    {}
func (r *rig) Deposed()                   { r.deposed = append(r.deposed, r.m.Leads()) }
func (r *rig) AnyKeys(int) bool           { return r.keys }
func (r *rig) Meta() *format.Meta         { return &r.meta }
func (r *rig) Trimmed(lsn uint64)         { r.trimmed = lsn }
func (r *rig) Grown()                     {}
func (r *rig) Options() *pebble.Options   { return lsm.Options(r.disk.Fence(), disktest.Silent{}) }
func (r *rig) DropKept()                  {}
func (r *rig) Failed(err error) error     { return err }
func (r *rig) Infof(string, ...any)       {}
func (r *rig) Error(kind string, e error) { r.T.Errorf("%s: %v", kind, e) }
func (r *rig) Debug(string, error)        {}
func (r *rig) Skip(uint64)                {}

func (r *rig) Kept() ([]tail.Chunk, bool, error) { return nil, false, nil }

func (r *rig) LogConfig() storelog.Config {
	return storelog.Config{FS: r.fs, Dir: "db", Secret: r.meta.Secret, SegmentBytes: 1 << 16,
		Note: func(segment uint64, bytes int64) { r.notes[segment] = bytes }}
}

// Apply implements Applier.
func (r *rig) Apply(index uint64, _ []byte) error {
	if r.failing == nil {
		r.applied = append(r.applied, index)
	}
	return r.failing
}

// Propose implements Replicator: entries follow the log.
func (r *rig) Propose(term uint64, data []byte) error {
	_, last := r.m.Log().Bounds()
	r.proposed = append(r.proposed, grouplog.Entry{Index: last + 1 + uint64(len(r.proposed)), Term: term, Type: grouplog.Records, Data: data})
	return nil
}

// take returns what was proposed.
func (r *rig) take() (entries []grouplog.Entry) {
	entries, r.proposed = r.proposed, nil
	return entries
}

// record journals a record of a size.
func (r *rig) record(size int) uint64 { return r.journal.Append(make([]byte, size), 0) }

const other = 2 // type of entries without records

// lead makes the member the leader of a term, whose first entry it has applied.
func (r *rig) lead(term uint64) {
	r.Helper()
	_, last := r.m.Log().Bounds()
	first := []grouplog.Entry{{Index: last + 1, Term: term, Type: other}}
	r.must(r.m.Append(first, &grouplog.HardState{Term: term}))
	r.must(r.m.Commit(first))
	r.must(r.m.Lead(term))
}

// A leader proposes what is journalled, a few entries at a time, and replies wait until these are committed.
func TestWhatALeaderChangesCountsWhenItIsCommitted(t *testing.T) {
	r := newRig(t)
	r.record(10)
	if r.m.Propose(); len(r.proposed) > 0 || !r.m.Follows() {
		t.Error("a member proposes that does not lead")
	}
	r = newRig(t)
	r.lead(3)
	for range 2 * maxFlying {
		r.record(100)
		r.m.Propose()
	}
	entries := r.take()
	if len(entries) != maxFlying || entries[0].Term != 3 {
		t.Fatalf("%d entries are under way, want %d", len(entries), maxFlying)
	}
	r.must(r.m.Append(entries, nil))
	if r.durable.Synced() != 0 {
		t.Error("a record counts before it is committed")
	}
	r.must(r.m.Commit(entries))
	if got := r.durable.Synced(); got != maxFlying {
		t.Errorf("records up to %d are committed, want %d", got, maxFlying)
	}
	if rest := r.take(); len(rest) != 0 {
		t.Errorf("%d entries were proposed before Propose was called", len(rest))
	}
	if r.m.Propose(); len(r.proposed) != 1 {
		t.Errorf("%d entries for what was journalled meanwhile, want one", len(r.proposed))
	}
}

// A follower applies each entry of records once, in their order. After a failure it applies nothing until memory was made
// anew.
func TestAFollowerAppliesWhatIsCommitted(t *testing.T) {
	leader, r := newRig(t), newRig(t)
	leader.lead(1)
	first := []grouplog.Entry{{Index: 1, Term: 1, Type: other}}
	r.must(r.m.Append(first, nil))
	r.must(r.m.Commit(first))
	var entries []grouplog.Entry
	for range 3 {
		leader.record(50)
		leader.m.Propose()
	}
	entries = leader.take()
	r.must(r.m.Append(entries, nil))
	r.must(r.m.Commit(entries[:1]))
	r.failing = errors.New("a page cannot be read")
	if err := r.m.Commit(entries[1:]); !errors.Is(err, r.failing) || r.m.Applied() != 2 {
		t.Fatalf("%v, applied %d, want 2", err, r.m.Applied())
	}
	r.failing = nil
	r.must(r.m.Follow())
	if r.remade != 1 || r.m.Broken() != nil {
		t.Errorf("memory was made anew %d times", r.remade)
	}
	r.must(r.m.Commit(entries[1:]))
	if got := fmt.Sprint(r.applied); got != "[2 3 4]" || r.lives != 2 {
		t.Errorf("entries %s were applied by %d appliers, want [2 3 4] by 2", got, r.lives)
	}
	for what, bad := range map[string]grouplog.Entry{"one that is applied": entries[0], "a gap": {Index: 9, Term: 1, Type: other}} {
		if err := r.m.Append([]grouplog.Entry{bad}, nil); !errors.Is(err, grouplog.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What a leader has not committed is given up when another member leads; if memory cannot be made anew then, the member is
// broken.
func TestWhatIsNotCommittedIsGivenUp(t *testing.T) {
	for _, hard := range []error{nil, errors.New("the disk cannot be read")} {
		r := newRig(t)
		r.hard = hard
		r.lead(1)
		lsn := r.record(10)
		err := r.m.Follow()
		if !errors.Is(err, hard) || r.remade != 1 || (r.m.Broken() != nil) != (hard != nil) || !r.m.Follows() {
			t.Errorf("%v: %v, %d times, broken: %v", hard, err, r.remade, r.m.Broken())
		}
		if r.durable.Confirmed(lsn) {
			t.Errorf("%v: what was given up is confirmed", hard)
		}
		if hard == nil {
			r.must(r.m.Follow())
		}
		if r.remade != 1 {
			t.Error("memory is made anew of nothing that was given up")
		}
	}
}

// A store becomes that of another member if it is empty, or its keys may go. Nothing of the former member is left.
func TestRenewLeavesNothing(t *testing.T) {
	r := newRig(t)
	first := []grouplog.Entry{{Index: 1, Term: 4, Type: other}}
	r.must(r.m.Append(first, &grouplog.HardState{Term: 4, Vote: 2}))
	r.must(r.m.Commit(first))
	r.keys = true
	if err := r.m.Renew([]byte("b"), false); !errors.Is(err, ErrNotEmpty) || r.remade != 0 || r.m.Applied() != 1 {
		t.Fatalf("a store with keys: %v, made anew %d times", err, r.remade)
	}
	r.must(r.m.Renew([]byte("b"), true))
	begin, last := r.m.Log().Bounds()
	if r.remade != 1 || r.m.Applied() != 0 || r.trimmed != 0 || begin != 1 || last != 0 || string(r.m.Log().Identity()) != "b" {
		t.Errorf("applied %d, trimmed %d, the log from %d to %d, of %q", r.m.Applied(), r.trimmed, begin, last, r.m.Log().Identity())
	}
	if r.m.Log().State() != (grouplog.HardState{}) {
		t.Errorf("the log has %+v", r.m.Log().State())
	}
	r.must(r.m.Append(first, nil))
	r.must(r.m.Commit(first))
	if r.lives != 2 {
		t.Errorf("entries are applied to what %d appliers knew, want another one", r.lives)
	}
}
