package persistence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/persistence/wal"
	"github.com/vigildb/vigil/structures"
)

// ErrNoStore is returned by Check for a directory without a store.
var ErrNoStore = errors.New("persistence: there is no store in the directory")

// Report is what Check found.
type Report struct {
	Tables, TableBytes int64
	Logs, LogBytes     int64
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

// Check reads everything in the store in o.Dir, or in a snapshot, and changes
// nothing. It calls progress between steps of some milliseconds; done is the part
// of total that was read. Damage is in the report; the error is ErrLocked for a
// store that a server has open, ErrNoStore, or that of the file system.
func Check(o Options, progress func(what string, done, total int64)) (*Report, error) {
	o = o.withDefaults()
	c := &checker{s: &Store{opts: o}, progress: progress, touched: map[uint64]struct{}{}}
	c.s.ctx, c.s.cancel = context.WithCancel(context.Background())
	defer c.s.cancel()
	c.s.durable.Init()
	c.report.Keys = map[KeyClass]int64{}
	names, err := o.FS.List(o.Dir)
	if err == nil && !wal.StoreIn(names) {
		err = ErrNoStore
	}
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	lock, err := lockToRead(o.FS, o.Dir)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	c.s.lockFile = lock
	err = errors.Join(c.run(), lock.Close())
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", o.Dir, err)
	}
	return &c.report, nil
}

// lockToRead locks a store without making a file. Where there is no lock file, as
// in a snapshot, or it cannot be written, no process has the store open.
func lockToRead(fsys vfs.FS, dir string) (*pebble.Lock, error) {
	if _, err := fsys.Stat(fsys.PathJoin(dir, "LOCK")); err == nil {
		lock, err := pebble.LockDirectory(dir, fsys)
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, syscall.EROFS):
			return nil, lockError(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return pebble.LockDirectory(dir, unlockedFS{fsys})
}

// unlockedFS locks nothing.
type unlockedFS struct{ vfs.FS }

func (unlockedFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

type checker struct {
	s        *Store // of which only options, keys and disk are used
	report   Report
	progress func(what string, done, total int64)

	touched  map[uint64]struct{} // hashes of keys that the journal is about
	remapped bool                // the journal changes what databases there are
	owners   expiryOwners
	staged   bool // staged pages count
}

// run checks from the outside inwards: files, tables, keys. What is damaged may
// make it impossible to look further.
func (c *checker) run() error {
	s, r := c.s, &c.report
	l, err := wal.Inspect(s.opts.FS, s.opts.Dir, s.opts.warnf)
	if d := wal.AsDamage(err); d != nil {
		r.found("%v", d)
	} else if err != nil {
		return err
	}
	for _, e := range l.Logs {
		r.Logs++
		r.LogBytes += e.End
	}
	if r.Origin, err = snapshot.ReadOrigin(s.opts.FS, s.opts.Dir); errors.Is(err, ErrCorrupt) {
		r.found("%v", err)
	} else if err != nil {
		return err
	}
	f := fence.New(s.opts.FS, s.opts.Dir)
	s.fence.Store(f)
	o := s.pebbleOptions(f)
	o.ReadOnly = true
	if s.db, err = s.openPebble(o, f); err != nil {
		r.found("the object store cannot be opened: %v", wal.Named(err))
		return nil
	}
	err = c.tables()
	if err == nil {
		err = c.contents()
	}
	return errors.Join(err, s.closePebble(s.db, f))
}

// tables reads every block of every table.
func (c *checker) tables() error {
	levels, err := c.s.db.SSTables()
	if err != nil {
		return err
	}
	var total int64
	for _, level := range levels {
		for _, t := range level {
			total += int64(t.Size)
		}
	}
	ro := c.s.pebbleOptions(c.s.fence.Load())
	ro.EnsureDefaults()
	for _, level := range levels {
		for _, t := range level {
			name := fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))
			if err := readTable(c.s.opts.FS, c.s.opts.FS.PathJoin(c.s.opts.Dir, name), ro.MakeReaderOptions()); err != nil {
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
