package member

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/storelog"
	"github.com/vigildb/vigil/persistence/tail"
)

// Host is what a member asks of its store.
type Host interface {
	// Live returns what applies entries to memory, from where that ends.
	Live() Applier
	// HoldStill keeps everything from memory and disk: clients, passes and what looks for expired keys. It waits for what is
	// under way, and returns what ends it.
	HoldStill() (end func())
	// Remake forgets memory and makes it anew of the disk, up to what is committed. Everything is held still.
	Remake() error
	// Rewarm begins again to read values from the disk.
	Rewarm()
	// AnyKeys reports whether a database from one on has a key. Everything is held still.
	AnyKeys(from int) bool
	// Meta is what the store says of itself. It is written with everything held still.
	Meta() *format.Meta
	// Trimmed notes up to which record the journal is cut.
	Trimmed(lsn uint64)
	// Grown says that the log has grown: values may be due to be written.
	Grown()
	// LogConfig describes the log.
	LogConfig() storelog.Config
	// Options are those of the instance of Pebble.
	Options() *pebble.Options
	// Kept returns what a process that was killed has left in the tail, and whether that is all since the machine was booted.
	Kept() (chunks []tail.Chunk, whole bool, err error)
	// DropKept removes the tail, if there is one.
	DropKept()
	// Deposed says that the member does not lead any more. All shards are locked.
	Deposed()
	// Failed makes the store continue as after any failure of the disk, and returns the error.
	Failed(err error) error
}

// Applier applies the entries of the log of a group to memory, one after the other.
type Applier interface {
	// Apply applies an entry of records, which is a chunk. After an error it may be applied in part.
	Apply(index uint64, chunk []byte) error
	// Skip passes over an entry that has none.
	Skip(index uint64)
}

// Log is what an operator reads.
type Log interface {
	Infof(format string, args ...any)
	Error(kind string, err error)
	Debug(kind string, err error)
}

var (
	// ErrMember is returned for a store that was made in a group and is to be alone, or the other way around.
	ErrMember = errors.New("persistence: store was made otherwise")
	// ErrNotLeader is returned for changes of a member that does not lead its group.
	ErrNotLeader = errors.New("persistence: another member leads the group")
	// ErrClosed is returned by calls that need the disk after Close.
	ErrClosed = journal.ErrClosed
)
