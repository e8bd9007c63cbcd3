package persistence

import (
	"context"
	"fmt"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/replay"
)

// holdStill keeps everything from memory and disk: clients, passes and the sweeper. It
// waits for what is under way, and returns what ends it.
func (s *Store) holdStill() (end func()) {
	s.sweeper.Lock()
	s.writer.Lock()
	unlock := s.keyspace.LockAll()
	return func() {
		unlock()
		s.writer.Unlock()
		s.sweeper.Unlock()
	}
}

// forgetPass drops what the writeback has under way, and what the sweeper has found.
func (s *Store) forgetPass() error {
	s.sweeper.Forget()
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
	s.purger.Forget()
	s.commits.Seen.Forget()
	s.commits.Length.Cut(^uint64(0))
	clear(s.files.Marks[:])
}

// recall reads what a replay needs, and replays the journal.
func (s *Store) recall() error {
	stored, err := s.files.ReadMeta()
	if err != nil {
		return err
	}
	if len(stored.Phys) != len(s.files.Meta.Phys) {
		return fmt.Errorf("%d databases on disk, want %d: %w", len(stored.Phys), len(s.files.Meta.Phys), ErrCorrupt)
	}
	copy(s.files.Meta.Phys, stored.Phys) // in its place: their number is read under no lock
	s.files.Meta.Trimmed, s.files.Meta.Mapped, s.files.Meta.Next = stored.Trimmed, stored.Mapped, stored.Next
	s.files.Meta.Replicated, s.files.Meta.Arrived = stored.Replicated, stored.Arrived
	if err := s.loadContents(); err != nil {
		return err
	}
	at, err := s.replay.Journal(context.Background())
	if err != nil {
		return err
	}
	s.commits.Journal.Resume(at)
	return s.purger.Unmapped(s.files.Meta.Phys, s.commits.Journal.Newest())
}

// initReplay describes what a replay works on.
func (s *Store) initReplay() {
	s.replay.Allowance = replay.NewAllowance(s.opts.bound())
	s.replay.Config = replay.Config{
		Files: &s.files, Commits: &s.commits, Keyspace: &s.keyspace, Heads: &s.heads, Writer: &s.writer, Purger: &s.purger, Uses: &s.uses,
		Catalog: func() *catalog.Catalog { return s.catalog }, Hash: s.Hash, Now: s.opts.Now, Bound: s.bound.Load,
		Seed: func() uint64 { return s.txSeed.Add(0x9e3779b97f4a7c15) | 1 }, Unreadable: operatorLog{s}.unreadable, Arrived: s.origin.set,
	}
	if s.member != nil {
		s.replay.Group = s.member
	}
}
