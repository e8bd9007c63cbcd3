package persistence

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// shard is a stripe of the keyspace of all databases.
type shard struct {
	mu sync.Mutex
	// long is set while a long transaction has the shard or is about to take it, and
	// queue is the number of others that wait for mu regardless; see long.go.
	long  atomic.Bool
	queue atomic.Int32
	// counted is set while the store's tally has the shard's numbers as they are. It
	// changes while mu is held.
	counted atomic.Bool
	// All below is guarded by mu.
	tables   []*keyspace.Table // by logical database; nil before the first use
	counts   map[uint32]int64  // keys on disk by physical database, as found at Open
	recent   recent
	mem      int64    // bytes of the tables
	reported int64    // what of mem is in Store.memory
	contains uint64   // amid a replay, when memory is full, the newest record that was applied; else 0
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

func (s *Shards) has(hash uint64) bool { return s[hash>>62]&(1<<(hash>>56&63)) != 0 }

func (s *Store) unlock(set *Shards) {
	var delta int64
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			sh := &s.shards[w<<6|bits.TrailingZeros64(word)]
			delta += sh.mem - sh.reported
			sh.reported = sh.mem
			sh.recount()
			sh.mu.Unlock()
		}
	}
	if delta != 0 {
		s.memory.Add(delta)
	}
}

// release unlocks shards in which nothing was changed.
func (s *Store) release(set *Shards) {
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			s.shards[w<<6|bits.TrailingZeros64(word)].mu.Unlock()
		}
	}
}

// unlockShard ends a lock that background work took on one shard.
func (s *Store) unlockShard(sh *shard) {
	if delta := sh.mem - sh.reported; delta != 0 {
		sh.reported = sh.mem
		s.memory.Add(delta)
	}
	sh.recount()
	sh.mu.Unlock()
}

// recount has the next Stats count the shard. The lock is held.
func (sh *shard) recount() {
	if sh.counted.Load() { // nearly never, and a store costs more
		sh.counted.Store(false)
	}
}

// table returns the table of a logical database, made on first use. The lock
// of the shard is held.
func (s *Store) table(sh int, db int) *keyspace.Table {
	if t := s.shards[sh].tables[db]; t != nil {
		return t
	}
	phys := s.mapping.Phys[db]
	t := keyspace.NewTable(phys, &s.pool, &s.shards[sh].mem, s.diskCount(phys, sh))
	s.shards[sh].tables[db] = t
	return t
}
