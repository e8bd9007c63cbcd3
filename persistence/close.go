package persistence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vigildb/vigil/persistence/tail"
)

const (
	// tidyBudget is how long Close may materialise to make the next Open quick.
	tidyBudget = 1500 * time.Millisecond
	// closeBudget is when Close stops waiting for Pebble to write its tables.
	closeBudget = 2200 * time.Millisecond
	// tidyFrom is the journal in bytes that is not worth it.
	tidyFrom = 4 << 20
)

// Close stops the background work, writes the rest of the journal and closes
// the disk. No transaction may be under way, nor Load. Values are materialised
// while there is time: the next Open replays the journal for the others. A pass
// under way is stopped; what it has done counts, by its marks.
func (s *Store) Close() error {
	budget := time.NewTimer(closeBudget)
	defer budget.Stop()
	s.closing.Store(true)
	s.stopPasses()
	s.member.Resign()
	loaded := s.replay.Served()
	if loaded {
		s.tidy()
	}
	s.cancel()
	s.tasks.Wait()
	if loaded && s.DiskError() == nil {
		if flushed, err := s.files.Disk.Flush(); err == nil { // tables are quicker to open than Pebble's log
			select {
			case <-flushed:
			case <-budget.C: // the log has everything
			}
		}
	}
	err := errors.Join(s.unwritten(), s.files.Tail.Close(), s.closeLog(), s.files.Close())
	for i := range s.keyspace.Shard {
		sh := &s.keyspace.Shard[i]
		sh.Mu.Lock()
		for _, t := range sh.Tables {
			if t != nil {
				t.Unmap()
			}
		}
		sh.Tables = nil
		sh.Mu.Unlock()
	}
	s.purger.Drain()
	s.keyspace.Pool.Close()
	if err != nil {
		return fmt.Errorf("close store %s: %w", s.opts.Dir, err)
	}
	return nil
}

// Lost is the error of Close for changes that were acknowledged and could not be written.
type Lost struct {
	Changes uint64 // a transaction is one
	Kept    bool   // the tail has them: the next start on this machine writes them, unless it is booted before
	Reason  error
}

func (l *Lost) Error() string {
	if l.Kept {
		return fmt.Sprintf("%d acknowledged changes are not on the disk: %v. They are in %s until the machine is booted: start the server again before, with room on the disk",
			l.Changes, l.Reason, tail.Name)
	}
	return fmt.Sprintf("%d acknowledged changes are lost: %v", l.Changes, l.Reason)
}

func (l *Lost) Unwrap() error { return l.Reason }

// unwritten returns why changes were not written at the end, and how many. Under SyncAlways, and in a group, nobody was
// told that they were done.
func (s *Store) unwritten() error {
	err, lost := s.diskError(), s.commits.Unsynced()
	switch {
	case err == nil || lost == 0:
		return nil
	case s.member != nil || s.commits.Policy() == SyncAlways:
		return fmt.Errorf("%d changes, which were not acknowledged, are lost: %w", lost, err)
	}
	return &Lost{Changes: lost, Kept: s.files.Tail != nil && !s.files.Tail.Broken() && s.commits.Journal.Exposed() <= s.commits.Synced(), Reason: err}
}

// tidy empties the journal before an orderly end, if there is time, for a quick
// Open. Nothing depends on it.
func (s *Store) tidy() {
	if s.opts.InMemory || s.commits.Length.Bytes() < tidyFrom || s.DiskError() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tidyBudget)
	defer cancel()
	if err := s.passes.Materialise(ctx); err != nil {
		s.opts.Logf(LevelDebug, "the journal is not empty at the end: %v", err)
	}
}
