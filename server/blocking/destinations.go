package blocking

import (
	"sync/atomic"

	"github.com/vigildb/vigil/persistence"
)

// destinations is where calls such as BLMOVE put what they wait for: a change of the
// keys that they wait for changes these too, and may serve the clients that wait for
// these in turn. All of them are locked before the change. It is guarded by Calls.mu.
type destinations struct {
	n  atomic.Int32                       // calls; read without mu
	of map[string]map[string]*destination // by key waited for and other key of the call, of any database
}

type destination struct {
	calls  int
	shards persistence.Shards
}

// addLocked notes the destinations of a call that begins to wait.
func (d *destinations) addLocked(w *Call) {
	if len(w.Also) == 0 {
		return
	}
	if d.of == nil {
		d.of = map[string]map[string]*destination{}
	}
	d.n.Add(1)
	for _, from := range w.Keys {
		to := d.of[string(from)]
		if to == nil {
			to = map[string]*destination{}
			d.of[string(from)] = to
		}
		for _, key := range w.Also {
			if to[string(key)] == nil {
				to[string(key)] = &destination{}
			}
			to[string(key)].calls++
			to[string(key)].shards.Union(w.Shards)
		}
	}
}

// removeLocked forgets the destinations of a call whose wait ends.
func (d *destinations) removeLocked(w *Call) {
	if len(w.Also) == 0 {
		return
	}
	d.n.Add(-1)
	for _, from := range w.Keys {
		to := d.of[string(from)]
		for _, key := range w.Also {
			if to[string(key)].calls--; to[string(key)].calls == 0 {
				delete(to, string(key))
			}
		}
		if len(to) == 0 {
			delete(d.of, string(from))
		}
	}
}

// EachKey visits the keys of a call.
type EachKey func(visit func(key []byte))

// MaxDestinations is how many destinations are looked at for a call. Locking all
// shards, which takes a few microseconds, is quicker than looking at more.
const MaxDestinations = 64

// Widen adds the shards that serving the clients that wait for the call's keys can need besides
// those of these keys: those of their destinations, and of the destinations of clients
// that wait for these in turn.
func (q *Calls) Widen(set *persistence.Shards, keys EachKey) {
	if q.moving.n.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var todo []string
	seen := map[string]bool{}
	add := func(key string) {
		if !seen[key] {
			seen[key] = true
			todo = append(todo, key)
		}
	}
	keys(func(key []byte) {
		if len(q.moving.of[string(key)]) > 0 {
			add(string(key))
		}
	})
	for looked := 0; len(todo) > 0; {
		from := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for key, to := range q.moving.of[from] {
			if looked++; looked > MaxDestinations {
				set.AddAll()
				return
			}
			set.Union(to.shards)
			if len(q.moving.of[key]) > 0 {
				add(key)
			}
		}
	}
}
