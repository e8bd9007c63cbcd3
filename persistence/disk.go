package persistence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

const (
	memTableBytes = 16 << 20
	cacheBytes    = 32 << 20
)

// pebbleOptions says what we want otherwise than Pebble: its defaults are for a
// small embedded database without Bloom filters.
func (s *Store) pebbleOptions() *pebble.Options {
	o := &pebble.Options{
		FS:                          s.marked,
		Lock:                        s.lockFile,
		Logger:                      pebbleLog{s},
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   cacheBytes,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       32,
		LBaseMaxBytes:               256 << 20,
		MaxOpenFiles:                1000,
		BytesPerSync:                1 << 20,
	}
	o.EventListener = &pebble.EventListener{
		BackgroundError: s.backgroundError,
		FlushEnd:        func(i pebble.FlushInfo) { s.backgroundDone(i.Err) },
		CompactionEnd:   func(i pebble.CompactionInfo) { s.backgroundDone(i.Err) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			s.opts.Logf(LevelError, "%s is damaged: %v", i.Path, i.Details)
		},
	}
	// What is flushed is chunks of the journal and a stretch of values. In small
	// files these lie apart: chunks are dropped with their files when the journal
	// is cut, and values move down without being merged. Cut at 1 MiB, writing 3M
	// new keys takes a third less CPU than at 16 MiB.
	o.TargetFileSizes = [...]int64{1 << 20, 8 << 20, 8 << 20, 16 << 20, 16 << 20, 32 << 20, 64 << 20}
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 16 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	return o
}

// openDisk locks the directory and opens Pebble in it.
func (s *Store) openDisk() error {
	if err := s.opts.FS.MkdirAll(s.opts.Dir, 0o755); err != nil {
		return err
	}
	lock, err := pebble.LockDirectory(s.opts.Dir, s.opts.FS)
	if err != nil {
		// A file that cannot be made at all is not locked by anybody.
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	s.lockFile = lock
	if err = s.prepareFiles(); err != nil {
		return errors.Join(err, lock.Close())
	}
	s.db, err = s.openPebble(s.pebbleOptions())
	if err != nil {
		return errors.Join(named(err), s.marked.mark.close(), lock.Close())
	}
	return nil
}

// openPebble opens Pebble with compactions held back until it is open, unless
// there is much to do: it would wait for one that it starts, half a second after
// an orderly end. From its next flush on there are as many as usual.
func (s *Store) openPebble(o *pebble.Options) (*pebble.DB, error) {
	var open atomic.Bool
	o.CompactionConcurrencyRange = func() (lower, upper int) {
		if !open.Load() {
			return 0, 1
		}
		return 1, 2
	}
	defer open.Store(true)
	return pebble.Open(s.opts.Dir, o)
}

func (s *Store) closeDisk() error {
	return errors.Join(s.db.Close(), s.marked.mark.close(), s.lockFile.Close())
}

// loadCounts reads how many keys each shard has on disk.
func (s *Store) loadCounts() error {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendGroup(nil, prefixCount), UpperBound: appendGroupEnd(nil, prefixCount)})
	if err != nil {
		return fmt.Errorf("read counts: %w", err)
	}
	for it.First(); it.Valid(); it.Next() {
		k, v := it.Key(), it.Value()
		if len(k) != countKeyFixed || len(v) != 8 {
			return errors.Join(fmt.Errorf("count of %d bytes: %w", len(v), ErrCorrupt), it.Close())
		}
		sh := &s.shards[k[countKeyFixed-1]]
		if sh.counts == nil {
			sh.counts = map[uint32]int64{}
		}
		sh.counts[binary.BigEndian.Uint32(k[groupKeyFixed:])] = int64(binary.LittleEndian.Uint64(v))
	}
	return it.Close()
}

// diskCount is the number of keys of a physical database that a shard has on
// disk as long as there is no table that knows better. The lock of the shard is
// held.
func (s *Store) diskCount(phys uint32, shard int) int64 {
	return s.shards[shard].counts[phys]
}

// pebbleLog passes on what Pebble has to say.
type pebbleLog struct{ s *Store }

func (l pebbleLog) Infof(format string, args ...any) {
	l.s.opts.Logf(LevelDebug, "pebble: "+format, args...)
}

func (l pebbleLog) Errorf(format string, args ...any) {
	l.s.opts.Logf(LevelError, "pebble: "+format, args...)
}

// Fatalf is Pebble's word for a failure to write its log or manifest. The
// process lives on for readers: what is not durable yet is not confirmed, and
// new writes are refused.
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.s.fatal(fmt.Errorf("pebble: "+format, args...))
}
