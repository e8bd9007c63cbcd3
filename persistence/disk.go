package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/wal"
)

const (
	// mostMemTable is the size of Pebble's memtables. Usually two of them are in
	// memory, and more only while the disk is behind. With 16 MiB, writing 1M hashes
	// of five fields takes up to 8 % less CPU, but the process is 50 MB larger.
	mostMemTable = 4 << 20
	// leastMemTable is that under a small MaxMemory, and memTablePart which part of it.
	leastMemTable, memTablePart = 1 << 20, 32
	// batchPart is which part of a memtable the materialiser's batches are. A batch of half
	// a memtable would become one of its own.
	batchPart = 4

	minCache, maxCache, cachePart = 8 << 20, 32 << 20, 8
)

// memTableBytes returns the size of memtables for a MaxMemory (0: unlimited), as it is when
// the store is opened.
func memTableBytes(maxMemory int64) uint64 {
	if maxMemory == 0 {
		return mostMemTable
	}
	return uint64(min(max(maxMemory/memTablePart, leastMemTable), mostMemTable))
}

// cacheBytes returns the size of Pebble's cache of blocks for a MaxMemory (0: unlimited),
// as it is when the store is opened. Only what is read from the disk fills it.
func cacheBytes(maxMemory int64) int64 {
	if maxMemory == 0 {
		return maxCache
	}
	return min(max(maxMemory/cachePart, minCache), maxCache)
}

// pebbleOptions are the options that differ from Pebble's defaults, which are
// for a small embedded database without Bloom filters.
func (s *Store) pebbleOptions(f *fence.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                          f,
		Logger:                      pebbleLog{s, f},
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   s.opts.CacheBytes,
		MemTableSize:                memTableBytes(s.opts.bound()),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       1000, // see pace
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                s.opts.OpenFiles,
		BytesPerSync:                1 << 20,
		EventListener:               s.pebbleEvents(f),
	}
	o.TargetFileSizes = [...]int64{mostMemTable, 8 << 20, 8 << 20, 16 << 20, 16 << 20, 32 << 20, 64 << 20}
	o.Experimental.SpanPolicyFunc = eachKind
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 16 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	return o
}

// eachKind is a SpanPolicyFunc that has keys of each kind written into files of their
// own. What is flushed is chunks of the journal, a stretch of values, and a few keys
// of other kinds. With all of these in a file, each one overlaps the next, and
// compactions write chunks again and again that are removed soon. In a file of their
// own they are dropped with it when the journal is cut, and values mostly move down
// without being merged.
func eachKind(start []byte) (all pebble.SpanPolicy, end []byte, err error) {
	return all, []byte{start[0] + 1}, nil
}

// openDisk locks the directory and opens Pebble in it. The lock stays for the
// life of the store, whereas Pebble is replaced after a failure: it gets none.
func (s *Store) openDisk() error {
	if err := s.opts.FS.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(s.opts.Dir, s.opts.FS)
	if err != nil {
		return lockError(err)
	}
	s.lockFile = lock
	s.openRoom()
	if err = s.prepareFiles(); err != nil {
		return errors.Join(err, lock.Close())
	}
	f := s.newFence()
	s.fence.Store(f)
	if s.db, err = s.openPebble(s.pebbleOptions(f), f); err != nil {
		return errors.Join(wal.Named(err), s.marked.Mark.Close(), lock.Close())
	}
	return nil
}

// newFence makes the fence of another instance of Pebble.
func (s *Store) newFence() *fence.FS {
	f := fence.New(s.marked, s.opts.Dir)
	f.HoldCompactions(s.room.holds)
	return f
}

// lockError is ErrLocked for a lock that another process holds.
func lockError(err error) error {
	if locked(err) {
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return fmt.Errorf("lock directory: %w", err)
}

// locked distinguishes a lock that another process holds from a lock file that
// cannot be created.
func locked(err error) bool {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno == syscall.EAGAIN || errno == syscall.EACCES && !errors.As(err, new(*fs.PathError))
	}
	return !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errors.ErrUnsupported)
}

// openPebble opens Pebble with compactions held back until it is open, unless
// there is much to do: it would wait for one that it starts, half a second after
// an orderly end. From its next flush on there are as many as usual, until Close
// begins, which would have to wait for them too.
//
// A failure to write makes the fence fall, and Pebble does not see it. So it is
// open then, and is closed again.
func (s *Store) openPebble(o *pebble.Options, f *fence.FS) (db *pebble.DB, err error) {
	var open atomic.Bool
	o.CompactionConcurrencyRange = func() (lower, upper int) {
		if !open.Load() || s.closing.Load() {
			return 0, 1
		}
		return 1, 2
	}
	defer open.Store(true)
	err = guard(f, func() error {
		db, err = pebble.Open(s.opts.Dir, o)
		return err
	})
	f.Opened()
	if err == nil && f.Err() == nil {
		return db, nil
	}
	if db != nil {
		err = errors.Join(f.Err(), s.closePebble(db, f))
	}
	f.CloseFiles(s.opts.Dir)
	f.Discard()
	return nil, err
}

// closePebble closes an instance, whether its fence stands or not.
func (s *Store) closePebble(db *pebble.DB, f *fence.FS) error {
	f.Release()
	defer f.CloseFiles(s.opts.Dir)
	if errors.Is(f.Err(), errPanicked) {
		return nil // it may hold locks that Close waits for
	}
	return guard(f, db.Close)
}

func (s *Store) closeDisk() error {
	return errors.Join(s.closePebble(s.db, s.fence.Load()), s.marked.Mark.Close(), s.lockFile.Close())
}

// loadCounts reads how many keys each shard has on disk.
func (s *Store) loadCounts() error {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: format.AppendGroup(nil, format.PrefixCount), UpperBound: format.AppendGroupEnd(nil, format.PrefixCount)})
	if err != nil {
		return fmt.Errorf("read counts: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		phys, shard, n, err := format.DecodeCount(it.Key(), it.Value())
		if err != nil {
			return errors.Join(err, it.Close())
		}
		sh := &s.shards[shard]
		if sh.counts == nil {
			sh.counts = map[uint32]int64{}
		}
		sh.counts[phys] = n
	}
	return it.Close()
}

// diskCount is the number of keys of a physical database that a shard has on
// disk as long as there is no table that knows better. The lock of the shard is
// held.
func (s *Store) diskCount(phys uint32, shard int) int64 {
	return s.shards[shard].counts[phys]
}
