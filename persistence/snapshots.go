package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// SnapshotInfo describes a complete snapshot.
type SnapshotInfo struct {
	Name  string
	Made  time.Time
	Bytes int64 // of its files; tables may be shared with the store and other snapshots
	// Origin is what a snapshot of a member says of itself, nil for another one, and if it cannot be read.
	Origin *snapshot.Origin
}

// Snapshots lists the complete snapshots in dir, the oldest first. A directory
// that is missing has none.
func (s *Store) Snapshots(dir string) ([]SnapshotInfo, error) {
	fsys := s.opts.FS
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var found []SnapshotInfo
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		mark, err := fsys.Stat(fsys.PathJoin(path, wal.MarkName))
		if err != nil || strings.HasSuffix(name, partSuffix) {
			continue
		}
		n := SnapshotInfo{Name: name, Made: mark.ModTime()}
		for _, dir := range []string{path, fsys.PathJoin(path, storelog.Dir)} {
			n.Bytes += filesIn(fsys, dir)
		}
		n.Origin, _ = snapshot.ReadOrigin(fsys, path) // Check tells of a damaged one
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b SnapshotInfo) int {
		if c := a.Made.Compare(b.Made); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found, nil
}

// filesIn returns how long the files of a directory are, as far as they can be found: it may be being removed.
func filesIn(fsys vfs.FS, dir string) (bytes int64) {
	names, err := fsys.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := fsys.Stat(fsys.PathJoin(dir, name)); err == nil && !info.IsDir() {
			bytes += info.Size()
		}
	}
	return bytes
}

// RemoveSnapshot removes the snapshot dir. It is fs.ErrNotExist if there is none.
// From the first step on it is no complete snapshot any more, wherever the
// removal is cut short.
func (s *Store) RemoveSnapshot(dir string) error {
	fsys, part := s.opts.FS, dir+partSuffix
	info, err := fsys.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	if err == nil {
		_, err = fsys.Stat(fsys.PathJoin(dir, wal.MarkName))
	}
	if err == nil {
		err = fsys.RemoveAll(part)
	}
	if err == nil {
		err = fsys.Rename(dir, part)
	}
	if err == nil {
		err = errors.Join(fsys.RemoveAll(part), fence.SyncDir(fsys, fsys.PathDir(dir)))
	}
	if err != nil {
		return fmt.Errorf("remove snapshot: %w", err)
	}
	return nil
}

// SweepSnapshots removes what is left in dir of snapshots that were cut short,
// in the making or in the removal.
func (s *Store) SweepSnapshots(dir string) error {
	fsys := s.opts.FS
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if strings.HasSuffix(name, partSuffix) {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(dir, name)))
		}
	}
	return err
}
