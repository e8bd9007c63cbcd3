package persistence

import (
	"errors"
	"fmt"
	"path"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/lsm"
)

// When a write fails, of the log or of Pebble, because the disk is full or an fsync failed, the fence
// falls: for Pebble's files this is as if the process had been killed, and the instance
// of Pebble behind the fence continues in memory, for readers (see package fence).
// All that is not on the device is still in memory: the log keeps chunks until they are
// synced, and everything else is written with a sync or written again. So when the
// disk can be written again, the log goes on in another segment, to which it writes the chunks once more,
// and Pebble is reopened as after a crash and replaces the old instance. A failed fsync is never
// simply repeated: the system may have thrown the pages away and would report success.

// WriteError returns why nothing can be written, nil if it can: the disk cannot, or a
// member of a group does not lead it. Reads continue, changes stay in memory and are
// retried; the server refuses new ones.
func (s *Store) WriteError() error {
	if s.member.Follows() {
		return ErrNotLeader
	}
	return s.DiskError()
}

// DiskError returns why the disk cannot be written, nil if it can, whoever leads. It is ErrFull if there
// is room for deletions only.
func (s *Store) DiskError() error {
	if err := s.diskError(); err != nil || !s.reserve.Tight() {
		return err
	}
	return ErrFull
}

// diskError is DiskError for changes that only free room.
func (s *Store) diskError() error {
	if err := s.files.Disk.Err(); err != nil {
		return err
	}
	if s.writer.Stuck() {
		return ErrStuck
	}
	return s.durable.Err()
}

// fatal records that this instance of Pebble will not write any more.
func (s *Store) fatal(err error) {
	s.durable.Fail(err)
	if fence.IsFull(err) {
		s.journal.SignalNow() // so that the reserve is given up at once
	}
	s.opts.Logf(LevelError, "the disk cannot be written, changes are refused until it can: %v", err)
}

// reopening is the state of the attempts to reopen the disk.
type reopening struct {
	rest  int    // attempts to be left out
	avail uint64 // bytes free at the last one
}

// reopenRest is how many attempts the committer skips if the disk can be written
// but does not have enough room, as long as its room does not grow.
const reopenRest = 10

// repair reopens Pebble after a failure, if the disk can be written.
func (c *committer) repair() {
	s, r := c.s, &c.reopening
	if fence.IsFull(s.files.Disk.Err()) {
		s.reserve.GiveUp()
	}
	avail := uint64(0)
	if usage, err := s.opts.FS.GetDiskUsage(s.opts.Dir); err == nil {
		avail = usage.AvailBytes
	}
	if r.rest > 0 && avail <= r.avail {
		r.rest--
		return
	}
	if err := s.probe(); err != nil {
		s.report(LevelWarn, "probe", fmt.Errorf("the disk still cannot be written: %w", err))
		return
	}
	if err := c.reopen(); err != nil {
		s.report(LevelError, "reopen", fmt.Errorf("open the disk again: %w", err))
		if avail > 0 {
			r.rest, r.avail = reopenRest, avail
		}
		return
	}
	r.rest = 0
	if s.reserve.Tight() {
		s.opts.Logf(LevelWarn, "the disk can be written again, for deletions only")
		return
	}
	s.opts.Logf(LevelWarn, "the disk can be written again")
}

// probeBytes is the size of a trial write: enough for Pebble to open.
const probeBytes = 1 << 20

// probe writes and syncs a file next to the store's.
func (s *Store) probe() error {
	name := path.Join(s.opts.Dir, "vigil-probe")
	f, err := s.opts.FS.Create(name, "vigil")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), s.opts.FS.Remove(name))
}

// reopen mends the log and replaces the instance of Pebble. The new instance has everything that
// the device was given; until it is complete, or if it fails, readers use this one:
// none of its files are removed before. Passes of the writeback wait.
func (c *committer) reopen() error {
	s := c.s
	old := s.files.Disk.Fence()
	old.Drain()
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := s.files.Log.Repair(); err != nil {
		return err
	}
	f := s.files.NewFence()
	f.HoldRemovals()
	db, err := lsm.Open(s.opts.Dir, s.files.Options(f), f, s.closing.Load)
	if err != nil {
		return err
	}
	if err := s.writer.Rebase(db); err != nil {
		err = errors.Join(err, lsm.Close(s.opts.Dir, db, f))
		f.Discard()
		return err
	}
	former := s.files.Disk.Replace(db, f, s.keyspace.LockAll)
	if err := f.Adopt(s.fatal); err != nil {
		s.fatal(err)
	} else {
		c.synced()
	}
	if err := lsm.Close(s.opts.Dir, former, old); err != nil {
		s.opts.Logf(LevelDebug, "close the former instance: %v", err)
	}
	f.Settle()
	return nil
}
