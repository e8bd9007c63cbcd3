package backup

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence/snapshot"
)

// Snapshots are the checkpoints of the store in <dir>/snapshots. Making
// one takes some milliseconds: it consists of hard links, needs no fork and
// does not stop writers.
type Snapshots struct {
	o Options

	mu      sync.Mutex  // held while one is made, and while old ones are removed
	running atomic.Bool // one is made in the background
	began   atomic.Int64
	took    atomic.Int64 // seconds that the last one took; -1 before the first
	last    atomic.Int64 // unix time of the last success
	tried   atomic.Int64 // unix time of the last attempt
	failed  atomic.Bool
	made    atomic.Int64  // snapshots made
	lastLSN atomic.Uint64 // the journal's position when the last one was begun
}

// Status is what INFO shows.
type Status struct {
	Running, Failed bool   // one is made in the background; the last one could not be made
	Last, Tried     int64  // unix times of the last success, and of the last attempt
	Took, UnderWay  int64  // seconds that the last one took, and that the running one has taken; -1 for none
	Made            int64  // how many
	LSN             uint64 // the journal's position when the last one was begun
}

const (
	// autoPrefix begins the names of snapshots made by save points.
	autoPrefix = "auto-"
	// saveRetry is how many seconds pass until a save point tries again after a
	// failure, as in Redis.
	saveRetry = 5
)

// Open is called once. It removes unfinished snapshots of the last run.
func (v *Snapshots) Open(o Options) {
	v.o = o
	v.last.Store(v.o.Clock.Now().Unix())
	v.took.Store(-1)
	if v.o.InMemory {
		return // the directory may be another server's
	}
	if err := v.o.Copies.Sweep(v.o.Settings().Dir); err != nil {
		v.o.Logf(true, "remove unfinished snapshots: %v", err)
	}
}

// Name is the default name of a snapshot: the time at which it was
// made.
func (v *Snapshots) Name() string {
	return v.o.Clock.Now().UTC().Format("20060102T150405.000000Z")
}

// Make makes one, unless the store is in memory.
func (v *Snapshots) Make(name string) error { return v.makeIn(name, nil) }

// makeIn makes one as a part of a snapshot of the cluster, if whole is not nil.
func (v *Snapshots) makeIn(name string, whole *snapshot.Whole) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	began, lsn := v.o.Clock.Now(), v.o.Store.Stats().LSN
	v.began.Store(began.Unix())
	v.tried.Store(began.Unix())
	var err error
	if v.o.InMemory {
		v.o.Logf(false, "no snapshot written: data is kept in memory only")
	} else {
		err = v.o.Store.Snapshot(filepath.Join(v.o.Settings().Dir, name), v.origin(whole))
	}
	now := v.o.Clock.Now()
	v.took.Store(int64(max(0, now.Sub(began)) / time.Second)) // the clock may have been set back
	v.failed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	v.last.Store(now.Unix())
	v.made.Add(1)
	v.lastLSN.Store(lsn)
	return nil
}

// CopyTo writes a snapshot of the server to a directory, which is none of those that List shows.
func (v *Snapshots) CopyTo(dir string) error { return v.o.Store.Snapshot(dir, v.origin(nil)) }

// origin is what a snapshot says of itself, nil for a server that is alone.
func (v *Snapshots) origin(whole *snapshot.Whole) *snapshot.Origin {
	m := v.o.Membership()
	if m == nil || len(m.Members) == 0 {
		return nil
	}
	self := &m.Members[m.Self]
	return &snapshot.Origin{Group: m.ID, Node: self.ID, Address: self.Address(), Whole: whole}
}

// Status returns what is so now.
func (v *Snapshots) Status() Status {
	st := Status{Running: v.running.Load(), Failed: v.failed.Load(), Last: v.last.Load(), Tried: v.tried.Load(), Took: v.took.Load(),
		UnderWay: -1, Made: v.made.Load(), LSN: v.lastLSN.Load()}
	if st.Running {
		st.UnderWay = max(0, v.o.Clock.Now().Unix()-v.began.Load())
	}
	return st
}

// Save makes a snapshot, as SAVE does; in the background it returns at once.
func (v *Snapshots) Save(background bool) error {
	name := v.Name()
	if background {
		if !v.saveInBackground(name, func() {}) {
			return commands.ErrSaveInProgress
		}
		return nil
	}
	if v.running.Load() {
		return commands.ErrSaveInProgress
	}
	return v.Make(name)
}

// saveInBackground makes a snapshot in the background, then calls done. It
// returns false if one is in progress.
func (v *Snapshots) saveInBackground(name string, done func()) bool {
	if !v.running.CompareAndSwap(false, true) {
		return false
	}
	v.o.Go(func() { // ends when the snapshot is made
		defer v.running.Store(false)
		if err := v.Make(name); err != nil {
			v.o.Logf(true, "%v", err)
			return
		}
		v.o.Logf(false, "snapshot %s is complete", name)
		done()
	})
	return true
}

// Autosave makes a snapshot when a save point asks for one.
func (v *Snapshots) Autosave(now time.Time) {
	points := v.o.Settings().Points
	// One that ends while its time is compared here would be followed by another one.
	if len(points) == 0 || v.running.Load() || v.failed.Load() && now.Unix()-v.tried.Load() < saveRetry {
		return
	}
	changes := int64(v.o.Store.Stats().LSN - v.lastLSN.Load())
	since := now.Unix() - v.last.Load()
	for _, p := range points {
		if changes >= p.Changes && since >= p.Seconds {
			v.saveInBackground(autoPrefix+v.Name(), v.prune)
			return
		}
	}
}
