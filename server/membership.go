package server

import (
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/pubsub"
)

// leaderView is what a server remembers of the leaders of its group.
type leaderView struct {
	last      atomic.Pointer[commands.Member] // the last one that was known
	announced atomic.Pointer[commands.Member] // the one that clients were told of
}

// Membership is what this server knows of its group, nil if it is alone. While there is no
// leader, the last one is in its place, if it still is a member.
func (h host) Membership() *commands.Membership {
	if h.srv.opts.Membership == nil {
		return nil
	}
	m := h.srv.opts.Membership()
	if m == nil {
		return nil
	}
	if m.Leader >= 0 {
		h.srv.leader.last.Store(&m.Members[m.Leader])
		h.srv.leader.announced.CompareAndSwap(nil, &m.Members[m.Leader])
		return m
	}
	old := *m
	old.Led, old.Leader = false, -1
	if last := h.srv.leader.last.Load(); last != nil {
		old.Leader = slices.IndexFunc(m.Members, func(o commands.Member) bool { return o.ID == last.ID })
	}
	return &old
}

// Copies returns a function that counts the other members, or else the replicas, that have what the client has
// written by now. What was given up with a leadership no member has.
func (s *session) Copies(_ *commands.Ctx, durable bool) func() int {
	if s.Membership() == nil {
		return s.replicaLink.copies(durable)
	}
	h, position := s.host, s.durability.last()
	return func() (n int) {
		m := h.Membership()
		if m == nil || !m.Leads || !h.srv.store.Commits().Confirmed(position) {
			return 0
		}
		m.Others(m.Self, func(_ int, o *commands.Member) {
			if position == 0 && o.Active || position != 0 && o.Record >= persistence.Record(position) {
				n++
			}
		})
		return n
	}
}

// announceLeader publishes that another member leads, as a Sentinel does after a failover.
// The first leader that was seen, by this or by a client that asked, is not announced: it
// comes after no other.
func (srv *Server) announceLeader() {
	m := host{srv}.Membership()
	if m == nil || !m.Led {
		return
	}
	now := &m.Members[m.Leader]
	old := srv.leader.announced.Swap(now)
	if old.Host == now.Host && old.Port == now.Port {
		return
	}
	text := m.Name + " " + old.Host + " " + strconv.Itoa(old.Port) + " " + now.Host + " " + strconv.Itoa(now.Port)
	srv.broker.Publish(pubsub.Channel, []byte("+switch-master"), []byte(text), nil, nil)
}
