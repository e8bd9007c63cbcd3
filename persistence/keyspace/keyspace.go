package keyspace

import (
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/slab"
	"github.com/vigildb/vigil/structures"
)

// Keyspace is what a store has in memory of keys and values.
type Keyspace struct {
	Shard  [format.ShardCount]Shard
	Phys   []uint32 // physical database of each logical one; written with all shards locked and read with any
	Long   Long
	Tear   Tear
	Memory atomic.Int64 // bytes for keys and values
	Pool   slab.Pool    // of the records of all shards
	spares spares
	// recentBytes bounds the bytes of objects of a shard that wait to become records.
	recentBytes int
}

// Init prepares for use. values are the keys of the hashes of values.
func (s *Keyspace) Init(values *structures.HashKeys, recentBytes int) {
	s.Long.ended.L = &s.Long.mu
	s.Tear.init()
	s.spares.keys, s.recentBytes = values, recentBytes
}
