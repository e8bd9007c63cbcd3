package writeback

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/persistence/format"
)

// A mark tells of a shard up to which record the heads on disk contain what was
// done to its keys: a replay passes these over. The writeback writes it in the
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
func (w *Writer) mark(shard int, lsn uint64) {
	m := &w.pass
	sh := &w.keyspace.Shard[shard]
	sh.Mu.Lock()
	m.newest = w.host.Contained(shard)
	sh.Mu.Unlock()
	m.marks = append(m.marks, shardMark{shard, lsn})
}

// writeMarks adds the marks to the batch.
func (w *Writer) writeMarks() error {
	var lsn [8]byte
	for _, k := range w.pass.marks {
		binary.LittleEndian.PutUint64(lsn[:], k.lsn)
		if err := w.pass.batch.Set(format.AppendMarkKey(nil, k.shard), lsn[:], nil); err != nil {
			return fmt.Errorf("write mark: %w", err)
		}
	}
	w.pass.marks = w.pass.marks[:0]
	return nil
}
