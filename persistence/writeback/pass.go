package writeback

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// tableBatch is the part of a batch that belongs to one table.
type tableBatch struct {
	shard   int
	t       *keyspace.Table
	deletes bool // it deletes keys
}

const (
	holdValues = 64        // values encoded in one hold of a lock
	yieldHolds = 8         // holds after which others get the processor
	holdBytes  = 256 << 10 // bytes encoded in one hold
)

// HoldSlots is how many slots are looked at in one hold of a lock.
const HoldSlots = 32 << 10

// Write writes every value that is dirty. The error is ctx's, that of the disk, or keyspace.ErrTorn: what was not written
// stays dirty. The lock is held.
func (w *Writer) Write(ctx context.Context) error {
	for i := range w.keyspace.Shard {
		switch err := w.WriteShard(ctx, i); {
		case err == keyspace.ErrTorn:
			return err // the batch may lack parts of a value, and is dropped
		case err != nil:
			return errors.Join(err, w.Commit())
		}
	}
	return w.Commit()
}

// WriteShard writes what is dirty in the tables that a shard has now; a
// table that comes later holds only later changes. The lock is held.
func (w *Writer) WriteShard(ctx context.Context, i int) error {
	sh := &w.keyspace.Shard[i]
	if !w.keyspace.LockSound(sh) {
		return keyspace.ErrTorn
	}
	since := w.host.Contained(i)
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
			if w.pass.parts.open {
				runtime.Gosched()
			} else if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if cursor, more, err = w.Step(i, t, cursor); err != nil {
				return err
			}
			if w.pass.parts.open {
				continue
			}
			w.lapped.Store(0)
			if m := &w.pass; m.batch != nil && (m.batch.Len() >= m.sizes.Batch || m.stage.used) {
				if err := w.Commit(); err != nil {
					return err
				}
			}
		}
	}
	w.mark(i, since)
	return nil
}

// Step encodes dirty slots of a table from hash cursor on, as many as in one hold of the lock of its shard, and returns where
// to go on. The error is keyspace.ErrTorn. The lock is held.
func (w *Writer) Step(shard int, t *keyspace.Table, cursor uint64) (next uint64, more bool, err error) {
	w.openBatch()
	sh := &w.keyspace.Shard[shard]
	if !w.keyspace.LockSound(sh) {
		return cursor, true, keyspace.ErrTorn
	}
	next, more = w.encodeSome(shard, t, cursor)
	w.keyspace.UnlockShard(sh)
	w.joinParts()
	w.evictStaged()
	return next, more, nil
}

// WriteLocked writes every value that is dirty while all shards are locked, whose tables are about to go. The lock is held.
func (w *Writer) WriteLocked() error {
	w.openBatch()
	for i := range w.keyspace.Shard {
		for _, t := range w.keyspace.Shard[i].Tables {
			if t == nil {
				continue
			}
			for cursor, more := uint64(i)<<56, true; more; {
				cursor, more = w.encodeSome(i, t, cursor)
				w.joinParts()
			}
		}
	}
	if err := w.commitBatch(); err != nil {
		return err
	}
	w.pass.tables = w.pass.tables[:0]
	return nil
}

// openBatch makes a batch if there is none; providing its memory takes longer
// than a lock should be held.
func (w *Writer) openBatch() {
	if m := &w.pass; m.batch == nil {
		m.batch = w.disk.DB.NewBatchWithSize(m.sizes.Batch + holdBytes*2)
		m.now = w.now()
	}
	if m := &w.pass; m.parts.batch == nil {
		m.parts.batch = w.disk.DB.NewBatchWithSize(1 << 20)
	}
}

// encodeSome adds dirty slots from hash cursor on to the batch and returns
// where to go on. The lock of the shard is held.
func (w *Writer) encodeSome(shard int, t *keyspace.Table, cursor uint64) (next uint64, more bool) {
	if t.Dropped || t.Dirty == 0 {
		w.abandonParts(t)
		return 0, false
	}
	m := &w.pass
	m.newest = w.host.Contained(shard)
	m.parts.open = false
	f := w.addTable(shard, t, cursor)
	start, values := m.batch.Len(), 0
	defer func() { w.Values.Add(int64(values)) }()
	from := t.Seek(cursor)
	for i := from; i < t.Places(); i++ {
		meta := t.Meta(i)
		hash := t.HashAt(i)
		if values >= holdValues || m.batch.Len()+m.parts.batch.Len()-start >= holdBytes || i-from >= HoldSlots {
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
			w.encodeDeletion(t, i)
		} else if w.encodePart(t, i) {
			return hash, true
		} else {
			w.encodeValue(t, i)
		}
	}
	t.BatchTo(uint64(shard)<<56 | (1<<56 - 1))
	return 0, false
}

// addTable returns the part of a table in the current batch, which begins at hash if there is none yet.
func (w *Writer) addTable(shard int, t *keyspace.Table, hash uint64) *tableBatch {
	m := &w.pass
	t.Epoch++
	if n := len(m.tables); n > 0 && m.tables[n-1].t == t {
		return &m.tables[n-1]
	}
	t.BeginBatch(hash)
	m.tables = append(m.tables, tableBatch{shard: shard, t: t})
	return &m.tables[len(m.tables)-1]
}

// Commit commits the batch under way, if there is one, and lets its slots leave memory. If it cannot, the batch
// waits for the next attempt and its slots stay in memory. The lock is held.
func (w *Writer) Commit() error {
	if err := w.commitBatch(); err != nil {
		return err
	}
	w.commits.Add(1)
	m := &w.pass
	m.parts.of, m.parts.staged = nil, m.parts.staged[:0]
	for _, f := range m.tables {
		sh := &w.keyspace.Shard[f.shard]
		sh.Mu.Lock()
		if f.deletes && !f.t.Dropped && !w.keyspace.Tear.Torn() {
			f.t.Purge()
		}
		f.t.EndBatch()
		w.keyspace.UnlockShard(sh)
	}
	m.tables = m.tables[:0]
	w.starved.Store(false)
	w.pressed.Store(false)
	w.pagers.futile.Store(false)
	return nil
}

// commitBatch commits the batch with the counts of the keys that are on disk
// then.
func (w *Writer) commitBatch() error {
	m := &w.pass
	if err := w.move(); err != nil || m.batch == nil {
		return err
	}
	if err := w.host.AwaitSync(m.newest); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	var count [8]byte
	for _, f := range m.tables {
		binary.LittleEndian.PutUint64(count[:], uint64(f.t.Disk))
		if err := m.batch.Set(format.AppendCountKey(nil, f.t.Phys, f.shard), count[:], nil); err != nil {
			return fmt.Errorf("write count: %w", err)
		}
	}
	if err := errors.Join(w.writeMarks(), w.host.Seal(m.batch, m.newest)); err != nil {
		return err
	}
	lists, err := m.expiries.Write(m.batch, w.keys)
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
	if w.host.Unforced() {
		mode = pebble.NoSync
	}
	if err := w.disk.Apply(m.batch, mode); err != nil {
		// A batch can be committed once only: the next attempt has a copy.
		m.batch = w.disk.DB.NewBatch()
		return errors.Join(fmt.Errorf("write values: %w", err), m.batch.SetRepr(append([]byte(nil), repr...)))
	}
	m.batch = nil
	w.expiries.Note(m.listed)
	m.listed = m.listed[:0]
	m.stage.moves = m.stage.used
	m.stage.off = false
	return w.move()
}
