package persistence

import (
	"context"
	"fmt"
)

// Values on disk, and what is noted beside them, never contain records that are not
// committed. So memory is rolled back as it is made at Open: everything in it is
// forgotten, and the journal is replayed up to what is committed. Entries behind that stay
// in the log: a later leader decides about them.

// rollBack makes memory of what is committed.
func (m *Member) rollBack() error {
	s := m.s
	defer s.holdStill()()
	if err := m.remake(); err != nil {
		return err
	}
	if planted != reusedPositions {
		s.durable.Abandon()
	}
	m.torn = false
	return nil
}

// holdStill keeps everything from memory and disk: clients, passes and the sweeper. It
// waits for what is under way, and returns what ends it.
func (s *Store) holdStill() (end func()) {
	s.sweeper.mu.Lock()
	s.writer.Lock()
	unlock := s.keyspace.LockAll()
	return func() {
		unlock()
		s.writer.Unlock()
		s.sweeper.mu.Unlock()
	}
}

// remake forgets memory and makes it anew of the disk. Everything is held still.
func (m *Member) remake() error {
	m.forgetJournal()
	if err := m.s.forgetPass(); err != nil {
		return err
	}
	m.s.forgetMemory()
	if err := m.s.recall(); err != nil {
		return err
	}
	m.s.catalog.Tell()
	return nil
}

// forgetJournal drops what was journalled and not proposed.
func (m *Member) forgetJournal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = m.s.journal.Take(m.due, true)
	m.drop(len(m.due))
	m.flying = nil
}

// forgetPass drops what the writeback has under way, and what the sweeper has found.
func (s *Store) forgetPass() error {
	w := &s.sweeper
	w.shard, w.db, w.cursor, w.walked, w.next, w.lists = 0, 0, 0, nil, 0, listSweeper{}
	return s.writer.Forget()
}

// forgetMemory drops all tables, and what is known of records. All shards are locked.
func (s *Store) forgetMemory() {
	for i := range s.keyspace.Shard {
		sh := &s.keyspace.Shard[i]
		for db, t := range sh.Tables {
			if t != nil {
				t.Dropped = true
				t.Drop()
				sh.Tables[db] = nil
			}
		}
		sh.Forget()
	}
	for _, old := range s.discard.take() {
		old.t.Drop()
	}
	flushed, _ := s.discard.flushed()
	s.discard.purged(len(flushed))
	clear(s.seen.newest)
	s.seen.floor.Store(0)
	s.log.Cut(^uint64(0))
	clear(s.marks[:])
}

// recall reads what a replay needs, and replays the journal.
func (s *Store) recall() error {
	stored, err := s.readMeta()
	if err != nil {
		return err
	}
	if len(stored.Phys) != len(s.mapping.Phys) {
		return fmt.Errorf("%d databases on disk, want %d: %w", len(stored.Phys), len(s.mapping.Phys), ErrCorrupt)
	}
	copy(s.mapping.Phys, stored.Phys) // in its place: their number is read under no lock
	s.mapping.Trimmed, s.mapping.Mapped, s.mapping.Next = stored.Trimmed, stored.Mapped, stored.Next
	s.mapping.Replicated, s.mapping.Arrived = stored.Replicated, stored.Arrived
	if err := s.loadContents(); err != nil {
		return err
	}
	at, err := s.replay(context.Background())
	if err != nil {
		return err
	}
	s.journal.Resume(at)
	return s.purgeUnmapped()
}
