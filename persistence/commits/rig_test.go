package commits

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/structures"
)

// passes are those of a writeback that does nothing.
type passes struct{}

func (passes) Lock()                    {}
func (passes) Unlock()                  {}
func (passes) Rebase(*pebble.DB) error  { return nil }
func (passes) Grown()                   {}
func (passes) Delay() (d time.Duration) { return 0 }
func (passes) Hasten()                  {}

// rig is a committer with files, and no keys in memory.
type rig struct {
	*Commits
	committer *committer
}

// hash is a hash of short keys, different for each.
func hash(key []byte) (h uint64) {
	for _, b := range key {
		h = h*257 + uint64(b)
	}
	return h
}

func newRig(t *testing.T, fsys vfs.FS, policy journal.SyncPolicy) *rig {
	t.Helper()
	f, r := new(files.Files), new(reserve.Reserve)
	r.Init(fsys, "db", 0, disktest.Silent{})
	f.Init(files.Config{FS: fsys, Dir: "db", OpenFiles: 100, CacheBytes: 1 << 20, MemTableBytes: 1 << 20, SegmentBytes: 1 << 20, Reserve: r,
		Operator: disktest.Silent{}, Now: func() int64 { return 0 }, Ctx: context.Background(), Closing: func() bool { return false }})
	s := new(Commits)
	s.Init(Config{Files: f, Reserve: r, Passes: passes{}, Pacer: passes{}, Operator: disktest.Silent{}, Elapsed: func() time.Duration { return 0 },
		Hash: hash, LockAll: func() func() { return func() {} }})
	s.SetPolicy(policy)
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.LoadMeta(), f.OpenLog(), f.Complete(), f.Disk.Fence().Adopt(s.Fatal)); err != nil {
		t.Fatal(err)
	}
	c := &committer{Commits: s}
	s.Serve(s.Start())
	t.Cleanup(func() {
		c.step(true, true)
		if err := errors.Join(f.Log.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-s.Journal.Wake():
	default:
	}
	return &rig{s, c}
}

// set journals that a key of a database was set.
func (r *rig) set(db uint32, key string, value []byte) (lsn uint64) {
	var rec structures.Change
	format.RecordKey(&rec, db, []byte(key))
	format.RecordSet(&rec, value, 0)
	return r.Journal.Append(rec.Encoded(), 0)
}
