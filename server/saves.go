package server

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// saves are the snapshots: checkpoints of the store in <dir>/snapshots. One is
// made in some milliseconds, of hard links, without a fork and without
// stopping writers.
type saves struct {
	mu      sync.Mutex  // held while one is made
	running atomic.Bool // shown by INFO
	last    atomic.Int64
	failed  atomic.Bool
	lastLSN atomic.Uint64 // the journal's position at the last one
}

// keptAutomatic is how many snapshots made by save points are kept. Those that
// a client asked for stay until somebody removes them.
const keptAutomatic = 2

const autoPrefix = "auto-"

// snapshot makes one; prefix goes before its name, the time in UTC.
func (srv *Server) snapshot(prefix string) error {
	if srv.opts.InMemory {
		srv.saves.done(srv, nil)
		return nil
	}
	srv.saves.mu.Lock()
	defer srv.saves.mu.Unlock()
	srv.saves.running.Store(true)
	defer srv.saves.running.Store(false)
	dir := filepath.Join(srv.settings().dir, "snapshots")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		name := prefix + srv.clock.Now().UTC().Format("20060102T150405.000000Z")
		err = srv.store.Snapshot(filepath.Join(dir, name))
	}
	srv.saves.done(srv, err)
	if err != nil {
		return fmt.Errorf("snapshot in %s: %w", dir, err)
	}
	return nil
}

func (v *saves) done(srv *Server, err error) {
	v.failed.Store(err != nil)
	if err == nil {
		v.last.Store(srv.clock.Now().Unix())
		v.lastLSN.Store(srv.store.Stats().LSN)
	}
}

// autosave makes a snapshot when a save point asks for one.
func (srv *Server) autosave(now time.Time) {
	points := srv.settings().savePoints
	if len(points) == 0 || srv.saves.running.Load() {
		return
	}
	changes := int64(srv.store.Stats().LSN - srv.saves.lastLSN.Load())
	since := now.Unix() - srv.saves.last.Load()
	for _, p := range points {
		if changes >= p.Changes && since >= p.Seconds {
			if err := srv.snapshot(autoPrefix); err != nil {
				srv.logf(LogWarning, "%v", err)
			}
			srv.pruneSnapshots()
			return
		}
	}
}

// pruneSnapshots removes all but the newest automatic snapshots.
func (srv *Server) pruneSnapshots() {
	dir := filepath.Join(srv.settings().dir, "snapshots")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), autoPrefix) {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	for len(names) > keptAutomatic {
		if err := os.RemoveAll(filepath.Join(dir, names[0])); err != nil {
			srv.logf(LogWarning, "remove snapshot: %v", err)
		}
		names = names[1:]
	}
}

// Save makes a snapshot; in the background it returns at once.
func (s *session) Save(background bool) error {
	if s.srv.saves.running.Load() {
		return commands.ErrSaveInProgress
	}
	if !background {
		return s.srv.snapshot("")
	}
	srv := s.srv
	srv.saves.running.Store(true)
	srv.workers.Add(1)
	// Ends when the snapshot is made; Close waits for it.
	go func() {
		defer srv.workers.Done()
		if err := srv.snapshot(""); err != nil {
			srv.logf(LogWarning, "%v", err)
		}
	}()
	return nil
}

// LastSave is the time of the last snapshot, in unix seconds.
func (s *session) LastSave() int64 { return s.srv.saves.last.Load() }
