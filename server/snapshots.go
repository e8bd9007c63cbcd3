package server

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
)

// snapshotName matches the names that clients may give to snapshots: plain file
// names on every system, except for those of unfinished snapshots.
var snapshotName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

func validSnapshotName(name string) bool {
	return snapshotName.MatchString(name) && !strings.HasSuffix(name, ".part") && !strings.HasSuffix(name, ".")
}

// Snapshots lists the complete snapshots, the oldest first.
func (h host) Snapshots() ([]admin.Snapshot, error) {
	found, err := h.srv.store.Snapshots(h.srv.snapshotDir())
	list := make([]admin.Snapshot, len(found))
	for i, f := range found {
		list[i] = admin.Snapshot{Name: f.Name, Made: f.Made.Unix(), Bytes: f.Bytes,
			Automatic: strings.HasPrefix(f.Name, autoPrefix)}
	}
	return list, err
}

// CreateSnapshot makes a snapshot; without a name it gets the time.
func (h host) CreateSnapshot(name string) (string, error) {
	srv := h.srv
	switch {
	case name == "":
		name = srv.snapshotTime()
	case !validSnapshotName(name) || strings.HasPrefix(name, autoPrefix):
		return "", commands.ErrSnapshotName
	}
	if srv.opts.InMemory {
		return "", commands.ErrSnapshotMemory
	}
	if srv.saves.running.Load() {
		return "", commands.ErrSaveInProgress
	}
	err := srv.snapshot(name)
	if errors.Is(err, fs.ErrExist) {
		return "", commands.ErrSnapshotExists
	}
	return name, err
}

// DeleteSnapshot removes a snapshot, an automatic one too.
func (h host) DeleteSnapshot(name string) error {
	if !validSnapshotName(name) {
		return commands.ErrSnapshotName
	}
	h.srv.saves.mu.Lock()
	defer h.srv.saves.mu.Unlock()
	err := h.srv.store.RemoveSnapshot(filepath.Join(h.srv.snapshotDir(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return commands.ErrNoSnapshot
	}
	return err
}

// pruneSnapshots removes all but the newest automatic snapshots, as
// snapshot-keep demands.
func (srv *Server) pruneSnapshots() {
	keep := srv.settings().conf.SnapshotKeep
	if keep == 0 {
		return
	}
	srv.saves.mu.Lock()
	defer srv.saves.mu.Unlock()
	found, err := srv.store.Snapshots(srv.snapshotDir())
	if err != nil {
		srv.logf(LogWarning, "%v", err)
	}
	kept := 0
	for i := len(found) - 1; i >= 0; i-- {
		if !strings.HasPrefix(found[i].Name, autoPrefix) {
			continue
		}
		if kept++; kept <= keep {
			continue
		}
		if err := srv.store.RemoveSnapshot(filepath.Join(srv.snapshotDir(), found[i].Name)); err != nil {
			srv.logf(LogWarning, "%v", err)
		}
	}
}
