package server

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence/snapshot"
)

// saves are the snapshots: checkpoints of the store in <dir>/snapshots. Making
// one takes some milliseconds: it consists of hard links, needs no fork and
// does not stop writers.
type saves struct {
	mu      sync.Mutex  // held while one is made, and while old ones are removed
	running atomic.Bool // one is made in the background
	began   atomic.Int64
	took    atomic.Int64 // seconds that the last one took; -1 before the first
	last    atomic.Int64 // unix time of the last success
	tried   atomic.Int64 // unix time of the last attempt
	failed  atomic.Bool
	saves   atomic.Int64  // snapshots made
	lastLSN atomic.Uint64 // the journal's position when the last one was begun
}

const (
	// autoPrefix begins the names of snapshots made by save points.
	autoPrefix = "auto-"
	// saveRetry is how many seconds pass until a save point tries again after a
	// failure, as in Redis.
	saveRetry = 5
)

// openSaves removes unfinished snapshots of the last run.
func (srv *Server) openSaves() {
	v := &srv.saves
	v.last.Store(srv.clock.Now().Unix())
	v.took.Store(-1)
	if srv.opts.InMemory {
		return // the directory may be another server's
	}
	if err := srv.store.SweepSnapshots(srv.snapshotDir()); err != nil {
		srv.logf(LogWarning, "remove unfinished snapshots: %v", err)
	}
}

func (srv *Server) snapshotDir() string { return filepath.Join(srv.settings().dir, "snapshots") }

// snapshotTime is the default name of a snapshot: the time at which it was
// made.
func (srv *Server) snapshotTime() string {
	return srv.clock.Now().UTC().Format("20060102T150405.000000Z")
}

// snapshot makes one, unless the store is in memory.
func (srv *Server) snapshot(name string) error { return srv.snapshotIn(name, nil) }

// snapshotIn makes one as a part of a snapshot of the cluster, if whole is not nil.
func (srv *Server) snapshotIn(name string, whole *snapshot.Whole) error {
	v := &srv.saves
	v.mu.Lock()
	defer v.mu.Unlock()
	began, lsn := srv.clock.Now(), srv.store.Stats().LSN
	v.began.Store(began.Unix())
	v.tried.Store(began.Unix())
	var err error
	if srv.opts.InMemory {
		srv.logf(LogNotice, "no snapshot written: data is kept in memory only")
	} else {
		err = srv.store.SnapshotOf(filepath.Join(srv.snapshotDir(), name), srv.origin(whole))
	}
	now := srv.clock.Now()
	v.took.Store(int64(max(0, now.Sub(began)) / time.Second)) // the clock may have been set back
	v.failed.Store(err != nil)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	v.last.Store(now.Unix())
	v.saves.Add(1)
	v.lastLSN.Store(lsn)
	return nil
}

// origin is what a snapshot says of itself, nil for a server that is alone.
func (srv *Server) origin(whole *snapshot.Whole) *snapshot.Origin {
	m := host{srv}.Membership()
	if m == nil || len(m.Members) == 0 {
		return nil
	}
	self := &m.Members[m.Self]
	return &snapshot.Origin{Group: m.ID, Node: self.ID, Address: self.Address(), Whole: whole}
}

// Snapshot writes a snapshot, as SAVE does.
func (srv *Server) Snapshot() error { return srv.snapshot(srv.snapshotTime()) }

// underWay is for how many seconds the running snapshot has been in progress, -1 if
// there is none.
func (v *saves) underWay(now int64) int64 {
	if !v.running.Load() {
		return -1
	}
	return max(0, now-v.began.Load())
}

// saveInBackground makes a snapshot in the background, then calls done. It
// returns false if one is in progress.
func (srv *Server) saveInBackground(name string, done func()) bool {
	if !srv.saves.running.CompareAndSwap(false, true) {
		return false
	}
	srv.workers.Add(1)
	// Ends when the snapshot is made; Close waits for it.
	go func() {
		defer srv.workers.Done()
		defer srv.saves.running.Store(false)
		if err := srv.snapshot(name); err != nil {
			srv.logf(LogWarning, "%v", err)
			return
		}
		srv.logf(LogNotice, "snapshot %s is complete", name)
		done()
	}()
	return true
}

// autosave makes a snapshot when a save point asks for one.
func (srv *Server) autosave(now time.Time) {
	v, points := &srv.saves, srv.settings().savePoints
	// One that ends while its time is compared here would be followed by another one.
	if len(points) == 0 || v.running.Load() || v.failed.Load() && now.Unix()-v.tried.Load() < saveRetry {
		return
	}
	changes := int64(srv.store.Stats().LSN - v.lastLSN.Load())
	since := now.Unix() - v.last.Load()
	for _, p := range points {
		if changes >= p.Changes && since >= p.Seconds {
			srv.saveInBackground(autoPrefix+srv.snapshotTime(), srv.pruneSnapshots)
			return
		}
	}
}

// Save makes a snapshot; in the background it returns at once.
func (h host) Save(background bool) error {
	name := h.srv.snapshotTime()
	if background {
		if !h.srv.saveInBackground(name, func() {}) {
			return commands.ErrSaveInProgress
		}
		return nil
	}
	if h.srv.saves.running.Load() {
		return commands.ErrSaveInProgress
	}
	return h.srv.snapshot(name)
}

// Saving reports whether a snapshot is made in the background.
func (h host) Saving() bool { return h.srv.saves.running.Load() }

// LastSave is the time of the last snapshot, in unix seconds.
func (h host) LastSave() int64 { return h.srv.saves.last.Load() }
