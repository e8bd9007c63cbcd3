package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/chunklog"
	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/reserve"
	"github.com/vigildb/vigil/persistence/tail"
	"github.com/vigildb/vigil/persistence/wal"
)

// Operator is the log that an operator reads. Error leaves out what was said of the same kind a short time ago.
type Operator interface {
	Debugf(format string, args ...any)
	Infof(format string, args ...any)
	Warnf(format string, args ...any)
	Error(kind string, err error)
}

// Config says which files these are. All of it belongs to the store.
type Config struct {
	FS       vfs.FS
	Dir      string
	Secret   [16]byte // of a new store
	Grouped  bool     // a new store is a member of a group
	Truncate bool     // a damaged log is cut where the damage begins
	InMemory bool

	OpenFiles     int
	CacheBytes    int64
	MemTableBytes uint64
	SegmentBytes  int64 // length of the files of the log; 0 is 16 MiB, and less in memory and on a small disk
	TailSlots     int   // length of the tail in chunks
	MapTail       func(path string, size int) (tail.Memory, error)
	Boot          [16]byte

	Reserve  *reserve.Reserve
	Operator Operator
	Now      func() int64 // unix time in milliseconds

	// Ctx ends the waits for a disk that does not answer. Closing reports, earlier, that the store is being closed.
	Ctx     context.Context
	Closing func() bool
}

// Files are those of an open store.
type Files struct {
	Config
	Disk     lsm.Disk
	Marked   *wal.FS   // what Pebble writes through
	Lost     *wal.Loss // what Open cut off a damaged log; nil without
	lockFile *pebble.Lock

	// Meta has the physical databases. It is written with all shards locked and read with any.
	Meta  format.Meta
	Marks [format.ShardCount]uint64 // found when the store is opened, for the replay

	Log       *chunklog.Log // nil in a group, whose log has the chunks
	LastChunk journal.Position
	Tail      *tail.Tail // nil in a group, and where there can be none; its calls are the journal's
	segment   uint64     // with which the log begins; guarded by the lock of the writeback
	reached   uint64     // newest record that anything in Pebble may hold; guarded by the lock of the writeback
}

// Init prepares for opening, and touches nothing.
func (f *Files) Init(c Config) {
	f.Config = c
	f.Disk.Init(c.Ctx.Done())
}

// New reports that the store has no meta yet.
func (f *Files) New() (bool, error) {
	key := format.AppendMetaKey(nil)
	some, err := lsm.Any(f.Disk.DB, key, append(key[:len(key):len(key)], 0))
	return !some, err
}

// ReadMeta reads the meta, which of a new store is that of the configuration.
func (f *Files) ReadMeta() (format.Meta, error) {
	return lsm.ReadMeta(f.Disk.DB, format.Meta{Secret: f.Secret, Grouped: f.Grouped})
}

// LoadMeta makes the meta on disk that of the files.
func (f *Files) LoadMeta() (err error) {
	if f.Meta, err = f.ReadMeta(); err == nil {
		f.segment = f.Meta.Segment
	}
	return err
}

// WriteMeta has a meta on the device, with what else add puts into the batch; nil: nothing.
func (f *Files) WriteMeta(m *format.Meta, add func(b *pebble.Batch) error) error {
	b := f.Disk.DB.NewBatch()
	err := b.Set(format.AppendMetaKey(nil), m.Append(nil), nil)
	if err == nil && add != nil {
		err = add(b)
	}
	return errors.Join(err, f.Disk.Apply(b, pebble.Sync))
}

// Cut writes that the journal begins behind m.Trimmed, which is in a segment or a later one, and what add puts into the batch. The
// writeback is locked.
func (f *Files) Cut(m format.Meta, segment uint64, add func(b *pebble.Batch) error) error {
	m.Segment = max(f.segment, segment)
	m.Unmade = m.Unmade && segment == 0 // what is cut off is in a segment, unless memory does not say in which
	err := f.WriteMeta(&m, add)
	if err == nil {
		f.segment, f.Meta.Unmade = m.Segment, m.Unmade
	}
	return err
}

// Trim drops the segments of the log before the last cut.
func (f *Files) Trim() error {
	if f.Log == nil {
		return nil
	}
	if err := f.Log.Trim(f.segment); err != nil {
		return fmt.Errorf("drop files of the log: %w", err)
	}
	return nil
}

// newest is the newest record that anything in Pebble, or the meta, may hold.
func (f *Files) newest() uint64 { return max(f.reached, f.Meta.Trimmed.LSN, f.Meta.Mapped) }

// Failed makes a failure of the log one of the disk: the fence falls.
func (f *Files) Failed(err error) error {
	err = fmt.Errorf("log: %w", err)
	f.Disk.Fence().Fall(err)
	return err
}

// NewFence makes the fence of another instance of Pebble.
func (f *Files) NewFence() *fence.FS {
	n := fence.New(f.Marked, f.Dir)
	n.HoldCompactions(f.Reserve.Holds)
	return n
}

// Close ends Pebble and the mark, and unlocks the directory. The log and the tail are closed before.
func (f *Files) Close() error {
	return errors.Join(lsm.Close(f.Dir, f.Disk.DB, f.Disk.Fence()), f.Marked.Mark.Close(), f.lockFile.Close())
}
