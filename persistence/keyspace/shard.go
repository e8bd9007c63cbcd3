package keyspace

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
)

// Shard is a stripe of the keyspace of all databases.
type Shard struct {
	Mu sync.Mutex
	// long is set while a long transaction has the shard or is about to take it, and
	// queue is the number of others that wait for Mu regardless; see long.go.
	long  atomic.Bool
	queue atomic.Int32
	// Counted is set while the store's tally has the shard's numbers as they are. It
	// changes while Mu is held.
	Counted atomic.Bool
	// All below is guarded by Mu.
	Tables   []*Table         // by logical database; nil before the first use
	Counts   map[uint32]int64 // keys on disk by physical database, as found at Open
	recent   recent
	Mem      int64    // bytes of the tables
	reported int64    // what of Mem is in Keyspace.Memory
	Contains uint64   // amid a replay, when memory is full, the newest record that was applied; else 0
	_        [64]byte // shards are locked by different cores: no shared line
}

// Shards is a set of shards. The zero value is empty.
type Shards [format.ShardCount / 64]uint64

// Add adds the shard of a key with this hash.
func (s *Shards) Add(hash uint64) { s[hash>>62] |= 1 << (hash >> 56 & 63) }

// AddAll adds every shard.
func (s *Shards) AddAll() {
	for i := range s {
		s[i] = ^uint64(0)
	}
}

// Union adds the shards of o.
func (s *Shards) Union(o Shards) {
	for i := range s {
		s[i] |= o[i]
	}
}

// Contains reports that all shards of o are in s.
func (s *Shards) Contains(o Shards) bool {
	for i := range s {
		if o[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

// Empty reports that no shard is in s.
func (s Shards) Empty() bool { return s == Shards{} }

// Has reports that the shard of a hash is in s.
func (s *Shards) Has(hash uint64) bool { return s[hash>>62]&(1<<(hash>>56&63)) != 0 }

// AddTexts adds the shard whose lock guards what a store keeps beside its keys.
func (s *Shards) AddTexts() { s[TextShard>>6] |= 1 << (TextShard & 63) }

// TextShard is the shard whose lock guards what a store keeps beside its keys.
const TextShard = 0

// Unlock unlocks shards after a transaction.
func (s *Keyspace) Unlock(set *Shards) {
	var delta int64
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			sh := &s.Shard[w<<6|bits.TrailingZeros64(word)]
			delta += sh.Unreported()
			sh.reported = sh.Mem
			sh.recount()
			sh.Mu.Unlock()
		}
	}
	if delta != 0 {
		s.Memory.Add(delta)
	}
}

// Release unlocks shards in which nothing was changed.
func (s *Keyspace) Release(set *Shards) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			s.Shard[w<<6|bits.TrailingZeros64(word)].Mu.Unlock()
		}
	}
}

// UnlockShard ends a lock that background work took on one shard.
func (s *Keyspace) UnlockShard(sh *Shard) {
	s.Report(sh)
	sh.recount()
	sh.Mu.Unlock()
}

// Unreported is by how many bytes the tables have grown since Keyspace.Memory has them.
func (sh *Shard) Unreported() int64 { return sh.Mem - sh.reported }

// Report brings Keyspace.Memory up to date with a shard, whose lock is held.
func (s *Keyspace) Report(sh *Shard) {
	if delta := sh.Unreported(); delta != 0 {
		sh.reported = sh.Mem
		s.Memory.Add(delta)
	}
}

// Forget drops what is known of keys on disk, and which objects wait to become records. The lock is held, and the tables are
// gone.
func (sh *Shard) Forget() { sh.Counts, sh.recent = nil, recent{} }

// SetCount notes how many keys of a physical database are on disk. The lock is held, and there is no table of it.
func (sh *Shard) SetCount(phys uint32, n int64) {
	if sh.Counts == nil {
		sh.Counts = map[uint32]int64{}
	}
	sh.Counts[phys] = n
}

// Table returns the table of a logical database, which is made for the physical one on first use. The lock of the
// shard is held.
func (s *Keyspace) Table(shard, db int) *Table {
	sh, phys := &s.Shard[shard], s.Phys[db]
	if t := sh.Tables[db]; t != nil {
		return t
	}
	t := NewTable(phys, &s.Pool, &sh.Mem, sh.Counts[phys])
	sh.Tables[db] = t
	return t
}

// Size is the number of keys of a database in a shard, whose lock is held.
func (s *Keyspace) Size(shard, db int) int {
	sh := &s.Shard[shard]
	if t := sh.Tables[db]; t != nil {
		return t.Size()
	}
	return int(sh.Counts[s.Phys[db]])
}

// recount notes that the numbers of the shard may have changed. The lock is held.
func (sh *Shard) recount() {
	if sh.Counted.Load() { // nearly never, and a store costs more
		sh.Counted.Store(false)
	}
}
