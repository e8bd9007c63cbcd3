package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
)

// seal adds to a batch that it may hold what records up to one have done: a log that ends before has lost its
// end, and nothing may be cut off it. A member adds that what the batch has may be all that is committed. The writeback is locked.
func (s *Store) seal(b *pebble.Batch, lsn uint64) error {
	if s.chunks == nil {
		return s.member.Rest(b)
	}
	s.reached = max(s.reached, lsn)
	return setNewest(b, s.reached)
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
			s.reached = lsn
		} else {
			s.marks[shard] = lsn
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// checkMarks refuses a journal that ends with record last although a mark
// refers of a later one.
func (s *Store) checkMarks(last uint64) error {
	if reached := s.reached; reached > last {
		return fmt.Errorf("the journal ends with record %d, values contain %d: %w", last, reached, ErrCorrupt)
	}
	for sh, lsn := range s.marks {
		if lsn > last {
			return fmt.Errorf("the journal ends with record %d, values of shard %d contain %d: %w", last, sh, lsn, ErrCorrupt)
		}
	}
	return nil
}
