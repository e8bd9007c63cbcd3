package passes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/purge"
	"github.com/vigildb/vigil/persistence/replay"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/sweep"
	"github.com/vigildb/vigil/persistence/tasks"
	"github.com/vigildb/vigil/persistence/writeback"
)

const pollInterval = 250 * time.Millisecond

// Group is the group of the store.
type Group interface {
	// InLog returns the position of a record in the log of the group.
	InLog(last journal.Position) journal.Position
	// CutTail drops what the log of the group need not keep of the records up to one.
	CutTail(lsn uint64) error
	// Leave gives up the leadership. The group makes memory anew then.
	Leave()
}

// Operator is the log that an operator reads. Warn and Error leave out what was said of the same kind a short time ago.
type Operator interface {
	Warn(kind string, err error)
	Error(kind string, err error)
}

// Config is what passes work on. All of it belongs to the store.
type Config struct {
	Files     *files.Files
	Commits   *commits.Commits
	Keyspace  *keyspace.Keyspace
	Writer    *writeback.Writer
	Purger    *purge.Purger
	Sweeper   *sweep.Sweeper
	Replayer  *replay.Replayer
	Warmer    *heads.Warmer
	Reserve   *reserve.Reserve
	Operator  Operator
	Group     Group           // nil if the store is alone
	Ctx       context.Context // ends passes that nobody asked for
	Now       func() int64    // unix time in milliseconds
	IdleAfter time.Duration   // how long no write must come before a pass is made early; not above 0: never
	Catalog   func() *catalog.Catalog
	// Load reads what a replay needs of what is on disk: counts, marks and the catalog.
	Load func() error
	// Origin returns whose data the store has, and the record that says so.
	Origin func() (format.Replicated, uint64)
	// Seal adds to a batch that it may hold what records up to one have done.
	Seal func(b *pebble.Batch, lsn uint64) error
}

// Passes are those of a store.
type Passes struct {
	Config
	Trimmed  atomic.Uint64 // last record that was cut off the journal
	remaking sync.Mutex    // of who makes memory anew
}

// Work is the task that runs passes when they are due.
func (s *Passes) Work() *tasks.Work {
	l := &lull{lsn: s.Commits.Journal.Newest(), since: s.Now()}
	return &tasks.Work{Name: "materialise", Wake: s.Writer.Wake(), Period: pollInterval,
		Step: func(bool) { s.step(l) }}
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

// step makes a pass if one is due.
func (s *Passes) step(l *lull) {
	if s.Files.Disk.Err() != nil || s.Ctx.Err() != nil {
		return
	}
	if s.Keyspace.Tear.Failure() != nil && s.Group == nil {
		s.Remake()
	}
	if err := s.Purger.Run(); err != nil && err != keyspace.ErrTorn && s.Ctx.Err() == nil {
		s.Operator.Error("purge", fmt.Errorf("remove flushed databases: %w", err))
	}
	if s.Reserve.Tight() {
		s.freeRoom()
		return
	}
	quiet := l.lasts(s.Commits.Journal.Newest(), s.Now())
	size := s.Commits.Length.Bytes()
	idle := s.IdleAfter > 0 && size > 0 && quiet >= s.IdleAfter.Milliseconds()
	if size <= s.Writer.JournalBound() && !s.Writer.Asked() && !idle {
		return
	}
	err := s.Materialise(s.Ctx)
	if err == nil && idle {
		// For a while little will come: memtables give their memory back, and so do
		// pages in the cache of files that are deleted, as soon as a table says so.
		_, err = s.Files.Disk.Flush()
		s.Commits.Journal.RestTail()
	}
	if err != nil && !errors.Is(err, keyspace.ErrTorn) && s.Ctx.Err() == nil {
		s.Operator.Error("materialise", fmt.Errorf("materialise: %w", err))
	}
}

// Materialise writes every change made before the call under its own key and
// cuts the journal. The error is ctx's or that of the disk; what was not
// written stays in the journal.
func (s *Passes) Materialise(ctx context.Context) error {
	s.Writer.Lock()
	defer s.Writer.Unlock()
	if err := s.Purger.RunLocked(); err != nil {
		return err
	}
	last := s.Commits.Journal.Cut()
	if err := s.Writer.Write(ctx); err != nil {
		return err
	}
	return s.Trim(last)
}

// Trim removes the chunks up to last from the journal, and notes the databases and the
// texts as they are, so that no record before is needed to know them.
func (s *Passes) Trim(last journal.Position) error {
	if last.LSN == s.Trimmed.Load() {
		return nil
	}
	changed := s.takeTexts() // before the newest record is looked up, which has to be on the device
	if planted == overcutJournal {
		last = s.Commits.Journal.Cut()
	}
	if err := s.cut(last, changed); err != nil {
		s.keepTexts(changed)
		return fmt.Errorf("cut journal: %w", err)
	}
	s.Trimmed.Store(last.LSN)
	s.Commits.Length.Cut(last.LSN)
	if err := s.Files.Trim(); err != nil {
		return err
	}
	if s.Group == nil {
		return nil
	}
	return s.Group.CutTail(last.LSN)
}

// cut writes that the journal begins behind last.
func (s *Passes) cut(last journal.Position, texts catalog.Changes) error {
	sh := &s.Keyspace.Shard[0]
	if !s.Keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	m := s.Files.Meta
	m.Phys = append([]uint32(nil), m.Phys...)
	m.Replicated, m.Arrived = s.Origin() // of records up to last at least
	m.Mapped = s.Commits.Journal.Newest()
	sh.Mu.Unlock()
	if err := s.Commits.AwaitSync(m.Mapped); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	m.Trimmed = last
	if s.Group != nil {
		m.Trimmed = s.Group.InLog(last)
	}
	return s.Files.Cut(m, s.Commits.Length.File(last.LSN), func(b *pebble.Batch) error { return errors.Join(texts.Write(b), s.Seal(b, m.Mapped)) })
}

// freeRoom makes a pass of a tight store, if something was deleted since the last one: what is deleted takes
// room until the journal is cut and Pebble has tables that say so. A pass that has to write more than
// half of what is free would only fill the disk: it waits for more deletions.
func (s *Passes) freeRoom() {
	if !s.Reserve.HasFreed() {
		return
	}
	usage, known := s.Reserve.Look()
	if write := min(s.Commits.Length.Bytes(), s.Keyspace.Memory.Load()); known && write > int64(usage.AvailBytes/2) {
		s.Operator.Warn("free room", fmt.Errorf("deletions free room when %d bytes of values are written, which takes twice as many, and %d are free: "+
			"delete more, or make room", write, usage.AvailBytes))
		return
	}
	s.Reserve.Passes()
	err := s.Materialise(s.Ctx)
	if err == nil {
		_, err = s.Files.Disk.Flush()
	}
	if err == nil {
		s.Reserve.Passed()
		return
	}
	if s.Ctx.Err() == nil {
		s.Operator.Error("materialise", fmt.Errorf("free room: %w", err))
	}
}

// takeTexts returns which texts are to be written.
func (s *Passes) takeTexts() catalog.Changes {
	sh := &s.Keyspace.Shard[keyspace.TextShard]
	if !s.Keyspace.LockSound(sh) {
		return nil // the journal is not cut
	}
	defer sh.Mu.Unlock()
	return s.Catalog().Take()
}

// keepTexts is called when what takeTexts returned could not be written.
func (s *Passes) keepTexts(changed catalog.Changes) {
	sh := &s.Keyspace.Shard[keyspace.TextShard]
	sh.Mu.Lock()
	defer sh.Mu.Unlock()
	changed.Keep()
}
