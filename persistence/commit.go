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

	broken atomic.Pointer[error] // what Pebble called fatal
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

// maxCommit is the size in bytes up to which chunks share a batch.
const maxCommit = 1 << 20

// commitLoop hands the journal to Pebble, in order, away from the commands. It
// ends with s.ctx, after a last sync.
func (s *Store) commitLoop() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var carry []chunk // taken from the journal and not yet confirmed
	for {
		second, done := false, false
		select {
		case <-s.journal.wake:
		case <-tick.C:
			second = true
		case <-s.ctx.Done():
			done = true
		}
		carry = s.commitRound(carry, second, done)
		if done {
			s.durable.close()
			return
		}
	}
}

// commitRound moves what is due and returns what could not be moved.
func (s *Store) commitRound(carry []chunk, second, done bool) []chunk {
	policy := SyncPolicy(s.sync.Load())
	handNow, syncNow := s.durable.due()
	force := policy == SyncAlways || done || syncNow || second && policy == SyncEverySecond
	partial := force || handNow || second
	carry = s.journal.take(carry, partial)
	for {
		n, size := 0, 0
		for n < len(carry) && (n == 0 || size+len(carry[n].buf) <= maxCommit) {
			size += len(carry[n].buf)
			n++
		}
		mode := pebble.NoSync
		if force && n == len(carry) {
			mode = pebble.Sync
		}
		if n == 0 && !(force && s.durable.unsynced()) {
			break
		}
		if err := s.commit(carry[:n], mode); err != nil {
			s.durable.fail(err)
			s.opts.Logf(LevelError, "write journal: %v", err)
			break
		}
		carry = carry[n:]
		if len(carry) == 0 {
			break
		}
	}
	return append([]chunk(nil), carry...)
}

// commit writes chunks in one batch.
func (s *Store) commit(chunks []chunk, mode *pebble.WriteOptions) error {
	if err := s.brokenErr(); err != nil {
		return err
	}
	if len(chunks) == 0 {
		if err := errors.Join(s.db.LogData(nil, mode), s.brokenErr()); err != nil {
			return err
		}
		s.durable.advance(0, true)
		return nil
	}
	b := s.db.NewBatch()
	var key [9]byte
	for _, c := range chunks {
		sealChunk(c.buf, c.flags)
		if err := b.Set(appendJournalKey(key[:0], c.first), c.buf, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	err := errors.Join(b.Commit(mode), s.brokenErr())
	if err := errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("commit %d chunks: %w", len(chunks), err)
	}
	for _, c := range chunks {
		s.log.add(chunkInfo{c.first, c.last, int64(len(c.buf))})
	}
	if s.log.bytes.Load() > s.opts.JournalBound {
		s.materialiser.signal()
	}
	last := chunks[len(chunks)-1].last
	s.journal.recycle(chunks)
	s.durable.advance(last, mode == pebble.Sync)
	return nil
}

func (d *durability) advance(handed uint64, synced bool) {
	d.mu.Lock()
	d.handed = max(d.handed, handed)
	if synced {
		d.synced = d.handed
	}
	d.err = nil
	d.mu.Unlock()
	d.moved.Broadcast()
}

func (d *durability) fail(err error) {
	d.mu.Lock()
	d.err = err
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
	d := &s.durable
	return d.await(
		func() { d.force = max(d.force, lsn) },
		func() bool { return d.synced >= lsn },
		s.journal.signal)
}

// handOver waits until Pebble has the journal up to lsn, synced or not.
func (s *Store) handOver(lsn uint64) error {
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

// WriteError returns why the disk cannot be written, nil if it can. Reads go on,
// changes stay in memory and are tried again; the server refuses new ones.
func (s *Store) WriteError() error {
	if err := s.brokenErr(); err != nil {
		return err
	}
	s.durable.mu.Lock()
	defer s.durable.mu.Unlock()
	return s.durable.err
}

func (s *Store) brokenErr() error {
	if p := s.durable.broken.Load(); p != nil {
		return *p
	}
	return nil
}

// fatal notes that this instance of Pebble will not write any more.
func (s *Store) fatal(err error) {
	s.durable.broken.CompareAndSwap(nil, &err)
	s.opts.Logf(LevelError, "%v", err)
}

// background notes an error of a flush or compaction, which Pebble repeats.
func (s *Store) background(err error) {
	s.opts.Logf(LevelError, "pebble: background: %v", err)
}
