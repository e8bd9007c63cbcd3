package lsm

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/vigildb/vigil/persistence/fence"
)

const (
	// MostMemTable is the size of Pebble's memtables. With 16 MiB, writing 1M hashes
	// of five fields takes up to 8 % less CPU, but the process is 50 MB larger.
	MostMemTable = 4 << 20
	// MostMemTables is how many of them there may be, and as much is in Pebble's log: one that is filled while another one is
	// written. With four, a pass took 30 MB more at its peak, and neither CPU nor the time of a call changed.
	MostMemTables = 2
	// leastMemTable is that under a small MaxMemory, and memTablePart which part of it.
	leastMemTable, memTablePart   = 1 << 20, 32
	minCache, maxCache, cachePart = 8 << 20, 32 << 20, 8
)

// MemTableBytes returns the size of memtables for a MaxMemory (0: unlimited), as it is when
// the store is opened.
func MemTableBytes(maxMemory int64) uint64 {
	if maxMemory == 0 {
		return MostMemTable
	}
	return uint64(min(max(maxMemory/memTablePart, leastMemTable), MostMemTable))
}

// CacheBytes returns the size of Pebble's cache of blocks for a MaxMemory (0: unlimited),
// as it is when the store is opened. Only what is read from the disk fills it.
func CacheBytes(maxMemory int64) int64 {
	if maxMemory == 0 {
		return maxCache
	}
	return min(max(maxMemory/cachePart, minCache), maxCache)
}

// Options are the options that differ from Pebble's defaults, which are
// for a small embedded database without Bloom filters.
func Options(f *fence.FS, log pebble.Logger) *pebble.Options {
	o := &pebble.Options{
		FS:                          f,
		Logger:                      log,
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   maxCache,
		MemTableSize:                MostMemTable,
		MemTableStopWritesThreshold: MostMemTables,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       1000, // the owner slows down what writes
		LBaseMaxBytes:               256 << 20,
		BytesPerSync:                1 << 20,
	}
	o.TargetFileSizes = [...]int64{MostMemTable, 8 << 20, 8 << 20, 16 << 20, 16 << 20, 32 << 20, 64 << 20}
	o.Experimental.SpanPolicyFunc = eachKind
	for i := range o.Levels {
		l := &o.Levels[i]
		l.BlockSize = 16 << 10
		l.FilterPolicy = bloom.FilterPolicy(10)
		l.Compression = func() *sstable.CompressionProfile { return sstable.SnappyCompression }
	}
	return o
}

// eachKind is a SpanPolicyFunc that puts keys of each kind into files of their own. What is flushed is chunks of the journal, a stretch of values, and a few keys
// of other kinds. With all of these in a file, each one overlaps the next, and
// compactions write chunks again and again that are removed soon. In a file of their
// own they are dropped with it when the journal is cut, and values mostly move down
// without being merged.
func eachKind(start []byte) (all pebble.SpanPolicy, end []byte, err error) {
	return all, []byte{start[0] + 1}, nil
}
