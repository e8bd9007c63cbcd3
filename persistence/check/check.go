package check

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/lsm"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures"
)

// ErrNoStore is returned by Run for a directory without a store.
var ErrNoStore = errors.New("persistence: there is no store in the directory")

// Options say what is checked.
type Options struct {
	Dir string // of the store, or of a snapshot
	FS  vfs.FS // nil is the operating system's
	// Warn receives what an operator should know, besides the report; nil discards it.
	Warn func(format string, args ...any)
}

// Report is what Run found.
type Report struct {
	Tables, TableBytes int64
	Logs, LogBytes     int64 // Pebble's, and the segments of the store's own
	// Keys counts the heads by logical database and kind, as they are in the
	// object store: the journal comes on top.
	Keys       map[KeyClass]int64
	Pages      int64
	Bytes      int64 // of heads and pages
	Flushed    int64 // heads of databases that were flushed and are not removed yet
	Libraries  int64 // of functions, as they are in the object store
	Users      int64 // likewise
	Directives int64 // of a group, likewise
	Moves      int64 // of slots, likewise
	Chunks     int64
	Records    uint64           // in the journal
	Last       uint64           // number of the last record
	Origin     *snapshot.Origin // what a snapshot of a member of a group says of itself
	Damage     []string
	Unlisted   int // damage beyond maxListed
}

// KeyClass is what Report counts keys by.
type KeyClass struct {
	DB   int
	Kind structures.Kind
}

// maxListed bounds Report.Damage.
const maxListed = 100

func (r *Report) found(format string, args ...any) {
	if len(r.Damage) == maxListed {
		r.Unlisted++
		return
	}
	r.Damage = append(r.Damage, fmt.Sprintf(format, args...))
}

// Sound reports that there is no damage.
func (r *Report) Sound() bool { return len(r.Damage) == 0 }

// Run reads everything in the store in o.Dir, or in a snapshot, and changes
// nothing. It calls progress between steps of some milliseconds; done is the part
// of total that was read. Damage is in the report; the error is [lsm.ErrLocked] for a
// store that a server has open, ErrNoStore, or that of the file system.
func Run(o Options, progress func(what string, done, total int64)) (*Report, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	c := &checker{Options: o, progress: progress, touched: map[uint64]struct{}{}}
	c.report.Keys = map[KeyClass]int64{}
	names, err := o.FS.List(o.Dir)
	if err == nil && !wal.StoreIn(names) {
		err = ErrNoStore
	}
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	lock, err := lsm.LockToRead(o.FS, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	err = errors.Join(c.run(), lock.Close())
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	return &c.report, nil
}

type checker struct {
	Options
	report   Report
	progress func(what string, done, total int64)

	db     *pebble.DB
	synced map[uint64]int64 // of segments, says the mark
	fence  *fence.FS
	meta   format.Meta
	keys   format.Keys
	shards [format.ShardCount]map[uint32]int64 // heads by physical database

	touched  map[uint64]struct{} // hashes of keys that the journal is about
	remapped bool                // the journal changes what databases there are
	// phys are the physical databases of the logical ones at the end of the journal. What others have on disk was flushed, and may
	// be there in part: a pass that was under way leaves what it had not written yet.
	phys   []uint32
	owners expiryOwners
	staged bool // staged pages count
}

// quiet is what Pebble may say: what it finds is in its errors.
type quiet struct{ f *fence.FS }

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

// Fatalf ends the use of the instance, and not the process.
func (q quiet) Fatalf(format string, args ...any) { q.f.Fall(fmt.Errorf("pebble: "+format, args...)) }

// run checks from the outside inwards: files, tables, keys. What is damaged may
// make it impossible to look further.
func (c *checker) run() error {
	r := &c.report
	l, err := wal.Inspect(c.FS, c.Dir, c.Warn)
	if d := wal.AsDamage(err); d != nil {
		r.found("%v", d)
	} else if err != nil {
		return err
	}
	for _, e := range l.Logs {
		r.Logs++
		r.LogBytes += e.End
	}
	c.synced = l.Segments()
	if r.Origin, err = snapshot.ReadOrigin(c.FS, c.Dir); errors.Is(err, format.ErrCorrupt) {
		r.found("%v", err)
	} else if err != nil {
		return err
	}
	c.fence = fence.New(c.FS, c.Dir)
	o := c.pebbleOptions()
	o.ReadOnly = true
	if c.db, err = lsm.Open(c.Dir, o, c.fence, func() bool { return false }); err != nil {
		r.found("the object store cannot be opened: %v", wal.Named(err))
		return nil
	}
	err = c.tables()
	if err == nil {
		err = c.contents()
	}
	return errors.Join(err, lsm.Close(c.Dir, c.db, c.fence))
}

func (c *checker) pebbleOptions() *pebble.Options { return lsm.Options(c.fence, quiet{c.fence}) }

// tables reads every block of every table.
func (c *checker) tables() error {
	levels, err := c.db.SSTables()
	if err != nil {
		return err
	}
	var total int64
	for _, level := range levels {
		for _, t := range level {
			total += int64(t.Size)
		}
	}
	ro := c.pebbleOptions()
	ro.EnsureDefaults()
	for _, level := range levels {
		for _, t := range level {
			name := fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))
			if err := readTable(c.FS, c.FS.PathJoin(c.Dir, name), ro.MakeReaderOptions()); err != nil {
				c.report.found("%s: %v", name, err)
			}
			c.report.Tables++
			c.report.TableBytes += int64(t.Size)
			c.progress("tables", c.report.TableBytes, total)
		}
	}
	return nil
}

func readTable(fsys vfs.FS, path string, o sstable.ReaderOptions) error {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(context.Background(), readable, o) // it closes the file
	if err != nil {
		return err
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}
