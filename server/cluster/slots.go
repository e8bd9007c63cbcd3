package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/migrate"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// What a server asks of its cluster: which slots its group has, gets and gives, and what other servers say.

var errNoCluster = errors.New("cluster: clients of this server see no cluster")

// compare logs that the configuration of this server names other slots than its group has. Slots may have moved since
// it began.
func (n *Node) compare(c topology.Assignment) {
	if n.config.Cluster == nil || !c.Assigned() {
		return
	}
	if want := n.config.Cluster.Slots; want != nil && !want.Equal(c.Slots) {
		n.config.Logf(logs.Notice, "the group has the slots %q by now; cluster-slots %q applies to new groups only and is ignored", c.Slots, want)
	}
}

// group is the group of a node as [migrate.Slots] sees it.
type group struct{ n *Node }

// Assignment implements [migrate.Group], as do the methods below.
func (g group) Assignment() (now topology.Assignment, leads bool) {
	return g.n.roster().Assignment, g.n.runner.Load().Seen().Leads
}

// Agree changes the assignment of the group.
func (g group) Agree(ctx context.Context, c topology.Change) (proposed bool, err error) {
	return g.n.runner.Load().Agree(ctx, c)
}

// Leading returns the term in which this member leads.
func (g group) Leading() (term uint64) { return g.n.runner.Load().Leading() }

// Lease reports whether this member leads for certain, and how many of its leaderships have ended.
func (g group) Lease() (held bool, ends uint64) {
	r := g.n.runner.Load()
	return r.Held(), r.Ends()
}

// Settled returns the assignment when nothing of it is about to change.
func (g group) Settled() (index uint64, now topology.Assignment, err error) {
	r := g.n.runner.Load()
	if err := r.WaitHeld(); err != nil {
		return 0, now, err
	}
	m, err := r.Settled()
	if err != nil {
		return 0, now, err
	}
	return m.Index, m.Assignment, nil
}

// written reports whether the log of the group has records.
func (n *Node) written() (bool, error) {
	_, last := n.log.Bounds()
	record, err := n.log.LastRecord(last)
	return record != 0, err
}

// follows says why this server does not do what a leader does, and where that is found, if it is known; "" at a leader.
func (n *Node) follows() (why, leader string) {
	r := n.runner.Load()
	if r == nil || n.gone.Load() {
		return "the member is starting, or has left its group", ""
	}
	if v := r.View(); !v.Leads {
		at := n.refer(v)
		return at.Error, at.Leader
	}
	return "", ""
}

// ofSlots does what a client asks for that is about slots.
func (h *Handle) ofSlots(do func(of *migrate.Slots) error) error {
	n := h.Node()
	return n.inCluster(func(*raftnode.Runner) error { return do(n.slots) })
}

// Meet exchanges tables with the server at an address.
func (h *Handle) Meet(ctx context.Context, address string) error {
	n := h.Node()
	return n.inCluster(func(*raftnode.Runner) error {
		if address == n.self.Address {
			return nil
		}
		return n.cluster.ExchangeWith(ctx, address, 0)
	})
}

// TakeSlots gives slots that no group has to that of this server, which leads it.
func (h *Handle) TakeSlots(ctx context.Context, add *slots.Set) error {
	return h.ofSlots(func(of *migrate.Slots) error { return of.Claim(ctx, add) })
}

// DropSlots takes slots from the group of this server, which leads it.
func (h *Handle) DropSlots(ctx context.Context, drop *slots.Set) error {
	return h.ofSlots(func(of *migrate.Slots) error { return of.Drop(ctx, drop) })
}

// BuryGroup buries the group of the member with a public ID; see [migrate.Slots.Bury]. known is false if no group has such a member.
func (h *Handle) BuryGroup(ctx context.Context, id string) (freed *slots.Set, known bool, err error) {
	n := h.Node()
	err = n.inCluster(func(*raftnode.Runner) error {
		g, _ := n.cluster.MemberOf(id)
		if known = g != nil && len(g.Members) > 0; !known {
			return nil
		}
		freed, err = n.slots.Bury(ctx, g)
		return err
	})
	return freed, known, err
}

// OrderMove tells a group to move slots; see [migrate.Slots.Order].
func (h *Handle) OrderMove(ctx context.Context, from, to string, of *slots.Set) error {
	return h.ofSlots(func(o *migrate.Slots) error { return o.Order(ctx, from, to, of) })
}

// BeginMove tells another group to expect slots; see [migrate.Slots.Begin].
func (h *Handle) BeginMove(ctx context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error) {
	err = h.ofSlots(func(o *migrate.Slots) (e error) {
		attempt, databases, e = o.Begin(ctx, to, of)
		return e
	})
	return attempt, databases, err
}

// SendKeys sends keys to the other group; see [migrate.Slots.Send].
func (h *Handle) SendKeys(ctx context.Context, attempt uint64, keys []byte) error {
	return h.ofSlots(func(of *migrate.Slots) error { return of.Send(ctx, attempt, keys) })
}

// GiveSlots gives the slots of an attempt away; see [migrate.Slots.Give].
func (h *Handle) GiveSlots(ctx context.Context, attempt uint64) (decided bool, err error) {
	decided = true
	err = h.ofSlots(func(of *migrate.Slots) (e error) {
		decided, e = of.Give(ctx, attempt)
		return e
	})
	return decided, err
}

// EndMove ends an attempt, which changes nothing unless the slots were given away.
func (h *Handle) EndMove(attempt uint64) {
	if of := h.Node().slots; of != nil {
		of.End(attempt)
	}
}

// Passing returns the slots that are being moved; see [migrate.Slots.Passing].
func (h *Handle) Passing() (importing, expected, left *slots.Set) {
	n := h.Node()
	if n.slots == nil || n.runner.Load() == nil {
		return nil, nil, nil
	}
	return n.slots.Passing()
}

// AskServer sends a request to another server, at its address of clients, and returns the reply, within some 15 seconds.
func (h *Handle) AskServer(ctx context.Context, address string, request []byte) (reply []byte, err error) {
	n := h.Node()
	err = n.inCluster(func(*raftnode.Runner) error {
		reply, err = n.cluster.AskServer(ctx, address, request)
		return err
	})
	return reply, err
}

// HoldStill keeps moves of slots from beginning for a while; see [migrate.Slots.HoldStill].
func (h *Handle) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	err = h.ofSlots(func(of *migrate.Slots) (e error) {
		index, own, e = of.HoldStill(d)
		return e
	})
	return index, own, err
}
