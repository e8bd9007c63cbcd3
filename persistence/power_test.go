package persistence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/structures/testscale"
)

// powerCut is the disk as a power failure left it, with nothing, half or all of
// what was not synced.
type powerCut struct {
	fs       *disktest.Disk
	promised uint64 // the last record that had to survive
	accepted uint64 // the last record that clients knew of
}

// cutter cuts the power in the middle of changes of the disk, by chance; the
// disk itself goes on.
type cutter struct {
	promised, accepted atomic.Uint64

	mu    sync.Mutex // guards what is below
	mem   *disktest.Disk
	r     *rand.Rand
	every int
	cuts  []powerCut
}

func (c *cutter) MaybeError(op errorfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead || c.r.IntN(c.every) > 0 {
		return nil
	}
	// These first: what is promised later need not be there.
	cut := powerCut{promised: c.promised.Load(), accepted: c.accepted.Load()}
	cut.fs = c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.r.IntN(3) * 50, RNG: c.r})
	c.cuts = append(c.cuts, cut)
	return nil
}

func (c *cutter) String() string { return "power cutter" }

// note tells what is promised and accepted now.
func (c *cutter) note(l *life, promised uint64) {
	c.promised.Store(max(promised, l.s.commits.Synced(), c.promised.Load()))
	c.accepted.Store(l.s.commits.Journal.Newest())
}

// cutPower leads one life and restarts from each of the power failures in it. It
// returns how many there were, how many records had been accepted in all, and how
// many of these were lost.
func cutPower(t *testing.T, policy SyncPolicy, seed uint64) (cuts, accepted, lost int) {
	t.Helper()
	mem := disktest.New()
	c := &cutter{mem: mem, r: rand.New(rand.NewPCG(seed, 11)), every: 15 * testscale.By}
	l := &life{t: t, r: rand.New(rand.NewPCG(seed, 12)), mem: mem, policy: policy, m: newModel()}
	l.name = fmt.Sprintf("policy %d, seed %d", policy, seed)
	l.states = map[uint64]*model{0: l.m.clone()}
	l.disk = newFailingDisk(errorfs.Wrap(mem, c), faultFull, -1, false)
	if err := l.start(); err != nil {
		l.fatalf("open: %v", err)
	}
	for range 60 {
		switch l.r.IntN(20) {
		case 0:
			materialise(t, l.s)
		case 1:
			l.flush()
		case 2:
			l.cold()
		case 3:
			if err := l.s.Snapshot(fmt.Sprintf("snapshot-%d", l.r.Uint64()), nil); err != nil {
				l.fatalf("snapshot: %v", err)
			}
		case 4:
			if err := l.stop(); err != nil {
				l.fatalf("close: %v", err)
			}
			c.promised.Store(l.s.commits.Journal.Newest())
			if err := l.start(); err != nil {
				l.fatalf("open: %v", err)
			}
		case 5, 6, 7:
			before := l.s.commits.Journal.Newest()
			l.pump.second("commit")
			if policy != SyncNever {
				c.note(l, before)
			}
		}
		l.write()
		c.note(l, l.synced)
	}
	if err := l.stop(); err != nil {
		l.fatalf("close: %v", err)
	}
	for i, cut := range c.cuts {
		l.name, l.synced = fmt.Sprintf("policy %d, seed %d, cut %d", policy, seed, i), cut.promised
		accepted += int(cut.accepted)
		lost += int(cut.accepted - min(cut.accepted, l.restart(Options{FS: cut.fs})))
	}
	return len(c.cuts), accepted, lost
}

// TestPowerLossLeavesAPrefix cuts the power at any moment: what a restart finds is
// the state after one of the transactions, with everything that was promised.
// VIGIL_POWER says how many times for each policy.
func TestPowerLossLeavesAPrefix(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("VIGIL_POWER"))
	if err != nil {
		rounds = testscale.Rounds(20)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for policy, name := range []string{SyncEverySecond: "everysec", SyncAlways: "always", SyncNever: "no"} {
		cuts, accepted, lost := 0, 0, 0
		for cuts < rounds {
			n, a, l := cutPower(t, SyncPolicy(policy), seed)
			cuts, accepted, lost, seed = cuts+n, accepted+a, lost+l, seed+1
		}
		t.Logf("| power loss | %s | %d | %d | %d | - | 0 |", name, cuts, accepted, lost)
	}
}

// TestLoneWritesReachTheSystemUnderNo writes little, and much with nothing behind
// it: a second later the end of the process takes none of it away, with a tail or without.
func TestLoneWritesReachTheSystemUnderNo(t *testing.T) {
	for _, size := range []int{1, 100 << 10} {
		mem, p := disktest.New(), newPump()
		s := openMemory(t, Options{FS: mem, Sync: SyncNever, IdleAfter: -1, Background: p.run})
		lsn := all(s, 1, func(tx *Tx) { tx.SetString([]byte("k"), make([]byte, size), NoExpiry) })
		p.second("commit")
		written := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		crashed := openMemory(t, Options{FS: written, IdleAfter: -1})
		if got := crashed.Stats().LSN; got != lsn {
			t.Errorf("%d bytes: record %d is there a second later, want %d", size, got, lsn)
		}
		closeStore(t, crashed)
		close(p.stop)
		closeStore(t, s)
	}
}
