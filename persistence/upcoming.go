package persistence

import (
	"unsafe"

	"github.com/vigildb/vigil/persistence/prefetch"
	"github.com/vigildb/vigil/structures"
)

// Upcoming is a set of keys that commands are about to use. Prefetch brings their
// slots and then what these refer to into the cache, all at once: each step prefetches
// the memory of every key before the next step uses it. It takes a lock only if it is
// free, and commands do not depend on its results.
type Upcoming struct {
	s    *Store
	db   int
	keys []upcomingKey
	last []byte // the key that was added last
}

type upcomingKey struct {
	hash   uint64
	object *object // nil if the key has none, or it is not known yet
}

// Reset makes the set empty, for keys of a database.
func (u *Upcoming) Reset(s *Store, db int) { u.s, u.db, u.keys, u.last = s, db, u.keys[:0], nil }

// Clear drops the references to the store and its objects.
func (u *Upcoming) Clear() {
	u.s, u.last = nil, nil
	clear(u.keys[:cap(u.keys)])
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

// Prefetch prefetches the memory of the keys.
func (u *Upcoming) Prefetch() {
	if len(u.keys) < 2 {
		return // the command itself would be as fast
	}
	for i := range u.keys {
		u.look(&u.keys[i], (*upcomingKey).slot)
	}
	objects := false
	for i := range u.keys {
		k := &u.keys[i]
		u.look(k, (*upcomingKey).record)
		objects = objects || k.object != nil
	}
	if !objects {
		return
	}
	for i := range u.keys {
		if k := &u.keys[i]; k.object != nil {
			u.look(k, (*upcomingKey).contents)
		}
	}
}

// look calls f with the table of a key if its lock is free.
func (u *Upcoming) look(k *upcomingKey, f func(*upcomingKey, *table)) {
	sh := &u.s.shards[shardOf(k.hash)]
	if !sh.mu.TryLock() {
		return
	}
	if u.db < len(sh.tables) {
		if t := sh.tables[u.db]; t != nil && t.used > 0 && !t.crowded() {
			f(k, t)
		}
	}
	sh.mu.Unlock()
}

func (k *upcomingKey) slot(t *table) {
	prefetch.Line(unsafe.Pointer(&t.slots[t.home(k.hash)]))
}

func (k *upcomingKey) record(t *table) {
	meta := t.metaOf(k.hash)
	switch {
	case meta == 0:
	case meta&metaObject == 0:
		prefetch.Line(t.arena.At(meta & locationMask))
	default:
		k.object = t.objects[meta&locationMask]
		prefetch.Line(unsafe.Pointer(k.object))
	}
}

func (k *upcomingKey) contents(*table) {
	prefetch.Line(unsafe.Pointer(unsafe.SliceData(k.object.key)))
	if k.object.value != nil {
		prefetch.Line(valueAddress(k.object.value))
	}
}

// valueAddress is the address of the struct of a value.
func valueAddress(v structures.Value) unsafe.Pointer {
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1]
}

// metaOf returns the meta word of the first slot with a hash, or 0.
func (t *table) metaOf(hash uint64) uint64 {
	for i := t.home(hash); ; i++ {
		s := &t.slots[i]
		switch {
		case s.meta == 0 || s.hash > hash:
			return 0
		case s.hash == hash:
			return s.meta
		}
	}
}
