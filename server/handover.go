package server

import (
	"time"

	"github.com/vigildb/vigil/persistence"
)

// handOver transfers leadership to another member before this server ends.
func (srv *Server) handOver() {
	if g := srv.opts.Group; g != nil {
		g.HandOver()
	}
}

// whyStay is why mayLeave is false.
const whyStay = "no other member of the group could take over its keys"

// mayLeave reports whether the keys can be used when this server has ended: see [door.Server].
func (srv *Server) mayLeave() bool {
	m := host{srv}.Membership()
	if m == nil || !m.Leads || m.Slots != nil && m.Slots.Len() == 0 {
		return true
	}
	for i := range m.Members {
		if i != m.Self && !m.Members[i].Learner && m.Up(i) {
			return true
		}
	}
	return false
}

// settlePatience is how long a leader waits in settle: a script may take longer.
const settlePatience = 100 * time.Millisecond

// settle lets clients change nothing any more, until resume is called, and waits until what they have changed is committed. What is not
// when the leadership ends has to be given up, which takes as long as to read the journal, and meanwhile the next leader may wait for
// the vote of this member, and clients of this one for its replies.
func (srv *Server) settle() (resume func()) {
	srv.pause.Settle(1)
	settled, late := make(chan struct{}), make(chan struct{})
	go func() { // ends when the locks are free, and the commit is known or the leadership has ended
		defer close(settled)
		var all persistence.Shards
		all.AddAll()
		tx := srv.store.NewTx()
		if tx.Lock(&all, srv.clock.Now().UnixMilli()) { // what had begun has ended
			tx.Unlock()
			_ = srv.store.Commits().WaitDurable(srv.store.Commits().Newest())
		}
	}()
	defer srv.clock.AfterFunc(settlePatience, func() { close(late) })()
	select {
	case <-settled:
	case <-late:
	}
	return func() { srv.pause.Settle(-1) }
}

// HandOver transfers leadership to another member: the reply does not wait for that.
func (h host) HandOver() {
	srv := h.srv
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.opts.Group != nil && !srv.closed {
		srv.workers.Go(srv.opts.Group.HandOver)
	}
}
