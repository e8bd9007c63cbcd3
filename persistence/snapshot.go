package persistence

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Snapshot writes a copy of the store, with everything recorded before the call,
// into dir, which must not exist. It hard-links files where it can and stops
// nobody. Open reads it as any store.
func (s *Store) Snapshot(dir string) error {
	if err := s.handOver(s.journal.newest.Load()); err != nil {
		return fmt.Errorf("snapshot %s: %w", dir, err)
	}
	s.disk.RLock()
	defer s.disk.RUnlock()
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("snapshot %s: %w", dir, err)
	}
	return nil
}

// Reload writes everything to the object store, forgets all values and reads
// back from disk what memory has room for.
func (s *Store) Reload() error {
	ctx := context.Background()
	if err := s.Materialise(ctx); err != nil {
		return err
	}
	var set Shards
	set.AddAll()
	m := &s.materialiser.pass
	m.Lock()
	s.lock(&set)
	err := s.forgetLocked()
	s.unlock(&set)
	m.Unlock()
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
	s.openBatch()
	for i := range s.shards {
		for _, t := range s.shards[i].tables {
			if t == nil {
				continue
			}
			cursor, more := uint64(i)<<56, true
			for more {
				cursor, more = s.encodeSome(i, t, cursor)
				s.joinParts()
			}
		}
	}
	if err := s.commitBatch(); err != nil {
		return err
	}
	s.materialiser.pass.flights = s.materialiser.pass.flights[:0]
	for i := range s.shards {
		sh := &s.shards[i]
		for db, t := range sh.tables {
			if t == nil {
				continue
			}
			if sh.counts == nil {
				sh.counts = map[uint32]int64{}
			}
			sh.counts[t.phys] = t.disk
			t.dropped = true
			t.drop()
			sh.tables[db] = nil
		}
	}
	return nil
}
