package files

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
)

// Seal adds to a batch that it may hold what records up to one have done: a log that ends before has lost its
// end, and nothing may be cut off it. The writeback is locked.
func (f *Files) Seal(b *pebble.Batch, lsn uint64) error {
	f.reached = max(f.reached, lsn)
	return b.Set(format.AppendNewestKey(nil), binary.LittleEndian.AppendUint64(nil, f.reached), nil)
}

// LoadMarks reads the marks of the last passes.
func (f *Files) LoadMarks() error {
	it, err := f.Disk.DB.NewIter(&pebble.IterOptions{
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
			f.reached = lsn
		} else {
			f.Marks[shard] = lsn
		}
	}
	return errors.Join(it.Error(), it.Close())
}

// CheckMarks refuses a journal that ends with record last although a mark
// refers of a later one.
func (f *Files) CheckMarks(last uint64) error {
	if reached := f.reached; reached > last {
		return fmt.Errorf("the journal ends with record %d, values contain %d: %w", last, reached, format.ErrCorrupt)
	}
	for sh, lsn := range f.Marks {
		if lsn > last {
			return fmt.Errorf("the journal ends with record %d, values of shard %d contain %d: %w", last, sh, lsn, format.ErrCorrupt)
		}
	}
	return nil
}
