package persistence

import (
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/files"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/persistence/writeback"
)

// batchPart is which part of a memtable the writeback's batches are. A batch of half
// a memtable would become one of its own.
const batchPart = 4

// mostTail is the size of the tail: what may wait for the disk before writers are slowed. Pages that
// are in use count as memory: under a small bound on that the tail is one part of tailPart of the bound, and
// leastTailBytes at least, which is what a sync may lack.
const mostTail, leastTailBytes, tailPart = writeback.MaxPending, 4 << 20, 16

// tailSlots is how many slots the tail has.
func (o *Options) tailSlots() int {
	size := int64(mostTail)
	if bound := o.bound(); bound > 0 {
		size = min(max(bound/tailPart, leastTailBytes), mostTail)
	}
	return int(size / files.TailSlot)
}

// systemTail is what Options without a file system of their own have.
func (o *Options) systemTail() {
	if o.MapTail != nil || o.InMemory || o.FS != vfs.Default {
		return
	}
	o.MapTail = tail.Map
	if id, err := tail.BootID(); err == nil {
		o.Boot = id
	}
}

// initFiles describes the files of the store.
func (s opener) initFiles() {
	o := &s.opts
	s.reserve.Init(o.FS, o.Dir, o.Reserve, operatorLog{s.Store})
	s.files.Init(files.Config{
		FS: o.FS, Dir: o.Dir, Secret: o.Secret, Grouped: o.Replicator != nil, Truncate: o.Recover == RecoverTruncate, InMemory: o.InMemory,
		OpenFiles: o.OpenFiles, CacheBytes: o.CacheBytes, MemTableBytes: lsm.MemTableBytes(o.bound()), SegmentBytes: o.SegmentBytes,
		TailSlots: o.tailSlots(), MapTail: o.MapTail, Boot: o.Boot,
		Reserve: &s.reserve, Operator: operatorLog{s.Store}, Now: o.Now, Ctx: s.ctx, Closing: s.closing.Load,
	})
}

// closeLog ends the log. What it has that the device lacks is known to unwritten, if the disk failed.
func (s *Store) closeLog() (err error) {
	switch {
	case s.files.Log != nil:
		err = s.files.Log.Close()
	case s.member != nil:
		err = s.member.CloseLog()
	}
	if s.member == nil && s.commits.Unsynced() == 0 || s.diskError() != nil {
		return nil
	}
	return err
}
