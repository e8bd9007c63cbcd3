package persistence

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/catalog"
	"github.com/vigildb/vigil/persistence/expiry"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// The materialiser writes changed values under their own keys, each once however
// often it changed, and then cuts the journal. It is lazy: it runs when the
// journal has grown to its bound, when nothing is written for a while, or when
// memory must be freed. A pass cuts the journal at record S, visits all slots
// that are dirty, and removes the chunks up to S when all are written: a slot
// that some record up to S changed is either still dirty when the pass reaches it
// or was written since.
//
// What it writes it encodes under the lock of the shard, some dozens of values at
// a time, and commits in batches under no lock. Before a batch is committed, the device
// must have the journal up to the newest record that the batch contains; else a
// crash could leave half a transaction. Until it is committed its slots
// stay in memory, tombstones too.
type materialiser struct {
	wake chan struct{} // capacity 1: one token says that something may be due
	// starved: memory is short and nothing clean was found to be dropped.
	starved atomic.Bool
	// pressed: changed pages of large values are to be written, to leave memory.
	pressed atomic.Bool
	// lapped is the laps of the value that is being encoded in parts.
	lapped atomic.Int64
	// commits counts the batches that are on disk, with all that was staged for them.
	commits atomic.Uint64
	// staging: some pages may be staged.
	staging atomic.Bool

	pass struct { // held for a whole pass
		sync.Mutex
		batch   *pebble.Batch
		tables  []tableBatch
		marks   []shardMark // for the batch
		newest  uint64      // last record that the batch may contain, or depend on
		segment uint64      // with which the log begins
		reached uint64      // newest record that anything in Pebble may hold
		bound   int         // bytes of a batch after which it is committed
		parts   parts
		stage   stage

		now      int64         // when the batch was opened
		expiries expiry.Lists  // of the heads in it
		listed   []expiry.List // those that the batch has already
	}
}

// tableBatch is the part of a batch that belongs to one table.
type tableBatch struct {
	shard   int
	t       *keyspace.Table
	deletes bool // it deletes keys
}

const (
	holdValues   = 64        // values encoded in one hold of a lock
	yieldHolds   = 8         // holds after which others get the processor
	holdBytes    = 256 << 10 // bytes encoded in one hold
	holdSlots    = 32 << 10  // slots looked at in one hold
	pollInterval = 250 * time.Millisecond
)

func (m *materialiser) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// materialiseTask makes the task that runs passes when they are due.
func (s *Store) materialiseTask() *task {
	l := &lull{lsn: s.journal.Newest(), since: s.opts.Now()}
	return &task{name: "materialise", wake: s.materialiser.wake, period: pollInterval,
		step: func(bool) { s.materialiseStep(l) }}
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
	if s.disk.Err() != nil || s.passes.Err() != nil {
		return
	}
	if s.keyspace.Tear.Failure() != nil && s.member == nil {
		s.remake()
	}
	if err := s.purgeFlushed(); err != nil && err != keyspace.ErrTorn && s.passes.Err() == nil {
		s.report(LevelError, "purge", fmt.Errorf("remove flushed databases: %w", err))
	}
	if s.reserve.Tight() {
		s.freeRoom()
		return
	}
	quiet := l.lasts(s.journal.Newest(), s.opts.Now())
	size := s.log.Bytes()
	idle := s.opts.IdleAfter > 0 && size > 0 && quiet >= s.opts.IdleAfter.Milliseconds()
	if size <= s.journalBound() && !s.materialiser.starved.Load() && !s.materialiser.pressed.Load() && !idle {
		return
	}
	err := s.Materialise(s.passes)
	if err == nil && idle {
		// For a while little will come: memtables give their memory back, and so do
		// pages in the cache of files that are deleted, as soon as a table says so.
		_, err = s.disk.Flush()
	}
	if err != nil && !errors.Is(err, keyspace.ErrTorn) && s.passes.Err() == nil {
		s.report(LevelError, "materialise", fmt.Errorf("materialise: %w", err))
	}
}

// journalBound is the size of the journal from which on a pass is due. While values may
// be larger than memory what is to be written of them, which cannot leave it, is
// to be a small part.
func (s *Store) journalBound() int64 {
	if bound := s.spillBound(); s.crowding(bound) {
		return min(s.opts.JournalBound, bound/8)
	}
	return s.journalLength(s.log.Bytes())
}

const (
	// recordCost is how many bytes of a long record a start replays in the time that each record costs by itself:
	// 300 ns, at 1.1 ns for a byte.
	recordCost = 270.0
	// shortRecord is the size in bytes of the records that Options.JournalBound is meant for.
	shortRecord = 80.0
	// mostLength is how many times longer the journal may get than Options.JournalBound, and freePart
	// the part of what is free on the disk that it then may have.
	mostLength, freePart = 4, 8
)

// journalLength is how long a journal of so many bytes may get. A start has to replay it, which for long records takes
// less time a byte: so there may be more of them, and a value that is written over again and again is materialised
// less often.
func (s *Store) journalLength(bytes int64) int64 {
	free, total := s.Space()
	return s.journalLengthOn(bytes, free, total)
}

// journalLengthOn is journalLength on a disk of total bytes, 0 if that is not known.
func (s *Store) journalLengthOn(bytes int64, free, total uint64) int64 {
	short := s.opts.JournalBound
	records := int64(s.journal.Newest() - s.trimmed.Load())
	if bytes < short || records <= 0 {
		return short
	}
	// records*recordCost + bytes, in proportion for the length in place of bytes, is to be as much as for short records.
	cost := float64(records)/float64(bytes)*recordCost + 1
	length := min(int64(float64(short)*(recordCost/shortRecord+1)/cost), mostLength*short)
	if total > 0 {
		length = min(length, int64(free/freePart))
	}
	return max(short, length)
}

// Materialise writes every change made before the call under its own key and
// cuts the journal. The error is ctx's or that of the disk; what was not
// written stays in the journal.
func (s *Store) Materialise(ctx context.Context) error {
	m := &s.materialiser.pass
	m.Lock()
	defer m.Unlock()
	if err := s.purge(); err != nil {
		return err
	}
	last := s.journal.Cut()
	for i := range s.keyspace.Shard {
		switch err := s.materialiseShard(ctx, i); {
		case err == keyspace.ErrTorn:
			return err // the batch may lack parts of a value, and is dropped
		case err != nil:
			return errors.Join(err, s.commit())
		}
	}
	if err := s.commit(); err != nil {
		return err
	}
	return s.trim(last)
}

// materialiseShard writes what is dirty in the tables that a shard has now; a
// table that comes later holds only later changes.
func (s *Store) materialiseShard(ctx context.Context, i int) error {
	sh := &s.keyspace.Shard[i]
	if !s.keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	since := s.contained(i)
	var tables []*keyspace.Table
	for _, t := range sh.Tables {
		if t != nil && t.Dirty > 0 {
			tables = append(tables, t)
		}
	}
	sh.Mu.Unlock()
	for _, t := range tables {
		cursor, more := uint64(i)<<56, true
		for holds := 1; more; holds++ {
			if holds%yieldHolds == 0 {
				// Else the scheduler takes the processor away after 10 ms, likely
				// within a hold, and all clients wait for this shard until it is
				// released: SETs of others took up to 70 ms, now 30.
				runtime.Gosched()
			}
			if s.materialiser.pass.parts.open {
				runtime.Gosched()
			} else if err := ctx.Err(); err != nil {
				return err
			}
			s.openBatch()
			if !s.keyspace.LockSound(sh) {
				return keyspace.ErrTorn
			}
			cursor, more = s.encodeSome(i, t, cursor)
			s.keyspace.UnlockShard(sh)
			s.joinParts()
			s.shedStaged()
			if s.materialiser.pass.parts.open {
				continue
			}
			s.materialiser.lapped.Store(0)
			if m := &s.materialiser.pass; m.batch != nil && (m.batch.Len() >= m.bound || m.stage.used) {
				if err := s.commit(); err != nil {
					return err
				}
			}
		}
	}
	s.mark(i, since)
	return nil
}

// openBatch makes a batch if there is none; providing its memory takes longer
// than a lock should be held.
func (s *Store) openBatch() {
	if m := &s.materialiser.pass; m.batch == nil {
		m.batch = s.disk.DB.NewBatchWithSize(m.bound + holdBytes*2)
		m.now = s.opts.Now()
	}
	if m := &s.materialiser.pass; m.parts.batch == nil {
		m.parts.batch = s.disk.DB.NewBatchWithSize(1 << 20)
	}
}

// encodeSome adds dirty slots from hash cursor on to the batch and returns
// where to go on. The lock of the shard is held.
func (s *Store) encodeSome(shard int, t *keyspace.Table, cursor uint64) (next uint64, more bool) {
	if t.Dropped || t.Dirty == 0 {
		s.abandonParts(t)
		return 0, false
	}
	m := &s.materialiser.pass
	m.newest = s.contained(shard)
	m.parts.open = false
	f := s.addTable(shard, t, cursor)
	start, values := m.batch.Len(), 0
	defer func() { s.stats.materialised.Add(int64(values)) }()
	from := t.Seek(cursor)
	for i := from; i < t.Places(); i++ {
		meta := t.Meta(i)
		hash := t.HashAt(i)
		if values >= holdValues || m.batch.Len()+m.parts.batch.Len()-start >= holdBytes || i-from >= holdSlots {
			// Slots of one hash stay together.
			if meta != 0 && hash > t.BatchHigh {
				return hash, true
			}
		}
		if meta == 0 {
			continue
		}
		t.BatchTo(hash)
		if meta&keyspace.Dirty == 0 {
			continue
		}
		values++
		if meta&keyspace.Tombstone != 0 {
			f.deletes = true
			s.encodeDeletion(t, i)
		} else if s.encodePart(t, i) {
			return hash, true
		} else {
			s.encodeValue(t, i)
		}
	}
	t.BatchTo(uint64(shard)<<56 | (1<<56 - 1))
	return 0, false
}

// addTable returns the part of a table in the current batch, which begins at hash if there is none yet.
func (s *Store) addTable(shard int, t *keyspace.Table, hash uint64) *tableBatch {
	m := &s.materialiser.pass
	t.Epoch++
	if n := len(m.tables); n > 0 && m.tables[n-1].t == t {
		return &m.tables[n-1]
	}
	t.BeginBatch(hash)
	m.tables = append(m.tables, tableBatch{shard: shard, t: t})
	return &m.tables[len(m.tables)-1]
}

// commit commits the batch and lets its slots leave memory. If it cannot, the batch
// waits for the next attempt and its slots stay in memory.
func (s *Store) commit() error {
	if err := s.commitBatch(); err != nil {
		return err
	}
	s.materialiser.commits.Add(1)
	m := &s.materialiser.pass
	m.parts.of, m.parts.staged = nil, m.parts.staged[:0]
	for _, f := range m.tables {
		sh := &s.keyspace.Shard[f.shard]
		sh.Mu.Lock()
		if f.deletes && !f.t.Dropped && !s.keyspace.Tear.Torn() {
			f.t.Purge()
		}
		f.t.EndBatch()
		s.keyspace.UnlockShard(sh)
	}
	m.tables = m.tables[:0]
	s.materialiser.starved.Store(false)
	s.materialiser.pressed.Store(false)
	s.paging.futile.Store(false)
	return nil
}

// commitBatch commits the batch with the counts of the keys that are on disk
// then.
func (s *Store) commitBatch() error {
	m := &s.materialiser.pass
	if err := s.move(); err != nil || m.batch == nil {
		return err
	}
	if err := s.awaitSync(m.newest); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	var count [8]byte
	for _, f := range m.tables {
		binary.LittleEndian.PutUint64(count[:], uint64(f.t.Disk))
		if err := m.batch.Set(format.AppendCountKey(nil, f.t.Phys, f.shard), count[:], nil); err != nil {
			return fmt.Errorf("write count: %w", err)
		}
	}
	if err := errors.Join(s.materialiser.writeMarks(), s.reach(m.batch, m.newest), s.member.rest(m.batch)); err != nil {
		return err
	}
	lists, err := m.expiries.Write(m.batch, &s.keys)
	if err != nil {
		return err
	}
	m.listed = append(m.listed, lists...)
	if m.stage.used {
		if err := m.batch.Set(format.AppendStagedKey(nil), nil, nil); err != nil {
			return fmt.Errorf("write values: %w", err)
		}
	}
	repr := m.batch.Repr()
	mode := pebble.Sync
	if !s.loading.done.Load() {
		mode = pebble.NoSync // see replay_room.go
	}
	if err := s.disk.Apply(m.batch, mode); err != nil {
		// A batch can be committed once only: the next attempt has a copy.
		m.batch = s.disk.DB.NewBatch()
		return errors.Join(fmt.Errorf("write values: %w", err), m.batch.SetRepr(append([]byte(nil), repr...)))
	}
	m.batch = nil
	s.expiries.Note(m.listed)
	m.listed = m.listed[:0]
	m.stage.moves = m.stage.used
	m.stage.off = false
	return s.move()
}

// trim removes the chunks up to last from the journal, and notes the databases and the
// texts as they are, so that no record before is needed to know them.
func (s *Store) trim(last journal.Position) error {
	if last.LSN == s.trimmed.Load() {
		return nil
	}
	changed := s.takeTexts() // before the newest record is looked up, which has to be on the device
	if planted == overcutJournal {
		last = s.journal.Cut()
	}
	if err := s.cut(last, changed); err != nil {
		s.keepTexts(changed)
		return fmt.Errorf("cut journal: %w", err)
	}
	s.trimmed.Store(last.LSN)
	s.log.Cut(last.LSN)
	if s.chunks != nil {
		if err := s.chunks.Trim(s.materialiser.pass.segment); err != nil {
			return fmt.Errorf("drop files of the log: %w", err)
		}
	}
	return s.member.cutTail(last.LSN)
}

// cut writes that the journal begins behind last.
func (s *Store) cut(last journal.Position, texts catalog.Changes) error {
	sh := &s.keyspace.Shard[0]
	if !s.keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	m := s.mapping
	m.Phys = append([]uint32(nil), m.Phys...)
	m.Replicated, m.Arrived = s.origin.get() // of records up to last at least
	m.Mapped = s.journal.Newest()
	sh.Mu.Unlock()
	if err := s.awaitSync(m.Mapped); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	segment := max(s.materialiser.pass.segment, s.log.File(last.LSN))
	m.Trimmed, m.Segment = s.member.inLog(last), segment
	b := s.disk.DB.NewBatch()
	err := errors.Join(
		b.Set(format.AppendMetaKey(nil), m.Append(nil), nil),
		texts.Write(b),
		s.reach(b, m.Mapped),
		s.member.rest(b),
		s.disk.Apply(b, pebble.Sync))
	if err == nil {
		s.materialiser.pass.segment = segment
	}
	return err
}
