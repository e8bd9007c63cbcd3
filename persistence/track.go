package persistence

import (
	"slices"
	"sync"
)

// maxTracked bounds the bytes of the keys that a Tracker keeps.
const maxTracked = 64 << 20

// trackedBytes is about what a key takes in a Tracker beside its bytes.
const trackedBytes = 64

// KeyIn is a key of a database.
type KeyIn struct {
	DB   int
	Name string
}

// Tracker notes which keys change, from Track to Stop: what copies keys while clients write them has to copy
// these again. Keys that the store removes by itself, as they expire or are evicted, may be noted or not.
type Tracker struct {
	s     *Store
	wants func(key []byte) bool

	mu    sync.Mutex // guards below; taken under the locks of shards
	keys  map[KeyIn]struct{}
	bytes int
	lost  bool
}

// Track begins to note the keys for which wants returns true. A change that is made under a lock which is taken
// after Track has returned is noted, whatever the database. There is one Tracker at a time: nil is returned while
// there is another one.
func (s *Store) Track(wants func(key []byte) bool) *Tracker {
	t := &Tracker{s: s, wants: wants, keys: map[KeyIn]struct{}{}}
	if !s.tracker.CompareAndSwap(nil, t) {
		return nil
	}
	return t
}

// Stop ends the tracker.
func (t *Tracker) Stop() { t.s.tracker.CompareAndSwap(t, nil) }

// Take returns up to n of the keys that have changed, in no order, and forgets them: one that changes again is
// noted again. A change after which a key was noted is there for those that lock the key after Take.
func (t *Tracker) Take(n int) (keys []KeyIn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.keys {
		if len(keys) == n {
			break
		}
		keys = append(keys, key)
		delete(t.keys, key)
		t.bytes -= len(key.Name) + trackedBytes
	}
	return keys
}

// Len returns how many keys Take would return at most.
func (t *Tracker) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.keys)
}

// Lost reports that changes were not noted: there were too many, or a database was flushed.
func (t *Tracker) Lost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// note is called under the lock of the key, which is of a physical database.
func (t *Tracker) note(phys uint32, key []byte) {
	if !t.wants(key) {
		return
	}
	db := slices.Index(t.s.files.Meta.Phys, phys)
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.keys[KeyIn{db, string(key)}]; known || t.lost {
		return
	}
	if t.bytes += len(key) + trackedBytes; t.bytes > maxTracked {
		t.loseLocked()
		return
	}
	t.keys[KeyIn{db, string(key)}] = struct{}{}
}

func (t *Tracker) loseLocked() { t.lost, t.keys, t.bytes = true, map[KeyIn]struct{}{}, 0 }

// flushed notes that keys have gone that are not named.
func (t *Tracker) flushed() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loseLocked()
}
