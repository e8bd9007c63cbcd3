package server

import (
	"time"

	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/persistence"
)

// handOver has another member lead before this server ends.
func (srv *Server) handOver() {
	if g := srv.opts.Group; g != nil {
		g.HandOver(srv.settle)
	}
}

// settlePatience is how long a leader that ends waits in settle: a script may take longer.
const settlePatience = 100 * time.Millisecond

// settle has clients change nothing any more, and waits until what they have changed is committed. What is not when the
// leadership ends has to be given up, which takes as long as to read the journal, and meanwhile the next leader may wait for
// the vote of this member.
func (srv *Server) settle() {
	srv.setPause(conn.PauseWrite, srv.clock.Now().Add(time.Hour).UnixMilli()) // the server ends before
	settled, late := make(chan struct{}), make(chan struct{})
	srv.workers.Go(func() {
		defer close(settled)
		var all persistence.Shards
		all.AddAll()
		tx := srv.store.NewTx()
		if tx.Lock(&all, srv.clock.Now().UnixMilli()) { // what had begun has ended
			tx.Unlock()
			_ = srv.store.WaitDurable(srv.store.Newest()) // or until it does not lead
		}
	})
	defer srv.clock.AfterFunc(settlePatience, func() { close(late) })()
	select {
	case <-settled:
	case <-late:
	}
}

// HandOver has another member lead: the reply does not wait for that.
func (h host) HandOver() {
	srv := h.srv
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.opts.Group != nil && !srv.closed {
		srv.workers.Go(func() { srv.opts.Group.HandOver(nil) })
	}
}
