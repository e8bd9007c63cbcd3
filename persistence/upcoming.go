package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// Upcoming is a set of keys that commands are about to use, and of elements of their
// values. Prefetch brings their slots and then what these refer to into the cache, all at
// once: each step prefetches the memory of every key before the next step uses it. It
// takes those locks that are free, and commands do not depend on its results.
type Upcoming struct {
	s        *Store
	db       int
	keys     []upcomingKey
	last     []byte              // the key that was added last
	elements []structures.Sought // those of each key, in the order of keys
}

// upcomingKey is a key; table and object are known while Prefetch runs.
type upcomingKey struct {
	hash     uint64
	elements int              // how many there are of its value
	table    *keyspace.Table  // nil if it is not to be looked into
	object   *keyspace.Object // nil if the key has none, or it is not known yet
}

// Reset makes the set empty, for keys of a database.
func (u *Upcoming) Reset(s *Store, db int) {
	u.s, u.db, u.keys, u.last, u.elements = s, db, u.keys[:0], nil, u.elements[:0]
}

// Clear drops the references to the store, its objects and the bytes of callers.
func (u *Upcoming) Clear() {
	u.s, u.last = nil, nil
	clear(u.keys[:cap(u.keys)])
	clear(u.elements[:cap(u.elements)])
}

// Add adds a key, whose bytes stay as they are until Reset, and returns its hash.
func (u *Upcoming) Add(key []byte) (hash uint64) {
	if n := len(u.keys); n > 0 && string(u.last) == string(key) {
		return u.keys[n-1].hash
	}
	hash = u.s.Hash(key)
	u.keys, u.last = append(u.keys, upcomingKey{hash: hash}), key
	return hash
}

// AddElement adds an element of the value of the key that was added last, whose bytes
// stay as they are until Reset.
func (u *Upcoming) AddElement(name []byte) {
	u.elements = append(u.elements, structures.Sought{Name: name})
	u.keys[len(u.keys)-1].elements++
}

// Prefetch prefetches the memory of the keys and elements. For one of them the command
// itself would be as fast.
func (u *Upcoming) Prefetch() {
	if len(u.keys) < 2 && len(u.elements) < 2 {
		return
	}
	locked := u.lock()
	if len(u.keys) > 1 {
		u.prefetchKeys()
	}
	if len(u.elements) > 1 {
		for step := range structures.ApproachSteps {
			u.prefetchElements(step)
		}
	}
	u.s.keyspace.Release(&locked)
}

// lock takes the locks of the keys' shards that are free, and finds the tables of these. It
// never waits, so that it cannot be part of a deadlock.
func (u *Upcoming) lock() (locked Shards) {
	for i := range u.keys {
		k := &u.keys[i]
		sh := &u.s.keyspace.Shard[format.ShardOf(k.hash)]
		if !locked.Has(k.hash) {
			if !sh.Mu.TryLock() {
				continue
			}
			locked.Add(k.hash)
		}
		if u.db < len(sh.Tables) && !u.s.keyspace.Tear.Torn() {
			if t := sh.Tables[u.db]; t != nil && t.Used > 0 {
				k.table = t
			}
		}
	}
	return locked
}

func (u *Upcoming) prefetchKeys() {
	for i := range u.keys {
		if k := &u.keys[i]; k.table != nil {
			k.table.PrefetchSlot(k.hash)
		}
	}
	objects := false
	for i := range u.keys {
		if k := &u.keys[i]; k.table != nil {
			k.object = k.table.PrefetchRecord(k.hash)
			objects = objects || k.object != nil
		}
	}
	if !objects {
		return
	}
	for i := range u.keys {
		if o := u.keys[i].object; o != nil {
			o.Prefetch()
		}
	}
}

// prefetchElements takes a step for all elements.
func (u *Upcoming) prefetchElements(step int) {
	rest := u.elements
	for i := range u.keys {
		k := &u.keys[i]
		list := rest[:k.elements]
		rest = rest[k.elements:]
		if len(list) == 0 || k.table == nil || len(u.keys) > 1 && k.object == nil {
			continue // a record, or missing
		}
		k.table.PrefetchElements(k.hash, list, step)
	}
}
