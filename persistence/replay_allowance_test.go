package persistence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/replay"
	"github.com/vigildb/vigil/structures/testscale"
)

// openWithoutRoom opens a store whose replay writes and evicts a shard behind each record.
func openWithoutRoom(t *testing.T, o Options) *Store {
	t.Helper()
	o.Dir = "db"
	s, err := Start(o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	s.replay.Allowance = replay.Allowance{Bound: 1, Window: 1}
	if err := s.Load(t.Context()); err != nil {
		t.Fatalf("load: %v", err)
	}
	return s
}

// everything has a clone of a disk hold what was not synced too.
func everything() vfs.CrashCloneCfg {
	return vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}
}

// checkCrashWithoutRoom is checkCrash for a start that keeps nothing in memory, and is
// stopped at some of its own writes.
func checkCrashWithoutRoom(t *testing.T, seed uint64, i int, c crash, states map[uint64]*model) {
	t.Helper()
	copied := c.fs.CrashClone(everything())
	again := &crasher{mem: copied, r: rand.New(rand.NewPCG(seed, uint64(i))), every: 100}
	again.acked.Store(c.acked)
	o := Options{FS: errorfs.Wrap(copied, again), Databases: modelDBs, Seed: seed, IdleAfter: -1,
		LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed)}
	s := openWithoutRoom(t, o)
	again.mu.Lock()
	crashes := again.crashes // while loading: later ones may have a record more, of what expires
	again.mu.Unlock()
	lsn := s.Stats().LSN
	m, ok := states[lsn]
	if !ok || lsn < c.acked {
		t.Fatalf("seed %d, crash %d: record %d is the last, but %d was confirmed", seed, i, lsn, c.acked)
	}
	if diff := m.clone().diff(s); diff != "" {
		t.Fatalf("seed %d, crash %d at record %d, without room: %s", seed, i, lsn, diff)
	}
	materialise(t, s)
	closeStore(t, s)
	for n, next := range crashes[:min(len(crashes), 2)] {
		for _, open := range []func(*testing.T, Options) *Store{
			func(t *testing.T, o Options) *Store { return openMemory(t, o) }, openWithoutRoom} {
			o.FS = next.fs.CrashClone(everything())
			s := open(t, o)
			last := s.Stats().LSN
			if diff := m.clone().diff(s); diff != "" || last != lsn {
				t.Fatalf("seed %d, crash %d, crash %d of a start without room, record %d of %d: %s", seed, i, n, last, lsn, diff)
			}
			closeStore(t, s)
		}
	}
}

// memoryWatch notes at each operation on a file how much the keys and values of a store take.
type memoryWatch struct {
	s    atomic.Pointer[Store]
	most atomic.Int64
}

func (w *memoryWatch) MaybeError(errorfs.Op) error {
	if s := w.s.Load(); s != nil {
		for now := s.Memory(); ; {
			if most := w.most.Load(); most >= now || w.most.CompareAndSwap(most, now) {
				break
			}
		}
	}
	return nil
}

func (w *memoryWatch) String() string { return "memory watch" }

// TestReplayKeepsToTheBound replays a journal of many times more than may be in memory.
func TestReplayKeepsToTheBound(t *testing.T) {
	const bound, size, keys = 1 << 20, 1000, 10_000
	disk := disktest.New()
	s := openMemory(t, Options{FS: disk, IdleAfter: -1})
	value := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%08d", i), size/8) }
	tx := s.NewTx()
	for i := range keys {
		setOne(s, tx, benchKey(nil, i%(keys/2)), value(i))
	}
	if s.Memory() < 4*bound {
		t.Fatalf("%d bytes are too few to show anything", s.Memory())
	}
	if err := s.commits.WaitDurable(s.commits.Journal.Newest()); err != nil {
		t.Fatal(err)
	}
	for _, c := range testscale.Some([]struct {
		name string
		o    Options
	}{
		{"spill", Options{MaxMemory: bound}},
		{"noeviction", Options{MaxMemory: bound, Policy: eviction.None}},
		{"a deleting policy", Options{MaxMemory: bound, Policy: eviction.AllKeysLRU}},
		{"a derived bound", Options{DerivedMaxMemory: bound}},
		{"a derived bound, noeviction", Options{DerivedMaxMemory: bound, Policy: eviction.None}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			w := &memoryWatch{}
			c.o.FS = errorfs.Wrap(disk.CrashClone(everything()), w)
			c.o.Dir, c.o.IdleAfter = "db", -1
			s, err := Start(c.o)
			if err != nil {
				t.Fatal(err)
			}
			w.s.Store(s)
			if err := s.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if most := w.most.Load(); most > bound || most < bound/2 || s.Memory() > bound {
				t.Errorf("up to %d bytes in memory while loading, %d behind it, want at most %d", most, s.Memory(), bound)
			}
			all(s, 0, func(tx *Tx) {
				if n := tx.Databases().Size(0); n != keys/2 {
					t.Errorf("%d keys, want %d", n, keys/2)
				}
				for i := keys / 2; i < keys; i += 501 {
					if got, _, _ := tx.String(benchKey(nil, i-keys/2)); !bytes.Equal(got, value(i)) {
						t.Errorf("key %d is %.20q, want %.20q", i-keys/2, got, value(i))
					}
				}
			})
			if refused := s.eviction.Over(); refused {
				t.Error("commands are refused")
			}
		})
	}
}
