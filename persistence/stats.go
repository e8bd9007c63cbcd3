package persistence

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// counters only grow.
type counters struct {
	expired, expiredFields, evicted, leftBehind atomic.Int64
}

// Stats are numbers for INFO.
type Stats struct {
	LSN     uint64 // last record
	Synced  uint64 // last record on the device
	Trimmed uint64 // last record that was cut off the journal

	JournalBytes int64 // what a restart would replay
	JournalBound int64 // at so many bytes values are materialised
	PendingBytes int64 // records that Pebble does not have yet
	Memory       int64 // bytes of keys and values

	Materialised  int64 // values written under their own keys
	Faults        int64 // keys read from disk because a command wanted them
	PageReads     int64 // pages of large values read from disk
	Expired       int64
	ExpiredFields int64 // by ExpireCycle, or because a command found them
	ExpiryLooked  int64 // keys with an expiry that ExpireCycle has looked at in memory
	ExpiryCapped  int64 // calls of ExpireCycle that ended because their budget was used up
	Evicted       int64 // deleted to make room
	Spilled       int64 // dropped from memory to make room
	LeftBehind    int64 // large values that were deleted: the garbage collector frees their memory later
	ColdTables    int   // tables that have keys on disk only
	Blessed       int   // keys that are never deleted to make room, of those that memory knows
	Dirty         int   // keys whose state has yet to be written under their own names

	Databases []DatabaseStats // by number, up to the last that has had keys; may be more than Options.Databases
}

// DiskStats are Pebble's numbers for INFO.
type DiskStats struct {
	Bytes             uint64 // files of the store
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

// Keys is the number of keys of all databases.
func (st *Stats) Keys() (n int64) {
	for _, db := range st.Databases {
		n += int64(db.Keys)
	}
	return n
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

// ShardCount is into how many parts, each with a lock of its own, the keys are divided. The upper
// 8 bits of a hash are the number of its shard.
const ShardCount = format.ShardCount

// Stats returns the numbers as they are now. It locks one shard after the other, of those
// that were in use since the last call.
func (s *Store) Stats() Stats {
	st := s.Counters()
	st.LSN, st.Synced, st.Trimmed = s.commits.Journal.Newest(), s.commits.Synced(), s.passes.Trimmed.Load()
	st.JournalBytes, st.PendingBytes, st.Memory = s.commits.Length.Bytes(), s.commits.Journal.Backlog(), s.Memory()
	st.JournalBound = s.writer.JournalBound()
	s.tally.bring(s, &st)
	return st
}

// Counters returns the numbers of Stats that only grow, without a lock.
func (s *Store) Counters() Stats {
	c := &s.stats
	return Stats{
		Materialised: s.writer.Values.Load(), Faults: s.heads.Faults.Load(), PageReads: s.writer.PageReads.Load(),
		Expired: c.expired.Load(), ExpiredFields: c.expiredFields.Load(),
		ExpiryLooked: s.sweeper.Looked.Load(), ExpiryCapped: s.sweeper.Capped.Load(),
		Evicted: c.evicted.Load(), Spilled: s.eviction.Spilled(), LeftBehind: c.leftBehind.Load(),
	}
}

// DiskStats returns Pebble's numbers as they are now, which takes some microseconds.
func (s *Store) DiskStats() DiskStats {
	s.files.Disk.RLock()
	m := s.files.Disk.DB.Metrics()
	s.files.Disk.RUnlock()
	st := DiskStats{
		Bytes: m.DiskSpaceUsage(), CompactionDebt: m.Compact.EstimatedDebt,
		CacheHits: m.BlockCache.Hits, CacheMisses: m.BlockCache.Misses,
		WALBytes: m.WAL.BytesWritten, MemTableBytes: m.MemTable.Size, ReadAmplification: m.ReadAmp(),
		Compactions: m.Compact.Count,
	}
	for i, l := range m.Levels {
		st.Levels[i] = Level{l.TablesCount, l.TablesSize}
		st.FlushedBytes += l.TableBytesFlushed
		st.CompactedBytes += l.TableBytesCompacted
	}
	return st
}

// tally keeps the numbers that are summed over the tables of all shards. A shard is
// counted again only if it was in use since.
type tally struct {
	mu     sync.Mutex
	shards [format.ShardCount]tableStats
	sum    tableStats
}

// tableStats are the numbers of some tables.
type tableStats struct {
	databases            []DatabaseStats // by number, up to the last that has keys
	blessed, dirty, cold int
}

// bring fills in what the tally knows, after counting what it has to.
func (y *tally) bring(s *Store, st *Stats) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for i := range s.keyspace.Shard {
		sh := &s.keyspace.Shard[i]
		if sh.Counted.Load() || !s.keyspace.LockShard(sh) {
			continue
		}
		y.sum.add(&y.shards[i], -1)
		y.shards[i].count(sh, s.files.Meta.Phys)
		y.sum.add(&y.shards[i], 1)
		sh.Counted.Store(true)
		sh.Mu.Unlock()
	}
	st.Databases = append([]DatabaseStats(nil), y.sum.databases...)
	st.Blessed, st.Dirty, st.ColdTables = y.sum.blessed, y.sum.dirty, y.sum.cold
}

// add adds the numbers of b, or takes them off if sign is -1.
func (a *tableStats) add(b *tableStats, sign int) {
	for db, d := range b.databases {
		a.database(db).Keys += sign * d.Keys
		a.database(db).Expires += sign * d.Expires
	}
	a.blessed += sign * b.blessed
	a.dirty += sign * b.dirty
	a.cold += sign * b.cold
}

func (a *tableStats) database(db int) *DatabaseStats {
	for len(a.databases) <= db {
		a.databases = append(a.databases, DatabaseStats{})
	}
	return &a.databases[db]
}

// count counts the tables of a shard, whose lock is held.
func (a *tableStats) count(sh *keyspace.Shard, phys []uint32) {
	*a = tableStats{databases: a.databases[:0]}
	for db, t := range sh.Tables {
		switch {
		case t != nil:
			if keys := t.Size(); keys > 0 {
				*a.database(db) = DatabaseStats{keys, t.Expiring}
			}
			a.blessed += t.BlessedKeys()
			a.dirty += t.Dirty
			if !t.Resident {
				a.cold++
			}
		case len(sh.Counts) > 0:
			if keys := int(sh.Counts[phys[db]]); keys > 0 {
				a.database(db).Keys = keys
				a.cold++
			}
		}
	}
}
