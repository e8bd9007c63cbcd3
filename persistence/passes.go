package persistence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/sweep"
	"github.com/vigildb/vigil/persistence/tasks"
	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures"
)

// A pass of the writeback cuts the journal at record S, visits all slots that are dirty, and removes the chunks up to S when all
// are written: a slot that some record up to S changed is either still dirty when the pass reaches it or was written since.

const pollInterval = 250 * time.Millisecond

// writerHost is the store as the writeback sees it.
type writerHost struct{ s *Store }

// Contained implements writeback.Host: within a replay shards are at different records.
func (h writerHost) Contained(shard int) uint64 {
	if lsn := h.s.keyspace.Shard[shard].Contains; lsn != 0 {
		return lsn
	}
	return h.s.commits.Journal.Newest()
}

func (h writerHost) AwaitSync(lsn uint64) error                  { return h.s.commits.AwaitSync(lsn) }
func (h writerHost) Seal(b *pebble.Batch, lsn uint64) error      { return h.s.seal(b, lsn) }
func (h writerHost) Written(v structures.Value) structures.Value { return h.s.written(v) }
func (h writerHost) Unforced() bool                              { return !h.s.replay.Served() }
func (h writerHost) Trimmed() uint64                             { return h.s.trimmed.Load() }
func (h writerHost) Space() (free, total uint64)                 { return h.s.reserve.Space() }

// Bound implements writeback.Host: MaxMemory if values spill.
func (h writerHost) Bound() int64 {
	if Policy(h.s.policy.Load()) != PolicySpill {
		return 0
	}
	return h.s.maxMemory.Load()
}

// initWriter makes the writeback, and what looks for expired keys and flushed databases. They do nothing before the disk is there.
func (s *Store) initWriter() {
	s.writer.Init(writeback.Config{
		Host: writerHost{s}, Operator: operatorLog{s}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Keys: &s.keys, Journal: &s.commits.Journal, Log: &s.commits.Length,
		Expiries: &s.expiries, Now: s.opts.Now,
		BatchBytes: s.opts.BatchBytes, JournalBound: s.opts.JournalBound, LargeBytes: s.opts.LargeBytes,
	})
	s.heads.Config = heads.Config{Disk: &s.files.Disk, Keyspace: &s.keyspace, Writer: &s.writer, Values: &s.keys.Values}
	s.warmer.WarmConfig = heads.WarmConfig{Heads: &s.heads, Touch: func() uint64 { return s.uses.ClockAt(s.opts.Now()) },
		Warn: func(err error) { s.opts.Logf(LevelError, "%v", err) },
		Stops: func() bool {
			bound := s.bound.Load()
			return s.passes.Err() != nil || bound > 0 && s.keyspace.Memory.Load() >= bound-bound/8
		}}
	s.purger.Config = purge.Config{Host: writerHost{s}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Writer: &s.writer, Clock: &s.expiries}
	s.sweeper.Init(sweep.Config{
		Host: sweepHost{s}, Operator: operatorLog{s}, Disk: &s.files.Disk, Keyspace: &s.keyspace, Keys: &s.keys, Clock: &s.expiries,
	})
}

// materialiseTask makes the task that runs passes when they are due.
func (s *Store) materialiseTask() *tasks.Work {
	l := &lull{lsn: s.commits.Journal.Newest(), since: s.opts.Now()}
	return &tasks.Work{Name: "materialise", Wake: s.writer.Wake(), Period: pollInterval,
		Step: func(bool) { s.materialiseStep(l) }}
}

// lull is since when nothing has been written.
type lull struct {
	lsn   uint64 // the newest record then
	since int64  // unix ms
}

// lasts is how long nothing has been written, in milliseconds, when lsn is the
// newest record.
func (l *lull) lasts(lsn uint64, now int64) int64 {
	if lsn != l.lsn {
		l.lsn, l.since = lsn, now
	}
	return now - l.since
}

// materialiseStep makes a pass if one is due.
func (s *Store) materialiseStep(l *lull) {
	if s.files.Disk.Err() != nil || s.passes.Err() != nil {
		return
	}
	if s.keyspace.Tear.Failure() != nil && s.member == nil {
		s.remake()
	}
	if err := s.purger.Run(); err != nil && err != keyspace.ErrTorn && s.passes.Err() == nil {
		s.report(LevelError, "purge", fmt.Errorf("remove flushed databases: %w", err))
	}
	if s.reserve.Tight() {
		s.freeRoom()
		return
	}
	quiet := l.lasts(s.commits.Journal.Newest(), s.opts.Now())
	size := s.commits.Length.Bytes()
	idle := s.opts.IdleAfter > 0 && size > 0 && quiet >= s.opts.IdleAfter.Milliseconds()
	if size <= s.writer.JournalBound() && !s.writer.Asked() && !idle {
		return
	}
	err := s.Materialise(s.passes)
	if err == nil && idle {
		// For a while little will come: memtables give their memory back, and so do
		// pages in the cache of files that are deleted, as soon as a table says so.
		_, err = s.files.Disk.Flush()
		s.commits.Journal.RestTail()
	}
	if err != nil && !errors.Is(err, keyspace.ErrTorn) && s.passes.Err() == nil {
		s.report(LevelError, "materialise", fmt.Errorf("materialise: %w", err))
	}
}

// Materialise writes every change made before the call under its own key and
// cuts the journal. The error is ctx's or that of the disk; what was not
// written stays in the journal.
func (s *Store) Materialise(ctx context.Context) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	if err := s.purger.RunLocked(); err != nil {
		return err
	}
	last := s.commits.Journal.Cut()
	if err := s.writer.Write(ctx); err != nil {
		return err
	}
	return s.trim(last)
}

// trim removes the chunks up to last from the journal, and notes the databases and the
// texts as they are, so that no record before is needed to know them.
func (s *Store) trim(last journal.Position) error {
	if last.LSN == s.trimmed.Load() {
		return nil
	}
	changed := s.takeTexts() // before the newest record is looked up, which has to be on the device
	if planted == overcutJournal {
		last = s.commits.Journal.Cut()
	}
	if err := s.cut(last, changed); err != nil {
		s.keepTexts(changed)
		return fmt.Errorf("cut journal: %w", err)
	}
	s.trimmed.Store(last.LSN)
	s.commits.Length.Cut(last.LSN)
	if err := s.files.Trim(); err != nil {
		return err
	}
	return s.member.CutTail(last.LSN)
}

// cut writes that the journal begins behind last.
func (s *Store) cut(last journal.Position, texts catalog.Changes) error {
	sh := &s.keyspace.Shard[0]
	if !s.keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	m := s.files.Meta
	m.Phys = append([]uint32(nil), m.Phys...)
	m.Replicated, m.Arrived = s.origin.get() // of records up to last at least
	m.Mapped = s.commits.Journal.Newest()
	sh.Mu.Unlock()
	if err := s.commits.AwaitSync(m.Mapped); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	m.Trimmed = s.member.InLog(last)
	return s.files.Cut(m, s.commits.Length.File(last.LSN), func(b *pebble.Batch) error { return errors.Join(texts.Write(b), s.seal(b, m.Mapped)) })
}
