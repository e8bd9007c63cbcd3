package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
)

// A mark tells of a shard up to which record the heads on disk contain what was
// done to its keys: a replay passes these over. The materialiser writes it in the
// batch with the last of the values that were dirty when it came to the shard, so a
// pass that was cut short has not been for nothing. Records up to the mark may be
// missing from the journal, later ones are all there.
//
// A value that a later record changed, deleted or flushed before the pass reached it
// was not written for the mark's sake: so that later record must be on the device
// before the mark is written.

// shardMark is a mark on its way to the disk.
type shardMark struct {
	shard int
	lsn   uint64 // the newest record when the pass came to the shard
}

// mark notes that the pass has written all that was dirty in a shard when lsn was
// the newest record.
func (s *Store) mark(shard int, lsn uint64) {
	m := &s.materialiser.pass
	sh := &s.keyspace.Shard[shard]
	sh.Mu.Lock()
	m.newest = s.contained(shard)
	sh.Mu.Unlock()
	m.marks = append(m.marks, shardMark{shard, lsn})
}

// writeMarks adds the marks to the batch.
func (m *materialiser) writeMarks() error {
	var lsn [8]byte
	for _, k := range m.pass.marks {
		binary.LittleEndian.PutUint64(lsn[:], k.lsn)
		if err := m.pass.batch.Set(format.AppendMarkKey(nil, k.shard), lsn[:], nil); err != nil {
			return fmt.Errorf("write mark: %w", err)
		}
	}
	m.pass.marks = m.pass.marks[:0]
	return nil
}

// reach adds to a batch that it may hold what records up to one have done: a log that ends before has lost its
// end, and nothing may be cut off it. The pass is locked.
func (s *Store) reach(b *pebble.Batch, lsn uint64) error {
	if s.chunks == nil {
		return nil
	}
	m := &s.materialiser.pass
	m.reached = max(m.reached, lsn)
	return setNewest(b, m.reached)
}

func setNewest(b *pebble.Batch, lsn uint64) error {
	return b.Set(format.AppendNewestKey(nil), binary.LittleEndian.AppendUint64(nil, lsn), nil)
}

// loadMarks reads the marks of the last passes.
func (s *Store) loadMarks() error {
	it, err := s.disk.DB.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixMark), UpperBound: format.AppendGroupEnd(nil, format.PrefixMark)})
	if err != nil {
		return fmt.Errorf("read marks: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		shard, lsn, err := format.DecodeMark(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		if shard == format.Everything {
			s.materialiser.pass.reached = lsn
		} else {
			s.marks[shard] = lsn
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// checkMarks refuses a journal that ends with record last although a mark
// refers of a later one.
func (s *Store) checkMarks(last uint64) error {
	if reached := s.materialiser.pass.reached; reached > last {
		return fmt.Errorf("the journal ends with record %d, values contain %d: %w", last, reached, ErrCorrupt)
	}
	for sh, lsn := range s.marks {
		if lsn > last {
			return fmt.Errorf("the journal ends with record %d, values of shard %d contain %d: %w", last, sh, lsn, ErrCorrupt)
		}
	}
	return nil
}
