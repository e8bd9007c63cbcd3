package persistence

import (
	"unsafe"

	"github.com/vigildb/vigil/persistence/prefetch"
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
	last     []byte // the key that was added last
	elements []upcomingElement
}

// upcomingKey is a key; table and object are known while Prefetch runs.
type upcomingKey struct {
	hash   uint64
	table  *table  // nil if it is not to be looked into
	object *object // nil if the key has none, or it is not known yet
}

// upcomingElement is an element of the value of a key.
type upcomingElement struct {
	key   int // in Upcoming.keys
	name  []byte
	place uint64 // see structures.Spread
	known bool   // place is
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
	u.elements = append(u.elements, upcomingElement{key: len(u.keys) - 1, name: name})
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
		for step := range structures.AheadSteps {
			u.prefetchElements(step)
		}
	}
	u.s.release(&locked)
}

// lock takes the locks of the keys' shards that are free, and finds the tables of these. It
// never waits, so that it cannot be part of a deadlock.
func (u *Upcoming) lock() (locked Shards) {
	for i := range u.keys {
		k := &u.keys[i]
		sh := &u.s.shards[shardOf(k.hash)]
		if !locked.has(k.hash) {
			if !sh.mu.TryLock() {
				continue
			}
			locked.Add(k.hash)
		}
		if u.db < len(sh.tables) {
			if t := sh.tables[u.db]; t != nil && t.used > 0 && !t.crowded() {
				k.table = t
			}
		}
	}
	return locked
}

func (u *Upcoming) prefetchKeys() {
	for i := range u.keys {
		if k := &u.keys[i]; k.table != nil {
			k.prefetchSlot()
		}
	}
	objects := false
	for i := range u.keys {
		if k := &u.keys[i]; k.table != nil {
			k.prefetchRecord()
			objects = objects || k.object != nil
		}
	}
	if !objects {
		return
	}
	for i := range u.keys {
		if o := u.keys[i].object; o != nil {
			prefetch.Line(unsafe.Pointer(unsafe.SliceData(o.key)))
			if o.value != nil {
				prefetch.Line(valueAddress(o.value))
			}
		}
	}
}

func (k *upcomingKey) prefetchSlot() {
	prefetch.Line(unsafe.Pointer(&k.table.slots[k.table.home(k.hash)]))
}

// prefetchRecord prefetches the record of a key, or finds and prefetches its object.
func (k *upcomingKey) prefetchRecord() {
	t := k.table
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

// prefetchElements takes a step for all elements. Those of one key are next to each other.
func (u *Upcoming) prefetchElements(step int) {
	for rest := u.elements; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].key == rest[0].key {
			n++
		}
		same := rest[:n]
		rest = rest[n:]
		k := &u.keys[same[0].key]
		if k.table == nil || len(u.keys) > 1 && k.object == nil || step > 0 && !same[0].known {
			continue // a record, or missing
		}
		k.prefetchElements(same, step)
	}
}

func (k *upcomingKey) prefetchElements(list []upcomingElement, step int) {
	t := k.table
	meta := t.metaOf(k.hash)
	if meta&metaObject == 0 {
		return // a record, which is there already
	}
	v, ok := t.objects[meta&locationMask].value.(structures.Spread)
	if !ok {
		return
	}
	for i := range list {
		e := &list[i]
		if step == 0 {
			e.place, e.known = v.Place(e.name)
		}
		if e.known {
			first, last := v.Ahead(e.place, step)
			prefetch.Line(first)
			prefetch.Line(last)
		}
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
