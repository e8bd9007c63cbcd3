package commits

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

// Fatal records that this instance of Pebble will not write any more.
func (s *Commits) Fatal(err error) {
	s.Durable.Fail(err)
	if fence.IsFull(err) {
		s.Journal.SignalNow() // so that the reserve is given up at once
	}
	s.Operator.Errorf("the disk cannot be written, changes are refused until it can: %v", err)
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
	r := &c.reopening
	if fence.IsFull(c.Files.Disk.Err()) {
		c.Reserve.GiveUp()
	}
	avail := uint64(0)
	if usage, err := c.Files.FS.GetDiskUsage(c.Files.Dir); err == nil {
		avail = usage.AvailBytes
	}
	if r.rest > 0 && avail <= r.avail {
		r.rest--
		return
	}
	if err := c.probe(); err != nil {
		c.Operator.Warn("probe", fmt.Errorf("the disk still cannot be written: %w", err))
		return
	}
	if err := c.reopen(); err != nil {
		c.Operator.Error("reopen", fmt.Errorf("open the disk again: %w", err))
		if avail > 0 {
			r.rest, r.avail = reopenRest, avail
		}
		return
	}
	r.rest = 0
	if c.Reserve.Tight() {
		c.Operator.Warnf("the disk can be written again, for deletions only")
		return
	}
	c.Operator.Warnf("the disk can be written again")
}

// probeBytes is the size of a trial write: enough for Pebble to open.
const probeBytes = 1 << 20

// probe writes and syncs a file next to the store's.
func (c *committer) probe() error {
	name := path.Join(c.Files.Dir, "vigil-probe")
	f, err := c.Files.FS.Create(name, "vigil")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), c.Files.FS.Remove(name))
}

// reopen mends the log and replaces the instance of Pebble. The new instance has everything that
// the device was given; until it is complete, or if it fails, readers use this one:
// none of its files are removed before. Passes of the writeback wait.
func (c *committer) reopen() error {
	old := c.Files.Disk.Fence()
	old.Drain()
	c.Passes.Lock()
	defer c.Passes.Unlock()
	if err := c.Files.Log.Repair(); err != nil {
		return err
	}
	f := c.Files.NewFence()
	f.HoldRemovals()
	db, err := lsm.Open(c.Files.Dir, c.Files.Options(f), f, c.Files.Closing)
	if err != nil {
		return err
	}
	if err := c.Passes.Rebase(db); err != nil {
		err = errors.Join(err, lsm.Close(c.Files.Dir, db, f))
		f.Discard()
		return err
	}
	former := c.Files.Disk.Replace(db, f, c.LockAll)
	if err := f.Adopt(c.Fatal); err != nil {
		c.Fatal(err)
	} else {
		c.synced()
	}
	if err := lsm.Close(c.Files.Dir, former, old); err != nil {
		c.Operator.Debugf("close the former instance: %v", err)
	}
	f.Settle()
	return nil
}
