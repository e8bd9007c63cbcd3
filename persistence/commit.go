package persistence

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// durability is how far the journal has got, for those who wait for it.
type durability struct {
	mu     sync.Mutex
	moved  sync.Cond // broadcast when anything below changes
	handed uint64    // last record that Pebble has
	synced uint64    // last record that the device has
	want   uint64    // records that somebody needs handed over now
	force  uint64    // records that somebody needs synced now, whatever the policy
	err    error     // why the last attempt failed
	closed bool

	failed atomic.Bool // err is set: every write asks
}

func (d *durability) init() { d.moved.L = &d.mu }

// journalLog is what Pebble has of the journal.
type journalLog struct {
	bytes atomic.Int64 // sum of the sizes of chunks

	mu struct {
		sync.Mutex
		chunks []chunkInfo // in order
	}
}

func (l *journalLog) add(c chunkInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.chunks = append(l.mu.chunks, c)
	l.bytes.Add(c.size)
}

// cut forgets the chunks up to record last.
func (l *journalLog) cut(last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.mu.chunks) && l.mu.chunks[n].last <= last {
		l.bytes.Add(-l.mu.chunks[n].size)
		n++
	}
	l.mu.chunks = append([]chunkInfo(nil), l.mu.chunks[n:]...)
}

type chunkInfo struct {
	first, last uint64
	size        int64
}

const (
	// syncPeriod is how often the journal is forced to the device under
	// SyncEverySecond: half of what is promised, so that the sync itself, and a
	// processor that others keep busy, have the other half.
	syncPeriod = time.Second / 2
	// maxCommit is the size in bytes up to which chunks share a batch.
	maxCommit = 512 << 10
	// batchEntry is more than a batch adds to each chunk, and to itself.
	batchEntry = 64
	// logBlock is the size in bytes of a block of Pebble's log.
	logBlock = 32 << 10
	// maxUnsynced is how many bytes of the journal Pebble may have that the
	// device does not: they stay in memory too, for the case that Pebble cannot
	// write them, and are forced to the device beyond.
	maxUnsynced = 4 << 20
)

// committer hands the journal to Pebble, in order, away from the commands.
type committer struct {
	s      *Store
	due    []chunk // taken from the journal, Pebble does not have them
	kept   []chunk // Pebble has them, the device may not
	bytes  int     // of kept
	logged uint64  // last record that the journal log knows of

	handed    int // bytes that Pebble was given this period
	reopening reopening
}

// commitTask makes the task that runs the committer. Its last step is a sync.
func (s *Store) commitTask() *task {
	c := &committer{s: s, logged: s.journal.newest.Load()}
	return &task{name: "commit", wake: s.journal.wake, period: syncPeriod,
		step: func(periodic bool) { c.step(periodic, false) },
		last: func() {
			c.step(false, true)
			s.durable.close()
		}}
}

// step moves what is due, and says so when it fails; done makes it everything.
func (c *committer) step(periodic, done bool) {
	s := c.s
	if (periodic || done) && s.brokenErr() != nil {
		c.repair()
	}
	err := c.round(periodic, done)
	switch {
	case err == nil && s.seen.doubt.Load() != nil:
		s.seen.doubt.Store(nil)
	case err != nil:
		c.doubtNow()
		s.durable.fail(err)
		if s.brokenErr() == nil { // else it has been said
			s.report(LevelError, "commit", fmt.Errorf("write journal: %w", err))
		}
	}
}

// round moves what is due. What it could not move it keeps.
func (c *committer) round(periodic, done bool) error {
	d := &c.s.durable
	policy := SyncPolicy(c.s.sync.Load())
	hand, sync := d.due()
	force := policy == SyncAlways || done || sync || periodic && policy == SyncEverySecond
	c.due = c.s.journal.take(c.due, force || hand || periodic)
	if periodic {
		// A block that Pebble's log has begun is in the process until it is full or
		// synced. Under SyncNever it is synced when little came: else kill -9 would take
		// the last writes with it for as long as there are no others.
		force = force || c.handed+sizeOf(c.due) < logBlock
		c.handed = -sizeOf(c.due) // which belong to this period
	}
	for len(c.due) > 0 {
		n := batchOf(c.due)
		if planted == swappedChunks && len(c.due) > 1 {
			c.due[0].index, c.due[1].index = c.due[1].index, c.due[0].index
		}
		mode := pebble.NoSync
		if force && n == len(c.due) || c.bytes+sizeOf(c.due[:n]) > maxUnsynced {
			mode = pebble.Sync
		}
		if err := c.commit(n, mode); err != nil {
			return err
		}
	}
	if force && d.unsynced() {
		if err := c.sync(); err != nil {
			return err
		}
	}
	c.release()
	return nil
}

// batchOf returns how many of the chunks share a batch.
func batchOf(chunks []chunk) (n int) {
	for size := 0; n < len(chunks); n++ {
		if size += chunks[n].size(); n > 0 && size > maxCommit {
			break
		}
	}
	return n
}

func sizeOf(chunks []chunk) (size int) {
	for _, ch := range chunks {
		size += ch.size()
	}
	return size
}

// batchSize is at least what a batch of chunks takes.
func batchSize(chunks []chunk) int {
	size := batchEntry
	for _, ch := range chunks {
		size += len(ch.buf) + batchEntry
	}
	return size
}

// chunkBatch makes a batch of chunks. The pieces of big ones are written before,
// by apply.
func chunkBatch(db *pebble.DB, chunks []chunk, apply func(*pebble.Batch) error) (*pebble.Batch, error) {
	b := db.NewBatchWithSize(batchSize(chunks))
	var key [journalKeyFixed]byte
	for i := range chunks {
		ch := &chunks[i]
		value := ch.buf
		if ch.parts != nil {
			var err error
			if value, err = ch.writePieces(db, apply); err != nil {
				return nil, errors.Join(err, b.Close())
			}
		} else {
			sealChunk(value, ch.first, ch.flags)
		}
		if err := b.Set(appendJournalKey(key[:0], ch.index), value, nil); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
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
		size := ch.size()
		if c.bytes += size; ch.last > c.logged { // else it was repeated
			s.log.add(chunkInfo{ch.first, ch.last, int64(size)})
			s.journal.written(&ch, size)
			last = ch.last
		}
	}
	c.logged = last
	c.handed += sizeOf(c.due[:n])
	c.kept = append(c.kept, c.due[:n]...)
	rest := copy(c.due, c.due[n:])
	clear(c.due[rest:])
	c.due = c.due[:rest]
	s.durable.advance(last, mode == pebble.Sync)
	c.release()
	if s.log.bytes.Load() > s.opts.JournalBound {
		s.materialiser.signal()
	}
	return nil
}

// sync forces what Pebble has to the device.
func (c *committer) sync() error {
	f := c.s.fence.Load()
	if err := f.Err(); err != nil {
		return err
	}
	err := guard(f, func() error { return c.s.db.LogData(nil, pebble.Sync) })
	if err := errors.Join(err, f.Err()); err != nil {
		return err
	}
	c.s.durable.advance(0, true)
	return nil
}

// release gives the buffers back of what the device has.
func (c *committer) release() {
	synced, n := c.s.Synced(), 0
	for n < len(c.kept) && c.kept[n].last <= synced {
		c.bytes -= c.kept[n].size()
		n++
	}
	if n > 0 {
		c.s.journal.recycle(c.kept[:n])
		rest := copy(c.kept, c.kept[n:])
		clear(c.kept[rest:]) // they refer to big values
		c.kept = c.kept[:rest]
	}
}

func (d *durability) advance(handed uint64, synced bool) {
	d.mu.Lock()
	d.handed = max(d.handed, handed)
	if synced {
		d.synced = d.handed
	}
	d.setLocked(nil)
	d.mu.Unlock()
	d.moved.Broadcast()
}

// synchronised tells that a write that began when Pebble had the journal up to
// handed is on the device, and all before it.
func (d *durability) synchronised(handed uint64) {
	d.mu.Lock()
	d.synced = max(d.synced, handed)
	d.mu.Unlock()
	d.moved.Broadcast()
}

func (d *durability) setLocked(err error) {
	d.err = err
	d.failed.Store(err != nil)
}

func (d *durability) fail(err error) {
	d.mu.Lock()
	d.setLocked(err)
	d.mu.Unlock()
	d.moved.Broadcast()
}

func (d *durability) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.moved.Broadcast()
}

// due reports whether somebody waits for records to be handed over or synced.
func (d *durability) due() (hand, sync bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.want > d.handed, d.force > d.synced
}

func (d *durability) unsynced() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.synced < d.handed
}

// await waits until reached answers true; ask is called first. It returns the
// error of an attempt that failed, or ErrClosed.
func (d *durability) await(ask func(), reached func() bool, wake func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if reached() {
		return nil
	}
	ask()
	wake()
	for !reached() {
		if d.err != nil {
			return d.err
		}
		if d.closed {
			return ErrClosed
		}
		d.moved.Wait()
	}
	return nil
}

// WaitDurable waits until the record with this number, and all before it, are on
// the device. Under SyncAlways the journal is on its way there already; under
// the other policies the call forces it. The error is that of the attempt that
// failed, and the record may or may not survive then.
func (s *Store) WaitDurable(lsn uint64) error {
	if planted == skippedSync {
		return nil
	}
	d := &s.durable
	return d.await(
		func() { d.force = max(d.force, lsn) },
		func() bool { return d.synced >= lsn },
		s.journal.signal)
}

// requestHandOver asks for the journal up to lsn to be given to Pebble.
func (s *Store) requestHandOver(lsn uint64) {
	d := &s.durable
	d.mu.Lock()
	d.want = max(d.want, lsn)
	d.mu.Unlock()
	s.journal.signal()
}

// handedOver reports whether Pebble has the journal up to lsn, synced or not.
func (s *Store) handedOver(lsn uint64) bool {
	s.durable.mu.Lock()
	defer s.durable.mu.Unlock()
	return s.durable.handed >= lsn
}

// handOver waits until Pebble has the journal up to lsn, synced or not.
func (s *Store) handOver(lsn uint64) error {
	if planted == hastyValues {
		return nil
	}
	d := &s.durable
	return d.await(
		func() { d.want = max(d.want, lsn) },
		func() bool { return d.handed >= lsn },
		s.journal.signal)
}

// Synced is the number of the last record that is on the device.
func (s *Store) Synced() uint64 {
	s.durable.mu.Lock()
	defer s.durable.mu.Unlock()
	return s.durable.synced
}
