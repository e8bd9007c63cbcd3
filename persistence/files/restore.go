package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// ErrDamaged is returned for files that [check.Run] finds damaged.
var ErrDamaged = errors.New("persistence: the snapshot is damaged")

// Progress is told how much of something is done.
type Progress func(what string, done, total int64)

// Restore makes the store in dir from a snapshot, or from a store that no process has open, after checking it. dir must be
// missing or empty. With ErrDamaged the report says what is wrong.
func Restore(fsys vfs.FS, dir, from string, warn func(format string, args ...any), progress Progress) (*check.Report, error) {
	names, err := fsys.List(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("restore into %s: %w", dir, err)
	case len(names) > 0:
		return nil, fmt.Errorf("restore into %s: the directory is not empty: %w", dir, fs.ErrExist)
	}
	report, err := check.Run(check.Options{Dir: from, FS: fsys, Warn: warn}, progress)
	if err != nil {
		return nil, err
	}
	if !report.Sound() {
		return report, fmt.Errorf("restore %s: %w", from, ErrDamaged)
	}
	part := strings.TrimRight(dir, "/") + snapshot.PartSuffix
	err = fsys.RemoveAll(part)
	if err == nil {
		err = copyStore(fsys, from, part)
	}
	if err == nil && names != nil {
		err = fsys.Remove(dir) // a directory is not renamed onto another one everywhere
	}
	if err == nil {
		err = fsys.Rename(part, dir)
	}
	if err != nil {
		return report, fmt.Errorf("restore into %s: %w", dir, errors.Join(err, fsys.RemoveAll(part)))
	}
	return report, fence.SyncDir(fsys, fsys.PathDir(dir))
}

// Finish makes a store of files that were copied one by one, those of a snapshot and a log that may go on behind it, and reads
// everything. Of the log only records up to last stay, or all if last is 0. With
// ErrDamaged the report says what is wrong.
func (f *Files) Finish(last uint64, progress Progress) (*check.Report, error) {
	if err := f.shorten(last); err != nil {
		return nil, err
	}
	report, err := check.Run(check.Options{Dir: f.Dir, FS: f.FS, Warn: f.Operator.Warnf}, progress)
	if err == nil && !report.Sound() {
		err = ErrDamaged
	}
	if err == nil {
		err = fence.SyncDir(f.FS, f.Dir)
	}
	return report, err
}

// shorten cuts off the log what is behind record last, or nothing if that is 0, and has the mark say how long it is. Nothing is cut
// off that values may have a part of: that is an error. The log of a member of a group stays as it is.
func (f *Files) shorten(last uint64) error {
	mark, _, err := wal.ReadMark(f.FS, f.Dir)
	if err == nil {
		err = f.peek(f.LoadMarks)
	}
	if err != nil || f.Meta.Grouped || f.Meta.Pebble {
		return err
	}
	if last == 0 {
		last = math.MaxUint64
	}
	if reached := f.newest(); last < reached {
		return fmt.Errorf("values hold changes up to record %d, so the log cannot end with record %d", reached, last)
	}
	_, at, err := chunklog.Shorten(storelog.Config{FS: f.FS, Dir: f.Dir, Secret: f.Meta.Secret, From: f.Meta.Segment, Fresh: f.Meta.Unmade, Synced: mark.Segments()}, last)
	if err != nil {
		return damaged(err)
	}
	mark.SetSegment(at.Segment, at.Offset)
	return wal.MarkCopy(f.FS, f.Dir, mark)
}

// copyLog copies the segments of a log. Those before the last one never change.
func copyLog(fsys vfs.FS, from, to string) error {
	if err := fsys.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := fsys.List(from)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !log.IsSegment(name) })
	slices.Sort(names)
	for i, name := range names {
		put := vfs.Copy
		if i < len(names)-1 {
			put = vfs.LinkOrCopy
		}
		if err := put(fsys, fsys.PathJoin(from, name), fsys.PathJoin(to, name)); err != nil {
			return err
		}
	}
	return fence.SyncDir(fsys, to)
}

// copyStore copies the files of a store into a new directory. Tables never
// change, so they are linked; logs and the manifest are written to.
func copyStore(fsys vfs.FS, from, to string) error {
	if err := fsys.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := fsys.List(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := fsys.PathJoin(from, name)
		info, err := fsys.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() && name == storelog.Dir {
			if err := copyLog(fsys, path, fsys.PathJoin(to, name)); err != nil {
				return err
			}
		}
		if info.IsDir() || name == "LOCK" {
			continue
		}
		if strings.HasSuffix(name, ".sst") {
			err = vfs.LinkOrCopy(fsys, path, fsys.PathJoin(to, name))
		} else {
			err = vfs.Copy(fsys, path, fsys.PathJoin(to, name))
		}
		if err != nil {
			return err
		}
	}
	return fence.SyncDir(fsys, to)
}
