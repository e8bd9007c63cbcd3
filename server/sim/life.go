package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/disktest"
	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// life is the server from one start to the next crash or stop.
type life struct {
	srv   *server.Server
	disk  *disk
	clock *clock
	tasks []*worker
	open  bool // it has not been asked to stop
}

// worker makes the steps of one task of the store.
type worker struct {
	persistence.Task
	busy  atomic.Bool // a step is under way
	due   bool        // that step is the periodic one
	holds int         // the newest state when it began
}

// traits are what a simulation draws once.
type traits struct {
	policy       string // appendfsync at each start
	mixed        bool   // the policy changes
	maxMemory    string
	journalBound int64
	batchBytes   int
	segmentBytes int64
	seed         uint64
}

func (tr *traits) config() (*conf.Config, error) {
	c := conf.New()
	err := c.Set(conf.Caller{Local: true}, []conf.Pair{
		{Name: "save", Value: ""}, {Name: "appendfsync", Value: tr.policy},
		{Name: "maxmemory", Value: tr.maxMemory}, {Name: "maxmemory-policy", Value: "spill"},
		{Name: "client-output-buffer-limit", Value: "normal 0 0 0"},
	})
	return c, err
}

// begin starts the server in a directory of a disk, on a machine with the memory of its boot.
func begin(tr *traits, mem *disktest.Disk, memory *disktest.Memory, c *clock, f fault, dir string) (*life, error) {
	l := &life{disk: &disk{mem: mem, memory: memory, fault: f}, clock: c, open: true}
	config, err := tr.config()
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	options := server.Options{Config: config, Dir: dir, Clock: c, Seed: tr.seed, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	options.Store = func(o *persistence.Options) {
		o.FS = l.disk.fs()
		o.MapTail, o.Boot = memory.Map, [16]byte{1} // memory is gone with the boot
		o.JournalBound, o.BatchBytes, o.SegmentBytes = tr.journalBound, tr.batchBytes, tr.segmentBytes
		o.Background = func(t persistence.Task) { l.tasks = append(l.tasks, &worker{Task: t}) }
	}
	l.srv, err = server.Open(context.Background(), options)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// task finds a worker by the name of its task.
func (l *life) task(name string) *worker {
	for _, w := range l.tasks {
		if w.Name == name {
			return w
		}
	}
	panic("sim: the store has no task " + name)
}

// stuck reports that something waits for a sync that is held up. It may hold one of
// Pebble's mutexes, and a bubble takes who waits for a mutex to be running: nothing
// else that writes is begun until the sync goes on.
func (l *life) stuck() bool {
	if !l.disk.holding() {
		return false
	}
	for _, w := range l.tasks {
		if w.busy.Load() {
			return true
		}
	}
	return false
}

// step begins a step of a task, if none is under way. It may have to wait for the
// disk or for steps of others.
func (w *worker) step(periodic bool, holds int) {
	if w.busy.Swap(true) {
		return
	}
	w.due, w.holds = periodic, holds
	select {
	case <-w.Wake:
	default:
	}
	// Ends with the step, which the end of the store ends.
	go func() {
		w.Step(periodic)
		w.busy.Store(false)
	}()
}
