package persistence

import "sync/atomic"

// counters only grow.
type counters struct {
	faults, expired, expiredFields, evicted, spilled, materialised, pageReads atomic.Int64
}

// Stats are numbers for INFO.
type Stats struct {
	LSN     uint64 // last record
	Synced  uint64 // last record on the device
	Trimmed uint64 // last record that was cut off the journal

	JournalBytes int64 // what a restart would replay
	PendingBytes int64 // records that Pebble does not have yet
	Memory       int64 // bytes of keys and values

	Materialised int64 // values written under their own keys
	Faults       int64 // keys read from disk because a command wanted them
	PageReads    int64 // pages of large values read from disk
	Expired      int64
	// ExpiredFields went by ExpireCycle, not because a command found them.
	ExpiredFields int64
	Evicted       int64 // deleted to make room
	Spilled       int64 // dropped from memory to make room
	ColdTables    int   // tables that have keys on disk only
	Dirty         int   // keys whose state has yet to be written under their own names

	Databases []DatabaseStats // by number; there may be more than Options.Databases

	DiskBytes         uint64 // files of the store
	CompactionDebt    uint64 // bytes that Pebble has yet to compact
	CacheHits         int64  // blocks found in Pebble's cache
	CacheMisses       int64
	WALBytes          uint64 // bytes written to Pebble's log
	FlushedBytes      uint64 // bytes that Pebble flushed to tables
	CompactedBytes    uint64 // bytes that compactions wrote
	MemTableBytes     uint64
	ReadAmplification int
	Compactions       int64
	Levels            [7]Level // of Pebble's tree, the newest data first
}

// DatabaseStats are the numbers of a database.
type DatabaseStats struct {
	Keys    int
	Expires int // of the keys in memory that have an expiry
}

// Level is a level of Pebble's tree.
type Level struct {
	Tables int64
	Bytes  int64
}

// ShardCount is into how many parts, each with a lock of its own, the keys are divided.
const ShardCount = shardCount

// Stats returns the numbers as they are now.
func (s *Store) Stats() Stats {
	s.disk.RLock()
	m := s.db.Metrics()
	s.disk.RUnlock()
	st := Stats{
		LSN: s.journal.Newest(), Synced: s.Synced(), Trimmed: s.trimmed.Load(),
		JournalBytes: s.log.Bytes(), PendingBytes: s.journal.Backlog(), Memory: s.Memory(),
		Materialised: s.stats.materialised.Load(), Faults: s.stats.faults.Load(), PageReads: s.stats.pageReads.Load(),
		Expired: s.stats.expired.Load(), ExpiredFields: s.stats.expiredFields.Load(), Evicted: s.stats.evicted.Load(), Spilled: s.stats.spilled.Load(),
		DiskBytes: m.DiskSpaceUsage(), CompactionDebt: m.Compact.EstimatedDebt,
		CacheHits: m.BlockCache.Hits, CacheMisses: m.BlockCache.Misses,
		WALBytes: m.WAL.BytesWritten, MemTableBytes: m.MemTable.Size, ReadAmplification: m.ReadAmp(),
		Compactions: m.Compact.Count,
	}
	s.countTables(&st)
	for i, l := range m.Levels {
		st.Levels[i] = Level{l.TablesCount, l.TablesSize}
		st.FlushedBytes += l.TableBytesFlushed
		st.CompactedBytes += l.TableBytesCompacted
	}
	return st
}

// countTables counts the keys of all databases, the dirty ones, and the tables that are
// not resident. It locks one shard after the other.
func (s *Store) countTables(st *Stats) {
	for i := range s.shards {
		sh := &s.shards[i]
		if !s.lockShard(sh) {
			continue
		}
		for len(st.Databases) < len(sh.tables) {
			st.Databases = append(st.Databases, DatabaseStats{})
		}
		for db, t := range sh.tables {
			d := &st.Databases[db]
			switch {
			case t != nil:
				d.Keys += t.size()
				d.Expires += t.ttls
				st.Dirty += t.dirty
				if !t.resident {
					st.ColdTables++
				}
			case len(sh.counts) > 0:
				if n := int(s.diskCount(s.mapping.phys[db], i)); n > 0 {
					d.Keys += n
					st.ColdTables++
				}
			}
		}
		sh.mu.Unlock()
	}
}
