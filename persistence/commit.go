package persistence

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/wal"
)

const (
	// syncPeriod is how often the journal is forced to the device under
	// SyncEverySecond: half of what is guaranteed, so that the sync itself, and
	// a processor that others keep busy, have the other half.
	syncPeriod = time.Second / 2
	// maxCommit is the size in bytes up to which chunks share a batch.
	maxCommit = 512 << 10
	// batchEntry is more than a batch adds to each chunk, and to itself.
	batchEntry = 64
	// maxUnsynced is how many bytes of the journal Pebble may have that the
	// device does not: they stay in memory too, for the case that Pebble cannot
	// write them, and are forced to the device beyond.
	maxUnsynced = journal.MaxUnsynced
)

// committer hands the journal to Pebble, in order, away from the commands.
type committer struct {
	s      *Store
	due    []journal.Chunk // taken from the journal, Pebble does not have them
	kept   []journal.Chunk // Pebble has them, the device may not
	bytes  int             // of kept
	logged uint64          // last record in the journal log

	handed    int // bytes that Pebble was given this period
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
		s.mendTail()
	}
	if err := s.brokenErr(); err != nil && (periodic || done || fence.IsFull(err) && s.holdsReserve()) {
		c.repair()
	}
	err := c.round(periodic, done)
	switch {
	case err == nil && s.seen.unsynced.Load() != nil:
		s.seen.unsynced.Store(nil)
	case err != nil:
		c.findUnsynced()
		s.durable.Fail(err)
		if s.brokenErr() == nil { // else it was logged already
			s.report(LevelError, "commit", fmt.Errorf("write journal: %w", err))
		}
	}
}

// round moves what is due. What it could not move it keeps.
func (c *committer) round(periodic, done bool) error {
	d := &c.s.durable
	policy := SyncPolicy(c.s.sync.Load())
	hand, sync := d.Due()
	force := policy == SyncAlways || done || sync || periodic && policy == SyncEverySecond
	c.due = c.s.journal.Take(c.due, force || hand || periodic)
	if periodic {
		// A block that Pebble's log has begun is in the process until it is full or
		// synced. Under SyncNever it is synced when little came: else kill -9 would take
		// the last writes with it for as long as there are no others.
		force = force || c.handed+sizeOf(c.due) < wal.BlockBytes
		c.handed = -sizeOf(c.due) // which belong to this period
	}
	for len(c.due) > 0 {
		n := batchOf(c.due)
		if planted == swappedChunks && len(c.due) > 1 {
			c.due[0].Index, c.due[1].Index = c.due[1].Index, c.due[0].Index
		}
		mode := pebble.NoSync
		if force && n == len(c.due) || c.bytes+sizeOf(c.due[:n]) > maxUnsynced {
			mode = pebble.Sync
		}
		if err := c.commit(n, mode); err != nil {
			return err
		}
	}
	if force && d.Unsynced() {
		if err := c.sync(); err != nil {
			return err
		}
	}
	c.release()
	if periodic {
		c.s.journal.Trim()
	}
	return nil
}

// batchOf returns how many of the chunks share a batch.
func batchOf(chunks []journal.Chunk) (n int) {
	for size := 0; n < len(chunks); n++ {
		if size += chunks[n].Size(); n > 0 && size > maxCommit {
			break
		}
	}
	return n
}

func sizeOf(chunks []journal.Chunk) (size int) {
	for _, ch := range chunks {
		size += ch.Size()
	}
	return size
}

// batchSize is at least what a batch of chunks takes.
func batchSize(chunks []journal.Chunk) int {
	size := batchEntry
	for _, ch := range chunks {
		size += len(ch.Bytes()) + batchEntry
	}
	return size
}

// chunkBatch makes a batch of chunks. The pieces of big ones are written before,
// by apply.
func chunkBatch(db *pebble.DB, chunks []journal.Chunk, apply func(*pebble.Batch) error) (*pebble.Batch, error) {
	b := db.NewBatchWithSize(batchSize(chunks))
	var key [format.JournalKeyFixed]byte
	for i := range chunks {
		ch := &chunks[i]
		value := ch.Bytes()
		if ch.Big() {
			var err error
			if value, err = writePieces(ch, db, apply); err != nil {
				return nil, errors.Join(err, b.Close())
			}
		} else {
			format.SealChunk(value, ch.First, ch.Flags)
		}
		if err := b.Set(format.AppendJournalKey(key[:0], ch.Index), value, nil); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// writeChunks writes chunks in as many batches as they need. apply commits a batch.
func writeChunks(db *pebble.DB, chunks []journal.Chunk, apply func(*pebble.Batch) error) error {
	for len(chunks) > 0 {
		n := batchOf(chunks)
		b, err := chunkBatch(db, chunks[:n], apply)
		if err == nil {
			err = apply(b)
		}
		if err != nil {
			return err
		}
		chunks = chunks[n:]
	}
	return nil
}

// commit writes the first n chunks that are due in one batch.
func (c *committer) commit(n int, mode *pebble.WriteOptions) error {
	s := c.s
	b, err := chunkBatch(s.db, c.due[:n], func(b *pebble.Batch) error { return s.apply(b, pebble.NoSync) })
	if err != nil {
		return err
	}
	if err := s.apply(b, mode); err != nil {
		return fmt.Errorf("commit %d chunks: %w", n, err)
	}
	last := c.logged
	for _, ch := range c.due[:n] {
		size := ch.Size()
		if c.bytes += size; ch.Last > c.logged { // else it was repeated
			s.log.Add(ch.Last, int64(size))
			s.journal.Written(&ch, size)
			last = ch.Last
		}
	}
	c.logged = last
	c.handed += sizeOf(c.due[:n])
	c.kept = append(c.kept, c.due[:n]...)
	rest := copy(c.due, c.due[n:])
	clear(c.due[rest:])
	c.due = c.due[:rest]
	s.durable.Advance(last, mode == pebble.Sync)
	c.release()
	if s.log.Bytes() > s.journalBound() {
		s.materialiser.signal()
	}
	return nil
}

// sync forces what Pebble has to the device.
func (c *committer) sync() error {
	if err := c.s.syncLog(); err != nil {
		return err
	}
	c.s.durable.Advance(0, true)
	return nil
}

// syncLog forces Pebble's log to the device.
func (s *Store) syncLog() error {
	f := s.fence.Load()
	if err := f.Err(); err != nil {
		return err
	}
	err := lsm.Guard(f, func() error { return s.db.LogData(nil, pebble.Sync) })
	return errors.Join(err, f.Err())
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

// requestHandOver asks for the journal up to lsn to be given to Pebble.
func (s *Store) requestHandOver(lsn uint64) {
	s.durable.Request(lsn)
	s.journal.Signal()
}

// handedOver reports whether Pebble has the journal up to lsn, synced or not.
func (s *Store) handedOver(lsn uint64) bool { return s.durable.HandedOver() >= lsn }

// handOver waits until Pebble has the journal up to lsn, synced or not.
func (s *Store) handOver(lsn uint64) error {
	if planted == hastyValues {
		return nil
	}
	return s.durable.WaitHandedOver(lsn, s.journal.SignalNow)
}

// Synced is the number of the last record that is on the device, or in a group committed.
func (s *Store) Synced() uint64 { return s.durable.Synced() }
