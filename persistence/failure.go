package persistence

import (
	"errors"
	"fmt"
	"path"

	"github.com/cockroachdb/pebble/v2"
)

// When a write of Pebble's log or manifest fails, because the disk is full or an
// fsync went wrong, that instance of Pebble never writes again. Reads go on. All
// that is not on the device is still in memory: chunks are kept until they are
// synced, and everything else is written with a sync or written again. So when the
// disk takes writes again Pebble is opened anew and gets them once more; each is
// an idempotent Set under its own key. A failed fsync is never simply repeated:
// the system may have thrown the pages away and would report success.

// WriteError returns why the disk cannot be written, nil if it can. Reads go on,
// changes stay in memory and are tried again; the server refuses new ones.
func (s *Store) WriteError() error {
	if err := s.brokenErr(); err != nil {
		return err
	}
	if s.journal.pending.Load() > maxStuck {
		return ErrStuck
	}
	if p := s.durable.background.Load(); p != nil {
		return *p
	}
	if !s.durable.failed.Load() {
		return nil
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
	s.durable.fail(err)
	s.opts.Logf(LevelError, "%v", err)
}

// backgroundError notes an error of a flush or compaction. Pebble tries again,
// but a writer may have to wait for it until then.
func (s *Store) backgroundError(err error) {
	if s.ctx.Err() != nil {
		return
	}
	err = fmt.Errorf("pebble: background: %w", err)
	s.durable.background.Store(&err)
	s.durable.fail(err)
	s.opts.Logf(LevelError, "%v", err)
}

// backgroundDone notes that a flush or compaction ended, well if err is nil.
func (s *Store) backgroundDone(err error) {
	if err == nil && s.durable.background.Swap(nil) != nil {
		s.durable.clear()
	}
}

// apply commits a batch and closes it. The batch cannot be used again if that
// fails.
func (s *Store) apply(b *pebble.Batch, mode *pebble.WriteOptions) error {
	if err := s.brokenErr(); err != nil {
		return err
	}
	s.durable.mu.Lock()
	handed := s.durable.handed
	s.durable.mu.Unlock()
	if err := errors.Join(b.Commit(mode), s.brokenErr()); err != nil {
		return err
	}
	if mode == pebble.Sync {
		s.durable.synchronised(handed)
	}
	return b.Close()
}

// repair opens Pebble anew after a failure, if the disk takes writes, and puts
// what it may have lost in front of what is due.
func (c *committer) repair() {
	s := c.s
	if err := s.probe(); err != nil {
		s.opts.Logf(LevelWarn, "the disk still cannot be written: %v", err)
		return
	}
	if err := s.reopen(); err != nil {
		s.opts.Logf(LevelError, "open the disk again: %v", err)
		return
	}
	c.due = append(append([]chunk(nil), c.kept...), c.due...)
	c.kept, c.bytes = nil, 0
	s.opts.Logf(LevelInfo, "the disk can be written again")
}

// probeBytes is what a trial write takes: enough for Pebble to open.
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

// reopen replaces the instance of Pebble. Nobody reads or writes meanwhile. If
// it cannot be opened for writing it is opened for reading.
func (s *Store) reopen() error {
	m := &s.materialiser.pass
	m.Lock()
	defer m.Unlock()
	s.disk.Lock()
	defer s.disk.Unlock()
	var set Shards
	set.AddAll()
	s.lock(&set)
	defer s.unlock(&set)
	if err := s.db.Close(); err != nil {
		s.opts.Logf(LevelWarn, "close the failed disk: %v", err)
	}
	s.durable.broken.Store(nil)
	s.durable.background.Store(nil)
	db, err := s.openPebble(s.pebbleOptions())
	if err != nil {
		s.durable.broken.Store(&err)
		o := s.pebbleOptions()
		o.ReadOnly = true
		var err2 error
		if db, err2 = s.openPebble(o); err2 != nil {
			panic(fmt.Sprintf("persistence: the store cannot be read any more: %v", errors.Join(err, err2)))
		}
	}
	s.db = db
	if m.batch != nil {
		repr := append([]byte(nil), m.batch.Repr()...)
		m.batch = db.NewBatch()
		err = errors.Join(err, m.batch.SetRepr(repr))
	}
	return err
}
