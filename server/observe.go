package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/blocking"
)

// observation is WATCH for a call that works on keys without their locks: a session that watches them, of no client.
type observation struct{ s *session }

// Observe implements [commands.Relocker].
func (h host) Observe(db int, keys [][]byte) commands.Observation {
	o := observation{&session{host: h}}
	o.s.txn.watched = map[blocking.Key]*watchedKey{}
	for _, key := range keys {
		k := blocking.Key{DB: db, Name: string(key)}
		if o.s.txn.watched[k] == nil {
			w := &watchedKey{Key: k, s: o.s}
			o.s.txn.watched[k] = w
			h.srv.watches.add(w)
		}
	}
	return o
}

func (o observation) Changed() bool { return o.s.Has(commands.ClientDirtyCAS) }

func (o observation) End() { o.s.unwatch() }
