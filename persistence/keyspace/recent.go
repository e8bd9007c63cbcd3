package keyspace

import (
	"github.com/vigildb/vigil/persistence/format"
)

// A value of some kilobytes rests as a record too, but is not made one at the end of
// each transaction that changes it: copying it, and building its table again, would
// cost more than the change. It stays an object while it is among the values of its
// shard that became objects last.

const (
	// MaxRecent bounds the value of such a record.
	MaxRecent = 8000
	// RecentBytes is the default of Options.RecentBytes: 4 MiB in all shards.
	RecentBytes = 16 << 10
)

// recentObject is an object that is to become a record.
type recentObject struct {
	t    *Table
	o    *Object
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

// KeepRecent adds an object to the queue of its shard, and makes records of the oldest
// there while they take too much.
func (s *Keyspace) KeepRecent(t *Table, o *Object, hash, at uint64) {
	r := recentObject{t, o, hash, at, o.Size}
	q := &s.Shard[format.ShardOf(r.hash)].recent
	o.Recent = true
	q.queue = append(q.queue, r)
	for q.bytes += r.size; q.bytes > s.recentBytes; {
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
func (s *Keyspace) rest(r recentObject) {
	r.o.Recent = false
	if r.t.Dropped || !r.t.Has(r.at, r.o) || r.o.Candidate || r.o.Edit != nil {
		return
	}
	// The object may have been used again, for another key.
	if i := r.t.Find(r.hash, r.o.Key); i >= 0 && r.t.Meta(i)&(IsObject|LocationMask) == IsObject|r.at {
		s.CompactObject(r.t, i, r.o, MaxRecent)
	}
}

// Waiting returns how many objects of a shard wait to become records, and their bytes.
func (sh *Shard) Waiting() (objects, bytes int) { return len(sh.recent.queue), sh.recent.bytes }
