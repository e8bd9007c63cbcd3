package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// PartSuffix ends the name of a snapshot that is not complete.
const PartSuffix = ".part"

// Info describes a complete snapshot.
type Info struct {
	Name  string
	Made  time.Time
	Bytes int64 // of its files; tables may be shared with the store and other snapshots
	// Origin is what a snapshot of a member says of itself, nil for another one, and if it cannot be read.
	Origin *Origin
}

// Copies are the snapshots of a store, in any directory of its file system.
type Copies struct{ FS vfs.FS }

// Make makes a snapshot in dir, which must not exist. write fills a directory of another name, which gets its own when it is complete
// and on the device, with what the snapshot says of itself, if origin is not nil; after an error it is removed, unless the disk cannot
// even remove files.
func (c Copies) Make(dir string, origin *Origin, write func(dir string) error) error {
	fsys, part := c.FS, dir+PartSuffix
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %s: %w", dir, errors.Join(fs.ErrExist, err))
	}
	err := fsys.RemoveAll(part)
	if err == nil {
		err = write(part)
	}
	if err == nil && origin != nil {
		err = WriteOrigin(fsys, part, origin)
	}
	if err == nil {
		err = fsys.Rename(part, dir)
	}
	if err == nil {
		if err = fence.SyncDir(fsys, fsys.PathDir(dir)); err != nil {
			err = errors.Join(err, fsys.RemoveAll(dir))
		}
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", dir, errors.Join(err, fsys.RemoveAll(part)))
	}
	return nil
}

// List lists the complete snapshots in dir, the oldest first. A directory
// that is missing has none.
func (c Copies) List(dir string) ([]Info, error) {
	fsys := c.FS
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var found []Info
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		mark, err := fsys.Stat(fsys.PathJoin(path, wal.MarkName))
		if err != nil || strings.HasSuffix(name, PartSuffix) {
			continue
		}
		n := Info{Name: name, Made: mark.ModTime()}
		for _, dir := range []string{path, fsys.PathJoin(path, storelog.Dir)} {
			n.Bytes += filesIn(fsys, dir)
		}
		n.Origin, _ = ReadOrigin(fsys, path) // Check tells of a damaged one
		found = append(found, n)
	}
	slices.SortFunc(found, func(a, b Info) int {
		if c := a.Made.Compare(b.Made); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return found, nil
}

// filesIn returns the bytes of the files of a directory that can be found: it may be being removed.
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

// Remove removes the snapshot dir. It is fs.ErrNotExist if there is none.
// From the first step on it is no complete snapshot any more, wherever the
// removal is cut short.
func (c Copies) Remove(dir string) error {
	fsys, part := c.FS, dir+PartSuffix
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

// Sweep removes what is left in dir of snapshots that were cut short,
// in the making or in the removal.
func (c Copies) Sweep(dir string) error {
	fsys := c.FS
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if strings.HasSuffix(name, PartSuffix) {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathJoin(dir, name)))
		}
	}
	return err
}
