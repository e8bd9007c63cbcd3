package commits

import (
	"fmt"
	"time"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/tasks"
)

const (
	// Period is how often the journal is forced to the device under
	// SyncEverySecond: half of what is guaranteed, so that the sync itself, and
	// a processor that others keep busy, have the other half.
	Period = time.Second / 2
	// maxFlush is the size in bytes up to which chunks are given to the system together.
	maxFlush = 512 << 10
	// maxUnsynced is how many bytes of the journal the system may have that the
	// device does not: they stay in memory too, for the case that the system cannot
	// write them, and are forced to the device beyond.
	maxUnsynced = journal.MaxUnsynced
)

// committer writes the journal to the log, in order, away from the commands.
type committer struct {
	*Commits
	due    []journal.Chunk // taken from the journal, the log does not have them
	kept   []journal.Chunk // the log has them, the device may not
	bytes  int             // of kept
	logged uint64          // last record in the log

	reopening reopening
}

// Start makes the work of the committer, from the newest record on. Its last step is a sync.
func (s *Commits) Start() *tasks.Work {
	c := &committer{Commits: s, logged: s.Journal.Newest()}
	return &tasks.Work{Name: "commit", Wake: s.Journal.Wake(), Period: Period,
		Step: func(periodic bool) { c.step(periodic, false) },
		Last: func() {
			c.step(false, true)
			s.Durable.Close(journal.ErrClosed)
		}}
}

// step moves what is due, and says so when it fails; done makes it everything.
func (c *committer) step(periodic, done bool) {
	if periodic {
		if c.Journal.TailBroken() {
			c.Files.MendTail()
			c.Journal.SetTail(c.Files.Tail)
		}
	}
	if err := c.Files.Disk.Err(); err != nil && (periodic || done || fence.IsFull(err) && c.Reserve.Held()) {
		c.repair()
	}
	err := c.round(periodic, done)
	switch {
	case err == nil && c.Seen.unsynced.Load() != nil:
		c.Seen.unsynced.Store(nil)
	case err != nil:
		c.findUnsynced()
		c.Durable.Fail(err)
		if c.Files.Disk.Err() == nil { // else it was logged already
			c.Operator.Error("commit", fmt.Errorf("write journal: %w", err))
		}
	}
}

// round moves what is due. What it could not move it keeps.
func (c *committer) round(periodic, done bool) error {
	if err := c.Files.Disk.Err(); err != nil {
		c.due = c.Journal.Take(c.due, true) // what was journalled since is to be known to findUnsynced
		return err
	}
	policy := c.Policy()
	force := policy == journal.SyncAlways || done || c.Durable.Due() || periodic && policy == journal.SyncEverySecond
	c.due = c.Journal.Take(c.due, force || periodic)
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
	c.Durable.Recover()
	if periodic {
		c.Journal.Trim()
	}
	return nil
}

// write gives some of what is due to the system.
func (c *committer) write() error {
	n := 0
	for size := 0; n < len(c.due) && size < maxFlush; n++ {
		ch := &c.due[n]
		file, err := c.Files.Log.Append(ch)
		if err != nil {
			return c.Files.Failed(err)
		}
		size += ch.Size()
		c.Length.Add(ch.Last, int64(ch.Size()), file)
		c.Journal.Written(ch, ch.Size())
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
	if err := c.Files.Log.Flush(); err != nil {
		return c.Files.Failed(err)
	}
	c.Passes.Grown()
	return nil
}

// sync forces what the system has to the device.
func (c *committer) sync() error {
	began := c.Elapsed()
	if err := c.Files.Log.Sync(); err != nil {
		return c.Files.Failed(err)
	}
	c.syncTime.add(c.Elapsed() - began)
	c.synced()
	return nil
}

// synced notes that the device has all that was written.
func (c *committer) synced() {
	c.Durable.Advance(c.logged)
	c.release()
}

// release gives the buffers back of what the device has.
func (c *committer) release() {
	synced, n := c.Synced(), 0
	if planted == hastyFree {
		synced = c.logged
	}
	for n < len(c.kept) && c.kept[n].Last <= synced {
		c.bytes -= c.kept[n].Size()
		n++
	}
	if n > 0 {
		c.Journal.Recycle(c.kept[:n])
		rest := copy(c.kept, c.kept[n:])
		clear(c.kept[rest:]) // they refer to big values
		c.kept = c.kept[:rest]
	}
}
