package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/check"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/log"
	"github.com/vigildb/vigil/persistence/storelog"
)

// ErrDamaged is returned by Restore for a snapshot that [check.Run] finds damaged.
var ErrDamaged = errors.New("persistence: the snapshot is damaged")

// Restore creates the store in o.Dir from a snapshot, or from a store that no
// process has open, after checking it. o.Dir must be missing or empty. Tables are
// hard-linked where that is possible; both can be used, and removed, without the
// other. The report is the result of the check; with ErrDamaged it gives the
// reason.
func Restore(o Options, snapshot string, progress func(what string, done, total int64)) (*check.Report, error) {
	o = o.withDefaults()
	fsys, dir := o.FS, o.Dir
	names, err := fsys.List(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("restore into %s: %w", dir, err)
	case len(names) > 0:
		return nil, fmt.Errorf("restore into %s: the directory is not empty: %w", dir, fs.ErrExist)
	}
	report, err := check.Run(check.Options{Dir: snapshot, FS: fsys, Warn: o.warnf}, progress)
	if err != nil {
		return nil, err
	}
	if !report.Sound() {
		return report, fmt.Errorf("restore %s: %w", snapshot, ErrDamaged)
	}
	part := strings.TrimRight(dir, "/") + partSuffix
	err = fsys.RemoveAll(part)
	if err == nil {
		err = copyStore(fsys, snapshot, part)
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
