package persistence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures/testscale"
)

// life is a store on a failing disk, with a model beside it. It is told what to
// do next, whether that can be written or not: a step that the disk does not let
// through must fail, and change nothing that was there before.
type life struct {
	t      *testing.T
	name   string
	r      *rand.Rand
	mem    *disktest.Disk
	disk   *failingDisk
	policy SyncPolicy
	s      *Store
	pump   *pump
	m      *model
	states map[uint64]*model // after each record
	synced uint64            // the last record that was promised
	mu     sync.Mutex        // guards log
	log    []string
	lost   uint64 // the first record of unknown effect: a read failed; 0 if there is none
}

// pump makes the steps of a store's background work: at once what is due, and
// what is periodic when it is told to.
type pump struct {
	tasks map[string]Task
	ticks map[string]chan chan struct{}
	stop  chan struct{}
}

func newPump() *pump {
	return &pump{tasks: map[string]Task{}, ticks: map[string]chan chan struct{}{}, stop: make(chan struct{})}
}

// run is for Options.Background. The goroutine ends with the pump.
func (p *pump) run(t Task) {
	ticks := make(chan chan struct{})
	p.tasks[t.Name], p.ticks[t.Name] = t, ticks
	go func() {
		for {
			select {
			case <-t.Wake:
				t.Step(false)
			case done := <-ticks:
				t.Step(true)
				close(done)
			case <-p.stop:
				return
			}
		}
	}()
}

// second lets a second pass for a task.
func (p *pump) second(name string) {
	done := make(chan struct{})
	p.ticks[name] <- done
	<-done
}

// logf keeps what an operator would read, for a failure of the test.
func (l *life) logf(level int, format string, args ...any) {
	if level >= LevelInfo {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log = append(l.log, fmt.Sprintf(format, args...))
	}
}

func (l *life) fatalf(format string, args ...any) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Log(strings.Join(l.log, "\n"))
	l.t.Fatalf("%s: %s", l.name, fmt.Sprintf(format, args...))
}

func (l *life) start() error {
	l.pump = newPump()
	s, err := Open(Options{FS: l.disk, Dir: "db", Databases: modelDBs, Sync: l.policy,
		IdleAfter: -1, RecentBytes: 2 << 10, SegmentBytes: 8 << 10, LargeBytes: 1, MaxMemory: pagedLimit(1), Background: l.pump.run, Seed: 7, Logf: l.logf})
	if err != nil {
		return err
	}
	stageParts(s)
	l.s = s
	return nil
}

// unread is a test in which a transaction may differ from the model when it could
// not read the disk. It panics then.
type unread struct {
	testing.TB
	l  *life
	tx *Tx
}

func (u unread) Fatalf(format string, args ...any) {
	u.Helper()
	if u.tx.Err() != nil {
		panic("could not read")
	}
	u.l.fatalf(format, args...)
}

// write does a transaction of some operations, if the store takes writes.
func (l *life) write() {
	if l.s.WriteError() != nil {
		return
	}
	l.m.now += int64(l.r.IntN(3))
	l.m.expire()
	lsn := all(l.s, l.m.now, func(tx *Tx) {
		defer func() {
			if tx.Err() != nil {
				l.m = nil
				_ = recover()
			}
		}()
		for range 1 + l.r.IntN(6) {
			l.m.step(unread{l.t, l, tx}, l.r, tx)
		}
	})
	if l.m == nil {
		l.lost = l.s.commits.Journal.Newest()
		return
	}
	l.states[l.s.commits.Journal.Newest()] = l.m.clone()
	if l.policy == SyncAlways || l.r.IntN(6) == 0 {
		_ = l.s.commits.WaitDurable(lsn)
	}
	l.synced = l.s.commits.Synced()
}

// cold makes the values that the disk has leave memory.
func (l *life) cold() {
	if l.s.passes.Materialise(context.Background()) == nil {
		l.s.eviction.Set(1, eviction.Spill, 5)
		for range 8 {
			l.s.eviction.MakeRoom()
		}
		l.s.eviction.Set(pagedLimit(1), eviction.Spill, 5)
	}
}

// flush lets Pebble write what it has in memory to tables, and waits.
func (l *life) flush() {
	if done, err := l.s.files.Disk.Flush(); err == nil {
		<-done
	}
}

// check compares what can be read with the model. A read may fail while the disk
// fails reads, or meet the failure of another one.
func (l *life) check() {
	l.t.Helper()
	diff := l.m.diff(l.s)
	l.states[l.s.commits.Journal.Newest()] = l.m.clone() // what is over went when it was looked at
	if diff != "" && (l.disk.fault == faultEIO || l.disk.fault == faultRead) {
		if l.disk.lasts() {
			return
		}
		diff = l.m.diff(l.s)
		l.states[l.s.commits.Journal.Newest()] = l.m.clone()
	}
	if diff != "" {
		l.fatalf("%s", diff)
	}
}

// live leads the life up to its end or until the store cannot go on with it.
func (l *life) live() {
	for step := range 24 {
		switch step {
		case 3, 9, 14:
			_ = l.s.passes.Materialise(context.Background())
		case 5, 11, 16, 17, 18, 19:
			l.flush()
		case 7:
			l.cold()
		case 10, 13, 15, 21:
			evictEverything(l.s)
		case 12:
			_ = l.s.Snapshot(fmt.Sprintf("snapshot-%d", step), nil)
		case 20:
			l.pump.second("commit")
			l.pump.second("materialise")
		}
		l.write()
		if l.m == nil {
			return
		}
		if step%6 == 5 {
			l.check()
		}
	}
}

// heal lets the disk work again: within two seconds the store takes writes.
func (l *life) heal() {
	l.disk.mend(l.t, l.s)
	l.pump.second("commit")
	l.pump.second("commit")
	if err := l.s.WriteError(); err != nil {
		l.fatalf("two seconds after the disk was healed: %v", err)
	}
	before := len(l.states)
	for range 40 {
		if l.write(); l.m == nil {
			l.fatalf("a read failed after the disk was healed")
		}
	}
	if len(l.states) == before {
		l.fatalf("nothing was written after the disk was healed")
	}
	l.check()
	if err := l.s.passes.Materialise(context.Background()); err != nil {
		l.fatalf("materialise on a healed disk: %v", err)
	}
	l.check()
}

// stop ends the process in order and reports whether that worked.
func (l *life) stop() error {
	close(l.pump.stop)
	return l.s.Close()
}

// crash leaves the disk as a power failure would now, and starts on it.
func (l *life) crash() {
	l.t.Helper()
	clone := l.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: l.r.IntN(3) * 50, RNG: l.r})
	l.restart(Options{FS: clone})
}

// restart opens what is on a disk and checks that this is the state after one of
// the transactions and lacks nothing promised. It returns the last record.
func (l *life) restart(o Options) (lsn uint64) {
	l.t.Helper()
	o.Databases, o.IdleAfter = modelDBs, -1
	s := openMemory(l.t, o)
	lsn = s.Stats().LSN
	m, ok := l.states[lsn]
	switch {
	case lsn < l.synced:
		l.fatalf("record %d is the last, %d was promised", lsn, l.synced)
	case l.lost > 0 && lsn >= l.lost:
	case !ok:
		l.fatalf("record %d is not the end of a transaction", lsn)
	default:
		if diff := m.clone().diff(s); diff != "" {
			l.fatalf("restarted at record %d: %s", lsn, diff)
		}
	}
	materialise(l.t, s)
	closeStore(l.t, s)
	return lsn
}

// survive leads a life in which the k-th operation fails, or all from it on, and
// checks every promise. It returns how many operations the life had.
func survive(t *testing.T, policy SyncPolicy, fault diskFault, k int, only bool) int {
	t.Helper()
	l := &life{t: t, r: rand.New(rand.NewPCG(uint64(k), uint64(fault))), mem: disktest.New(), policy: policy, m: newModel()}
	l.name = fmt.Sprintf("policy %d, %v at operation %d, once %v", policy, fault, k, only)
	l.states = map[uint64]*model{0: l.m.clone()}
	l.disk = newFailingDisk(l.mem, fault, k, only)
	if l.start() != nil {
		l.disk.heal()
		if err := l.start(); err != nil {
			l.fatalf("open after the disk was healed: %v", err)
		}
		l.check()
		l.disk.arm(k)
	}
	l.live()
	ops, _ := l.disk.count()
	l.crash()
	if l.m != nil && l.r.IntN(2) == 0 {
		l.heal()
	}
	err := l.stop()
	_, hits := l.disk.count()
	if hits == 0 && err != nil {
		l.fatalf("close: %v", err)
	}
	if l.m != nil && err == nil {
		l.synced = max(l.synced, l.s.commits.Journal.Newest())
	}
	l.disk.heal()
	for _, o := range l.disk.open {
		l.fatalf("%s is still open", o)
	}
	l.crash()
	l.restart(Options{FS: l.mem})
	return ops
}

// TestDiskFaultsLoseNothing fails operations of a store's life, from its start to
// its end: the process goes on or says why not, what can be read is right, writes
// are taken when the disk works again, and nothing promised is lost. It fails one
// operation in each of some lives; with VIGIL_FAULTS=n every n-th operation, each
// in a life of its own.
func TestDiskFaultsLoseNothing(t *testing.T) {
	indexPages(t)
	stride, err := strconv.Atoi(os.Getenv("VIGIL_FAULTS"))
	sample := err != nil || stride < 1
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	before, total := runtime.NumGoroutine(), 0
	turn := r.IntN(testscale.By)
	for policy, name := range []string{SyncEverySecond: "everysec", SyncAlways: "always", SyncNever: "no"} {
		ops := survive(t, SyncPolicy(policy), faultFull, -1, true)
		for fault := range faultKinds {
			for _, only := range []bool{true, false} {
				if sample {
					stride = ops
					if turn++; turn%testscale.By != 0 {
						continue
					}
				}
				rounds := 0
				for k := 1 + r.IntN(stride); k <= ops; k += stride {
					survive(t, SyncPolicy(policy), fault, k, only)
					rounds, total = rounds+1, total+1
				}
				mode := "until healed"
				if only {
					mode = "once"
				}
				t.Logf("| %v, %s | %s | %d | - | 0 | - | 0 |", fault, mode, name, rounds)
			}
		}
	}
	for range 100 { // goroutines that have closed their channels are ending
		runtime.Gosched()
	}
	// Pebble leaves its compaction scheduler behind when an opening fails late.
	if n := runtime.NumGoroutine(); n > before+10+total/20 {
		t.Errorf("%d goroutines are left over", n-before)
	}
}
