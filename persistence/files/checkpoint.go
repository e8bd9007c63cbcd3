package files

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// Checkpoint makes a copy in dir, with a mark of its own. log is held: Pebble may say that it begins earlier than it does when it is
// copied.
func (f *Files) Checkpoint(dir string, log *storelog.Log) error {
	f.Disk.RLock()
	defer f.Disk.RUnlock()
	behind := f.Disk.Fence()
	if err := behind.Err(); err != nil {
		return err
	}
	var now wal.Claims
	err := lsm.Guard(behind, func() error {
		if err := f.Disk.DB.LogData(nil, pebble.Sync); err != nil {
			return err
		}
		now = f.Marked.Mark.State()
		return checkpoint(f.FS, f.Disk.DB, dir)
	})
	// Behind a fence that has fallen it may be of files that are not on the disk.
	if err := errors.Join(err, behind.Err(), behind.SyncError(dir)); err != nil {
		behind.CloseFiles(dir)
		return err
	}
	// After that of Pebble: the log may be ahead of values, never behind them.
	segment, bytes, err := log.Checkpoint(f.FS, dir, 0)
	if err != nil {
		return err
	}
	now.SetSegment(segment, bytes)
	return wal.MarkCopy(f.FS, dir, now)
}

// checkpoint is Pebble's, with a manifest: of one that it has not written to since
// it was opened Pebble copies nothing. A flush makes it write.
func checkpoint(fsys vfs.FS, db *pebble.DB, dir string) error {
	if err := db.Checkpoint(dir); err != nil {
		return err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := fsys.Stat(fsys.PathJoin(dir, name))
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, "MANIFEST-") && info.Size() == 0 {
			return errors.Join(fsys.RemoveAll(dir), db.Flush(), db.Checkpoint(dir))
		}
	}
	return nil
}
