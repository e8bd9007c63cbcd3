package persistence

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures/testscale"
)

// crash is the file system as a power failure at some write or sync would have
// left it.
type crash struct {
	fs    *disktest.Disk
	acked uint64 // what had been confirmed by then
}

// crasher takes copies of a file system while it is in use.
type crasher struct {
	acked atomic.Uint64

	mu      sync.Mutex
	mem     *disktest.Disk
	r       *rand.Rand
	every   int
	crashes []crash
}

func (c *crasher) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo, errorfs.OpFileWrite,
		errorfs.OpRename, errorfs.OpRemove, errorfs.OpCreate:
	default:
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.r.IntN(c.every) == 0 {
		acked := c.acked.Load()
		cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: c.r.IntN(3) * 50, RNG: rand.New(rand.NewPCG(c.r.Uint64(), 1))}
		c.crashes = append(c.crashes, crash{c.mem.CrashClone(cfg), acked})
	}
	return nil
}

func (c *crasher) String() string { return "crasher" }

// TestCrashLeavesAPrefixOfHistory stops a store at many of its writes and syncs:
// what a restart finds is the state after one of its transactions, none older
// than the last that was confirmed as durable.
func TestCrashLeavesAPrefixOfHistory(t *testing.T) {
	indexPages(t)
	for seed := range uint64(4) {
		runCrashes(t, seed)
	}
}

func runCrashes(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 3)), every: 16 * testscale.By}
	fs := errorfs.Wrap(c.mem, c)
	m := newModel()
	states := map[uint64]*model{0: m.clone()}
	policy := SyncPolicy(seed % 3)
	s := openMemory(t, Options{FS: fs, Databases: modelDBs, Seed: seed, IdleAfter: -1, Sync: policy, RecentBytes: 1 + int(seed%2)<<12,
		LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed)})
	stageParts(s)
	for range 150 {
		m.now += int64(r.IntN(3))
		m.expire()
		lsn := all(s, m.now, func(tx *Tx) {
			for range 1 + r.IntN(4) {
				m.step(t, r, tx)
			}
		})
		states[s.commits.Journal.Newest()] = m.clone() // a record of expired keys has no number for us
		switch r.IntN(12) {
		case 0:
			materialise(t, s)
		case 1, 2, 3, 4:
			if err := s.commits.WaitDurable(lsn); err != nil {
				t.Fatalf("WaitDurable: %v", err)
			}
			c.acked.Store(max(lsn, c.acked.Load()))
		case 5:
			s.eviction.Set(1, eviction.Spill, 5)
			s.eviction.MakeRoom()
			s.eviction.Set(pagedLimit(seed), eviction.Spill, 5)
		case 6, 7, 8:
			evictEverything(s)
		case 9:
			giveUp(t, s, m, r)
		}
	}
	closeStore(t, s)
	for i, crash := range c.crashes {
		checkCrash(t, seed, i, crash, states)
	}
	t.Logf("seed %d: %d crashes", seed, len(c.crashes))
}

func checkCrash(t *testing.T, seed uint64, i int, c crash, states map[uint64]*model) {
	t.Helper()
	if i%3 == 0 {
		checkCrashWithoutRoom(t, seed, i, c, states)
	}
	s := openMemory(t, Options{FS: c.fs, Databases: modelDBs, Seed: seed, IdleAfter: -1, LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed)})
	lsn := s.Stats().LSN
	if lsn < c.acked {
		t.Fatalf("seed %d, crash %d: record %d is the last, but %d was confirmed", seed, i, lsn, c.acked)
	}
	m, ok := states[lsn]
	if !ok {
		t.Fatalf("seed %d, crash %d: record %d is not the end of a transaction", seed, i, lsn)
	}
	if diff := m.clone().diff(s); diff != "" {
		t.Fatalf("seed %d, crash %d at record %d: %s", seed, i, lsn, diff)
	}
	// The store must work on, and survive another restart with the journal cut.
	materialise(t, s)
	closeStore(t, s)
	s = openMemory(t, Options{FS: c.fs, Databases: modelDBs, Seed: seed, IdleAfter: -1, LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed)})
	if diff := m.clone().diff(s); diff != "" {
		t.Fatalf("seed %d, crash %d at record %d, materialised: %s", seed, i, lsn, diff)
	}
	closeStore(t, s)
}

// fullDisk fails what writes while it is full.
type fullDisk struct {
	full atomic.Bool
	// syncOnly fails syncs and lets writes pass.
	syncOnly bool
}

func (d *fullDisk) MaybeError(op errorfs.Op) error {
	if !d.full.Load() {
		return nil
	}
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return syscall.EIO
	case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpFilePreallocate:
		if !d.syncOnly {
			return syscall.ENOSPC
		}
	}
	return nil
}

func (d *fullDisk) String() string { return "full disk" }

// TestFullDiskLosesNothingConfirmed fills the disk and frees it again: waiters
// get the error, reads go on, and when the disk takes writes again everything
// is written, with no restart.
func TestFullDiskLosesNothingConfirmed(t *testing.T) {
	for _, syncOnly := range []bool{false, true} {
		disk := &fullDisk{syncOnly: syncOnly}
		mem := vfs.NewMem()
		again := make(chan struct{}, 1)
		o := Options{FS: errorfs.Wrap(mem, disk), Sync: SyncAlways, IdleAfter: -1,
			Logf: func(_ int, format string, _ ...any) {
				if strings.HasSuffix(format, "can be written again") {
					again <- struct{}{}
				}
			}}
		s := openMemory(t, o)
		set := func(key string) error {
			return s.commits.WaitDurable(all(s, 1, func(tx *Tx) { tx.SetString([]byte(key), []byte(key), NoExpiry) }))
		}
		if err := set("a"); err != nil {
			t.Fatalf("write: %v", err)
		}
		materialise(t, s)
		disk.full.Store(true)
		if err := set("b"); err == nil {
			t.Fatal("write to a full disk was confirmed")
		}
		if s.WriteError() == nil {
			t.Fatal("no WriteError on a full disk")
		}
		if err := s.passes.Materialise(t.Context()); err == nil {
			t.Fatal("materialised to a full disk")
		}
		all(s, 1, func(tx *Tx) {
			for _, key := range []string{"a", "b"} {
				if b, _, err := tx.String([]byte(key)); string(b) != key || err != nil {
					t.Fatalf("read %s: got %q, %v", key, b, err)
				}
			}
		})
		disk.full.Store(false)
		<-again
		for s.WriteError() != nil && !errors.Is(s.WriteError(), ErrClosed) {
			_ = set("c")
		}
		if err := set("d"); err != nil {
			t.Fatalf("write after the disk was freed: %v", err)
		}
		materialise(t, s)
		closeStore(t, s)
		s = openMemory(t, Options{FS: mem})
		all(s, 1, func(tx *Tx) {
			for _, key := range []string{"a", "b", "d"} {
				if b, _, err := tx.String([]byte(key)); string(b) != key || err != nil {
					t.Fatalf("read %s after restart: got %q, %v", key, b, err)
				}
			}
		})
		closeStore(t, s)
	}
}
