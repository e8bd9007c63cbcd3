package persistence

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/journal"
)

const (
	// syncPeriod is how often the journal is forced to the device under
	// SyncEverySecond: half of what is guaranteed, so that the sync itself, and
	// a processor that others keep busy, have the other half.
	syncPeriod = time.Second / 2
	// maxFlush is the size in bytes up to which chunks are given to the system together.
	maxFlush = 512 << 10
	// maxUnsynced is how many bytes of the journal the system may have that the
	// device does not: they stay in memory too, for the case that the system cannot
	// write them, and are forced to the device beyond.
	maxUnsynced = journal.MaxUnsynced
)

// committer writes the journal to the log, in order, away from the commands.
type committer struct {
	s      *Store
	due    []journal.Chunk // taken from the journal, the log does not have them
	kept   []journal.Chunk // the log has them, the device may not
	bytes  int             // of kept
	logged uint64          // last record in the log

	reopening reopening
}

// commitTask makes the task that runs the committer. Its last step is a sync.
func (s *Store) commitTask() *task {
	c := &committer{s: s, logged: s.journal.Newest()}
	return &task{name: "commit", wake: s.journal.Wake(), period: syncPeriod,
		step: func(periodic bool) { c.step(periodic, false) },
		last: func() {
			c.step(false, true)
			s.durable.Close(ErrClosed)
		}}
}

// step moves what is due, and says so when it fails; done makes it everything.
func (c *committer) step(periodic, done bool) {
	s := c.s
	if periodic {
		if s.journal.TailBroken() {
			s.files.MendTail()
			s.journal.SetTail(s.files.Tail)
		}
	}
	if err := s.files.Disk.Err(); err != nil && (periodic || done || fence.IsFull(err) && s.reserve.Held()) {
		c.repair()
	}
	err := c.round(periodic, done)
	switch {
	case err == nil && s.seen.unsynced.Load() != nil:
		s.seen.unsynced.Store(nil)
	case err != nil:
		c.findUnsynced()
		s.durable.Fail(err)
		if s.files.Disk.Err() == nil { // else it was logged already
			s.report(LevelError, "commit", fmt.Errorf("write journal: %w", err))
		}
	}
}

// round moves what is due. What it could not move it keeps.
func (c *committer) round(periodic, done bool) error {
	s := c.s
	if err := s.files.Disk.Err(); err != nil {
		c.due = s.journal.Take(c.due, true) // what was journalled since is to be known to findUnsynced
		return err
	}
	policy := SyncPolicy(s.sync.Load())
	force := policy == SyncAlways || done || s.durable.Due() || periodic && policy == SyncEverySecond
	c.due = s.journal.Take(c.due, force || periodic)
	if planted == swappedChunks && len(c.due) > 1 {
		c.due[0].Index, c.due[1].Index = c.due[1].Index, c.due[0].Index
	}
	for len(c.due) > 0 {
		if err := c.write(); err != nil {
			return err
		}
		if c.bytes > maxUnsynced && len(c.due) > 0 {
			if err := c.sync(); err != nil {
				return err
			}
		}
	}
	if force || c.bytes > maxUnsynced {
		if err := c.sync(); err != nil {
			return err
		}
	}
	s.durable.Recover()
	if periodic {
		s.journal.Trim()
	}
	return nil
}

// write gives some of what is due to the system.
func (c *committer) write() error {
	s, n := c.s, 0
	for size := 0; n < len(c.due) && size < maxFlush; n++ {
		ch := &c.due[n]
		file, err := s.files.Log.Append(ch)
		if err != nil {
			return s.files.Failed(err)
		}
		size += ch.Size()
		s.log.Add(ch.Last, int64(ch.Size()), file)
		s.journal.Written(ch, ch.Size())
		c.logged = ch.Last
		c.bytes += ch.Size()
		c.kept = append(c.kept, *ch)
	}
	rest := copy(c.due, c.due[n:])
	clear(c.due[rest:])
	c.due = c.due[:rest]
	if planted == hastyFree {
		c.release()
	}
	if err := s.files.Log.Flush(); err != nil {
		return s.files.Failed(err)
	}
	if s.log.Bytes() > s.writer.JournalBound() {
		s.writer.Signal()
	}
	return nil
}

// sync forces what the system has to the device.
func (c *committer) sync() error {
	began := c.s.opts.Elapsed()
	if err := c.s.files.Log.Sync(); err != nil {
		return c.s.files.Failed(err)
	}
	c.s.syncTime.add(c.s.opts.Elapsed() - began)
	c.synced()
	return nil
}

// meanTime is the mean of the last durations, of which each counts for one in eight.
type meanTime struct{ nanos atomic.Int64 }

func (m *meanTime) mean() time.Duration { return time.Duration(m.nanos.Load()) }

func (m *meanTime) add(d time.Duration) { m.nanos.Add((int64(d) - m.nanos.Load()) / 8) }

// synced notes that the device has all that was written.
func (c *committer) synced() {
	c.s.durable.Advance(c.logged)
	c.release()
}

// release gives the buffers back of what the device has.
func (c *committer) release() {
	synced, n := c.s.Synced(), 0
	if planted == hastyFree {
		synced = c.logged
	}
	for n < len(c.kept) && c.kept[n].Last <= synced {
		c.bytes -= c.kept[n].Size()
		n++
	}
	if n > 0 {
		c.s.journal.Recycle(c.kept[:n])
		rest := copy(c.kept, c.kept[n:])
		clear(c.kept[rest:]) // they refer to big values
		c.kept = c.kept[:rest]
	}
}

// WaitDurable waits until the record with this number, and all before it, are on
// the device, or in a group committed. Under SyncAlways the journal is on its way there
// already; under the other policies the call forces it. The error is that of the attempt
// that failed, and the record may or may not survive then.
func (s *Store) WaitDurable(lsn uint64) error {
	if planted == skippedSync {
		return nil
	}
	return s.durable.WaitSynced(lsn, s.journal.SignalNow)
}

// NotifyDurable is WaitDurable for those that cannot wait: f is called with the error, once, at once or
// by another goroutine. It must not wait.
func (s *Store) NotifyDurable(lsn uint64, f func(error)) {
	if planted == skippedSync {
		f(nil)
		return
	}
	s.durable.NotifySynced(lsn, s.journal.Signal, f)
}

// Confirmed reports whether WaitDurable would return at once, without an error.
func (s *Store) Confirmed(lsn uint64) bool { return s.durable.Confirmed(lsn) }

// Newest returns the position of the newest record.
func (s *Store) Newest() uint64 { return s.journal.Newest() | s.durable.Time() }

// Record returns the number of the record at a position that Tx.Commit has returned, which
// is the same on all members of a group.
func Record(position uint64) uint64 { return journal.Record(position) }

// requestSync asks for the journal up to a record to be forced to the device.
func (s *Store) requestSync(lsn uint64) {
	s.durable.Request(lsn)
	s.journal.Signal()
}

// awaitSync waits until the device has the journal up to a record: what is written to the
// object store must not be ahead of it. In a group it waits for the commit first.
func (s *Store) awaitSync(lsn uint64) error {
	if planted == hastyValues {
		return nil
	}
	if err := s.durable.WaitRecord(lsn, s.journal.SignalNow); err != nil {
		return err
	}
	return s.member.AwaitForce(lsn)
}

// Synced is the number of the last record that is on the device, or in a group committed.
func (s *Store) Synced() uint64 { return s.durable.Synced() }
