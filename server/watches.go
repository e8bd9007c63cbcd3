package server

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
)

// watchedKey is a key under WATCH of one client. The watchedKeys of one key form a
// list, so that WATCH and UNWATCH cost the same however many keys and clients there
// are.
type watchedKey struct {
	blocking.Key
	client     *commands.Client
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
		k.client.Set(commands.ClientDirtyCAS)
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
func (w *watches) clients() map[*commands.Client]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[*commands.Client]bool{}
	for _, k := range w.keys {
		for ; k != nil; k = k.next {
			all[k.client] = true
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

// watching is the keys that a client watches, until EXEC, UNWATCH or its end.
type watching struct {
	client *commands.Client
	all    *watches
	keys   map[blocking.Key]*watchedKey
	bytes  int // of keys
}

// watch begins to watch a key whose shard is locked, unless the client does so already. expired: there is none now.
func (w *watching) watch(k blocking.Key, expired func() bool) {
	if w.keys[k] != nil {
		return
	}
	if w.keys == nil {
		w.keys = map[blocking.Key]*watchedKey{}
	}
	key := &watchedKey{Key: k, client: w.client, expired: expired()}
	w.keys[k] = key
	w.all.add(key)
	w.bytes += len(k.Name) + watchBytes
}

// Watch begins to watch keys; their shards are locked.
func (w *watching) Watch(c *commands.Ctx, keys [][]byte) error {
	for _, key := range keys {
		w.watch(blocking.Key{DB: w.client.DB(), Name: string(key)}, func() bool { return c.Tx.Kind(key) == 0 })
	}
	c.Reply.OK()
	return nil
}

// Unwatch stops watching all keys.
func (w *watching) Unwatch(*commands.Ctx) { w.unwatch() }

func (w *watching) unwatch() {
	for _, k := range w.keys {
		w.all.remove(k)
	}
	w.keys, w.bytes = nil, 0
	w.client.Clear(commands.ClientDirtyCAS)
}

// expire makes EXEC fail if a watched key has expired since. A key that was already gone when WATCH was called does not
// count. The keys are locked.
func (w *watching) expire(tx *persistence.Tx) {
	for _, k := range w.keys {
		if k.expired {
			continue
		}
		if tx.Select(k.DB); tx.Kind([]byte(k.Name)) == 0 {
			w.client.Set(commands.ClientDirtyCAS)
		}
	}
	tx.Select(w.client.DB())
}
