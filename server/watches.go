package server

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/blocking"
)

// watchedKey is a key under WATCH of one client. The watchedKeys of one key form a
// list, so that WATCH and UNWATCH cost the same however many keys and clients there
// are.
type watchedKey struct {
	blocking.Key
	s          *session
	expired    bool        // did not exist, or was expired, when WATCH was called
	prev, next *watchedKey // guarded by watches.mu
}

// watches knows which clients watch which keys.
type watches struct {
	n    atomic.Int32 // watched keys; read without mu
	mu   sync.Mutex
	keys map[blocking.Key]*watchedKey // the first of each key; guarded by mu
}

func (w *watches) any() bool { return w.n.Load() > 0 }

// touch has the EXEC of every client that watches the key fail.
func (w *watches) touch(db int, key []byte) {
	if !w.any() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := w.keys[blocking.Key{DB: db, Name: string(key)}]; k != nil; k = k.next {
		k.s.Set(commands.ClientDirtyCAS)
	}
}

func (w *watches) add(k *watchedKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[blocking.Key]*watchedKey{}
	}
	if k.next = w.keys[k.Key]; k.next != nil {
		k.next.prev = k
	}
	w.keys[k.Key] = k
	w.n.Add(1)
}

func (w *watches) remove(k *watchedKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k.next != nil {
		k.next.prev = k.prev
	}
	switch {
	case k.prev != nil:
		k.prev.next = k.next
	case k.next != nil:
		w.keys[k.Key] = k.next
	default:
		delete(w.keys, k.Key)
	}
	w.n.Add(-1)
}

// clients returns the clients that watch keys.
func (w *watches) clients() map[*session]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[*session]bool{}
	for _, k := range w.keys {
		for ; k != nil; k = k.next {
			all[k.s] = true
		}
	}
	return all
}

// which lists the watched keys for which wanted returns true.
func (w *watches) which(wanted func(k blocking.Key) bool) []blocking.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []blocking.Key
	for k := range w.keys {
		if wanted(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Watch begins to watch keys; their shards are locked.
func (s *session) Watch(c *commands.Ctx, keys [][]byte) error {
	t := &s.txn
	if t.watched == nil {
		t.watched = map[blocking.Key]*watchedKey{}
	}
	for _, key := range keys {
		k := blocking.Key{DB: s.DB(), Name: string(key)}
		if t.watched[k] != nil {
			continue
		}
		w := &watchedKey{Key: k, s: s, expired: c.Tx.Kind(key) == 0}
		t.watched[k] = w
		s.srv.watches.add(w)
		t.watchedBytes += len(key) + watchBytes
	}
	c.Reply.OK()
	return nil
}

// Unwatch stops watching all keys.
func (s *session) Unwatch(*commands.Ctx) { s.unwatch() }

func (s *session) unwatch() {
	for _, w := range s.txn.watched {
		s.srv.watches.remove(w)
	}
	s.txn.watched, s.txn.watchedBytes = nil, 0
	s.Clear(commands.ClientDirtyCAS)
}

// expireWatched makes EXEC fail if a watched key has expired since. A key that was
// already gone when WATCH was called does not count.
func (s *session) expireWatched() {
	for _, w := range s.txn.watched {
		if w.expired || !s.locked {
			continue
		}
		s.tx.Select(w.DB)
		if s.tx.Kind([]byte(w.Name)) == 0 {
			s.Set(commands.ClientDirtyCAS)
		}
	}
	if s.locked {
		s.tx.Select(s.DB())
	}
}
