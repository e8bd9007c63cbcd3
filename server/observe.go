package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/blocking"
)

// observation is WATCH for a call that works on keys without their locks, by a client of its own.
type observation struct {
	client commands.Client
	watching
}

// Observe implements [commands.Relocker].
func (h host) Observe(db int, keys [][]byte) commands.Observation {
	o := &observation{}
	o.watching = watching{client: &o.client, all: &h.srv.watches}
	for _, key := range keys {
		o.watch(blocking.Key{DB: db, Name: string(key)}, func() bool { return false })
	}
	return o
}

func (o *observation) Changed() bool { return o.client.Has(commands.ClientDirtyCAS) }

func (o *observation) End() { o.unwatch() }
