package log

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
)

// Defaults of a Config.
const (
	DefaultSegmentBytes = 16 << 20
	DefaultSpares       = 4
	DefaultMaxUnsynced  = 64 << 20
	DefaultReference    = 64 << 10
)

const (
	minSegmentBytes = 2 * HeadBytes
	maxSegmentBytes = 1 << 30 // offsets that frames claim have 32 bits
)

// Config says where a log is and how it is written. FS, Dir and Store are needed; the rest may be zero.
type Config struct {
	FS    vfs.FS
	Dir   string
	Store StoreID

	// From is where the log begins: the position, of something that was synced, which the caller has
	// recorded durably before it called Trim with it. Segments below need not be there, and are removed
	// if they are. The zero value means that the log begins with the first segment that is found.
	// Whoever calls Trim has to give it: after a power failure files that were removed may be there
	// again, and not all of them.
	From Position
	// Fresh says that the segment of From may not have been made yet: a log without segments from there on
	// begins with it. Segments below are those of a log that was given up.
	Fresh bool
	// Synced is how many bytes of segments are known to be on the device, as recorded by the caller
	// after syncs. A segment that is not mentioned is judged by what the files say.
	Synced map[uint64]int64

	// Head appends to dst what the head of a segment is to say on behalf of the caller, MaxHead bytes
	// at most, and returns it. The segment begins with the frame that has the kind and payload; what
	// Head says must hold before this frame. It is called by Append, and by Repair for frames that were
	// appended before, and must not call the log. A power failure may leave a segment without this frame;
	// the next segment begins with another one then.
	Head func(dst []byte, kind byte, payload [][]byte) []byte

	SegmentBytes int64 // length of segments; DefaultSegmentBytes
	Extend       bool  // files get this length at once: a sync then has no new length to write, which on a disk takes as long as the data
	Spares       int   // how many files are kept to be overwritten; DefaultSpares, negative: none
	MaxUnsynced  int64 // bytes of frames that are kept in memory as they are not synced; DefaultMaxUnsynced
	Reference    int   // bytes from which on a payload is not copied but referred to; DefaultReference
}

// prepare checks a Config and fills in defaults.
func (c *Config) prepare() error {
	if c.FS == nil || c.Dir == "" {
		return errors.New("log: no file system or directory is given")
	}
	if c.SegmentBytes == 0 {
		c.SegmentBytes = DefaultSegmentBytes
	}
	if c.SegmentBytes < minSegmentBytes || c.SegmentBytes > maxSegmentBytes {
		return fmt.Errorf("log: segments of %d bytes, want %d to %d", c.SegmentBytes, minSegmentBytes, maxSegmentBytes)
	}
	if c.Spares == 0 {
		c.Spares = DefaultSpares
	}
	if c.MaxUnsynced <= 0 {
		c.MaxUnsynced = DefaultMaxUnsynced
	}
	if c.Reference <= 0 {
		c.Reference = DefaultReference
	}
	return nil
}

func (c *Config) path(name string) string { return c.FS.PathJoin(c.Dir, name) }

// syncDir forces the names in a directory to the device.
func syncDir(fsys vfs.FS, dir string) error {
	if err := fence.SyncDir(fsys, dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
