package passes

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// Nothing may stay of the transaction of a handler that panics, although it has changed
// values in their places. Memory cannot be put back, so it is made anew of the
// disk, as at Open: the journal has everything but this transaction (ADR 0083).
//
// Until that is done memory is torn. This is noted under the locks of the transaction, and
// these are released: others may wait for them with locks of their own, or in a pass. So
// whoever locks a shard looks whether memory is torn, and if so gives the shard back:
// transactions wait, background work ends. Those that hold other shards already, so that
// the torn values cannot matter to them, continue.

// Remake makes torn memory anew, and returns when that is done or has failed. The caller holds no lock.
func (s *Passes) Remake() {
	r := &s.Keyspace.Tear
	s.remaking.Lock()
	defer s.remaking.Unlock()
	if !r.Torn() {
		return // by another one
	}
	if s.Group != nil {
		s.Group.Leave()
		return
	}
	err := s.remakeAlone()
	if err != nil {
		s.Operator.Error("remake", err)
	}
	r.Over(err)
}

// remakeAlone makes memory anew of the disk and the whole journal.
func (s *Passes) remakeAlone() error {
	defer s.HoldStill()()
	newest := s.Commits.Journal.Newest()
	if err := s.Commits.AwaitSync(newest); err != nil {
		return err
	}
	if err := s.Anew(newest); err != nil {
		return err
	}
	s.Warmer.Restart()
	return nil
}

// Anew forgets memory and makes it anew of the disk and the journal. Everything is held still. Which keys the records up to floor
// are about is forgotten.
func (s *Passes) Anew(floor uint64) error {
	s.Sweeper.Forget()
	if err := s.Writer.Forget(); err != nil {
		return err
	}
	s.forgetMemory()
	s.Commits.Seen.Raise(floor)
	if err := s.recall(); err != nil {
		return err
	}
	s.Catalog().Tell()
	return nil
}

// HoldStill keeps everything from memory and disk: clients, passes and the sweeper. It
// waits for what is under way, and returns what ends it.
func (s *Passes) HoldStill() (end func()) {
	s.Sweeper.Lock()
	s.Writer.Lock()
	unlock := s.Keyspace.LockAll()
	return func() {
		unlock()
		s.Writer.Unlock()
		s.Sweeper.Unlock()
	}
}

// forgetMemory drops all tables, and what is known of records. All shards are locked.
func (s *Passes) forgetMemory() {
	for i := range s.Keyspace.Shard {
		sh := &s.Keyspace.Shard[i]
		for db, t := range sh.Tables {
			if t != nil {
				t.Dropped = true
				t.Drop()
				sh.Tables[db] = nil
			}
		}
		sh.Forget()
	}
	s.Purger.Forget()
	s.Commits.Seen.Forget()
	s.Commits.Length.Cut(^uint64(0))
	clear(s.Files.Marks[:])
}

// recall reads what a replay needs, and replays the journal.
func (s *Passes) recall() error {
	stored, err := s.Files.ReadMeta()
	if err != nil {
		return err
	}
	if len(stored.Phys) != len(s.Files.Meta.Phys) {
		return fmt.Errorf("%d databases on disk, want %d: %w", len(stored.Phys), len(s.Files.Meta.Phys), format.ErrCorrupt)
	}
	copy(s.Files.Meta.Phys, stored.Phys) // in its place: their number is read under no lock
	s.Files.Meta.Trimmed, s.Files.Meta.Mapped, s.Files.Meta.Next = stored.Trimmed, stored.Mapped, stored.Next
	s.Files.Meta.Replicated, s.Files.Meta.Arrived = stored.Replicated, stored.Arrived
	if err := s.Load(); err != nil {
		return err
	}
	at, err := s.Replayer.Journal(context.Background())
	if err != nil {
		return err
	}
	s.Commits.Journal.Resume(at)
	return s.Purger.Unmapped(s.Files.Meta.Phys, s.Commits.Journal.Newest())
}

// Reload writes everything to the object store, drops all values and reads back
// from disk what memory has room for.
func (s *Passes) Reload() error {
	ctx := context.Background()
	if err := s.Materialise(ctx); err != nil {
		return err
	}
	s.Writer.Lock()
	unlock := s.Keyspace.LockAll()
	err := keyspace.ErrTorn
	if !s.Keyspace.Tear.Torn() {
		err = s.forgetLocked()
	}
	unlock()
	s.Writer.Unlock()
	if err != nil {
		return err
	}
	if err := s.Warmer.All(); err != nil && !errors.Is(err, heads.ErrStopped) {
		return err
	}
	return nil
}

// forgetLocked writes what is still dirty and drops all tables. All shards and
// the pass are locked.
func (s *Passes) forgetLocked() error {
	if err := s.Writer.WriteLocked(); err != nil {
		return err
	}
	for i := range s.Keyspace.Shard {
		sh := &s.Keyspace.Shard[i]
		for db, t := range sh.Tables {
			if t == nil {
				continue
			}
			sh.SetCount(t.Phys, t.Disk)
			t.Dropped = true
			t.Drop()
			sh.Tables[db] = nil
		}
	}
	return nil
}
