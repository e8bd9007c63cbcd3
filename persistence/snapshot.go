package persistence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/wal"
)

// partSuffix ends the name of a snapshot that is not complete.
const partSuffix = ".part"

// Snapshot writes a copy of the store, with everything recorded before the call,
// into dir, which must not exist. It hard-links files where it can and blocks no
// client. Open can open it like any store. The copy is made under the name
// dir.part and gets its own when it is complete and on the device; after an
// error it is removed, unless the disk cannot even remove files.
func (s *Store) Snapshot(dir string) error { return s.SnapshotOf(dir, nil) }

// SnapshotOf is Snapshot for a member of a group: the copy says what it is of.
func (s *Store) SnapshotOf(dir string, origin *snapshot.Origin) error {
	fsys, part := s.opts.FS, dir+partSuffix
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("snapshot %s: %w", dir, errors.Join(fs.ErrExist, err))
	}
	err := fsys.RemoveAll(part)
	if err == nil {
		err = s.writeSnapshot(part)
	}
	if err == nil && origin != nil {
		err = snapshot.WriteOrigin(fsys, part, origin)
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

// writeSnapshot makes a checkpoint with a mark of its own.
func (s *Store) writeSnapshot(dir string) error {
	if err := s.awaitSync(s.journal.Newest()); err != nil {
		return err
	}
	files, release := s.holdFiles()
	defer release()
	s.disk.RLock()
	defer s.disk.RUnlock()
	f := s.disk.Fence()
	if err := f.Err(); err != nil {
		return err
	}
	var now wal.Claims
	err := lsm.Guard(f, func() error {
		if err := s.disk.DB.LogData(nil, pebble.Sync); err != nil {
			return err
		}
		now = s.marked.Mark.State()
		return checkpoint(s.opts.FS, s.disk.DB, dir)
	})
	// Behind a fence that has fallen it may be of files that are not on the disk.
	if err := errors.Join(err, f.Err(), f.SyncError(dir)); err != nil {
		f.CloseFiles(dir)
		return err
	}
	// After that of Pebble: the log may be ahead of values, never behind them.
	segment, bytes, err := files.Checkpoint(s.opts.FS, dir, 0)
	if err != nil {
		return err
	}
	now.SetSegment(segment, bytes)
	return wal.MarkCopy(s.opts.FS, dir, now)
}

// holdFiles returns the files of the log, which all stay until release is called: Pebble may say that the log begins earlier than it does
// when they are copied.
func (s *Store) holdFiles() (files *storelog.Log, release func()) {
	if s.member == nil {
		return s.chunks.Log, s.chunks.Pin()
	}
	return s.member.HoldFiles()
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

// Reload writes everything to the object store, drops all values and reads back
// from disk what memory has room for.
func (s *Store) Reload() error {
	ctx := context.Background()
	if err := s.Materialise(ctx); err != nil {
		return err
	}
	s.writer.Lock()
	unlock := s.keyspace.LockAll()
	err := keyspace.ErrTorn
	if !s.keyspace.Tear.Torn() {
		err = s.forgetLocked()
	}
	unlock()
	s.writer.Unlock()
	if err != nil {
		return err
	}
	if err := s.warm(); err != nil && !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

// forgetLocked writes what is still dirty and drops all tables. All shards and
// the pass are locked.
func (s *Store) forgetLocked() error {
	if err := s.writer.WriteLocked(); err != nil {
		return err
	}
	for i := range s.keyspace.Shard {
		sh := &s.keyspace.Shard[i]
		for db, t := range sh.Tables {
			if t == nil {
				continue
			}
			sh.SetCount(t.Phys, t.Disk)
			t.Dropped = true
			t.Drop()
			sh.Tables[db] = nil
		}
	}
	return nil
}
