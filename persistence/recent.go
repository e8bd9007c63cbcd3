package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// A value of some kilobytes rests as a record too, but is not made one at the end of
// each transaction that changes it: copying it, and building its table again, would
// cost more than the change. It stays an object while it is among the values of its
// shard that became objects last.

const (
	// maxRecent bounds the value of such a record.
	maxRecent = 8000
	// recentBytes is the default of Options.RecentBytes: 4 MiB in all shards.
	recentBytes = 16 << 10
)

// recentObject is an object that is to become a record.
type recentObject struct {
	t    *keyspace.Table
	o    *keyspace.Object
	hash uint64
	at   uint64 // index in t.objects
	size int
}

// recent is a queue of objects in the order in which they came. It is guarded by the
// mutex of its shard.
type recent struct {
	queue []recentObject
	first int
	bytes int
}

// linger adds an object to the queue of its shard, and makes records of the oldest
// there while they take too much.
func (s *Store) linger(r recentObject) {
	q := &s.shards[format.ShardOf(r.hash)].recent
	r.o.Recent, r.size = true, r.o.Size
	q.queue = append(q.queue, r)
	for q.bytes += r.size; q.bytes > s.opts.RecentBytes; {
		oldest := q.queue[q.first]
		q.queue[q.first] = recentObject{}
		q.first++
		q.bytes -= oldest.size
		s.rest(oldest)
	}
	if q.first > len(q.queue)/2 {
		n := copy(q.queue, q.queue[q.first:])
		clear(q.queue[n:])
		q.queue, q.first = q.queue[:n], 0
	}
}

// rest makes a record of an object that has been in the queue, if it is still there
// and its value is neither too large nor about to be looked at by this transaction.
func (s *Store) rest(r recentObject) {
	r.o.Recent = false
	if r.t.Dropped || !r.t.Has(r.at, r.o) || r.o.Loose || r.o.Edit != nil {
		return
	}
	// The object may have been used again, for another key.
	if i := r.t.Find(r.hash, r.o.Key); i >= 0 && r.t.Meta(i)&(keyspace.IsObject|keyspace.LocationMask) == keyspace.IsObject|r.at {
		s.compactObject(r.t, i, r.o, maxRecent)
	}
}
