package persistence

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures/testscale"
)

// TestCrashInAPassLeavesAPrefixOfHistory is TestCrashLeavesAPrefixOfHistory for
// passes that are stopped anywhere and write each batch at once, while keys and
// databases change.
func TestCrashInAPassLeavesAPrefixOfHistory(t *testing.T) {
	indexPages(t)
	crashes := 0
	for seed := range uint64(5) {
		crashes += runPassCrashes(t, seed)
	}
	t.Logf("%d crashes", crashes)
	if crashes < 160/testscale.By {
		t.Errorf("only %d crashes", crashes)
	}
}

func runPassCrashes(t *testing.T, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 12))
	c := &crasher{mem: disktest.New(), r: rand.New(rand.NewPCG(seed, 13)), every: 4 * testscale.By}
	m := newModel()
	states := map[uint64]*model{0: m.clone()}
	s := openMemory(t, Options{FS: errorfs.Wrap(c.mem, c), Databases: modelDBs, Seed: seed, IdleAfter: -1,
		Sync: SyncPolicy(seed % 3), LargeBytes: pagedLarge(seed), MaxMemory: pagedLimit(seed)})
	resize(s, func(z *writeback.Sizes) { z.Batch = 1 })
	change := func() {
		m.now += int64(r.IntN(3))
		m.expire()
		lsn := all(s, m.now, func(tx *Tx) {
			for range 1 + r.IntN(4) {
				m.step(t, r, tx)
			}
		})
		states[s.commits.Journal.Newest()] = m.clone() // of expired keys there are records without a number
		if lsn == 0 {
			return
		}
		if r.IntN(6) == 0 {
			if err := s.commits.WaitDurable(lsn); err != nil {
				t.Fatalf("WaitDurable: %v", err)
			}
			c.acked.Store(lsn)
		}
	}
	for range 8 {
		for range 10 {
			change()
		}
		if r.IntN(3) == 0 {
			s.eviction.Set(1, eviction.Spill, 5)
			s.eviction.MakeRoom()
			s.eviction.Set(pagedLimit(seed), eviction.Spill, 5)
		}
		end := format.ShardCount
		if r.IntN(3) > 0 {
			end = r.IntN(format.ShardCount)
		}
		passWhile(t, s, end, func() {
			if r.IntN(8) == 0 {
				change()
			}
			if r.IntN(8) == 0 {
				evictEverything(s)
			}
		})
	}
	closeStore(t, s)
	for i, crash := range c.crashes {
		checkCrash(t, seed, i, crash, states)
	}
	return len(c.crashes)
}

// changing is a context for a pass: whenever the pass asks whether it is over, that
// is before it takes the lock of a shard, change is called.
type changing struct {
	context.Context
	change func()
}

func (c changing) Err() error {
	c.change()
	return c.Context.Err()
}

// passWhile makes a pass that is left behind so many shards; again and again it
// calls change.
func passWhile(t testing.TB, s *Store, shards int, change func()) {
	t.Helper()
	s.writer.Lock()
	defer s.writer.Unlock()
	cut := s.commits.Journal.Cut()
	err := s.purger.RunLocked()
	for i := 0; i < shards && err == nil; i++ {
		err = s.writer.WriteShard(changing{t.Context(), change}, i)
	}
	if err == nil {
		err = s.writer.Commit()
	}
	if err == nil && shards == format.ShardCount {
		err = s.passes.Trim(cut)
	}
	if err != nil {
		t.Fatalf("pass: %v", err)
	}
}
