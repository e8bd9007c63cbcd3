package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/server/peers"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/server/internal/group"
)

// A master without slots leaves the cluster when CLUSTER FORGET of it is sent to any other server, as a replica leaves its
// group: that server asks it to forget the cluster itself, which it alone can do. If it has replicas, it is asked when these have
// gone: redis-cli --cluster del-node asks some servers to forget a master before it moves the replicas to others. ADR 0072.

// asksDismissal is asked of a server that is a group by itself: forget the cluster, unless it has slots or keys.
var asksDismissal = peers.Kind[dismissal, peers.Nothing]{What: "dismiss"}

// dismissal says which server is to forget the cluster.
type dismissal struct {
	Node string `json:",omitempty"` // its ID
}

// lookForDismissed is the time between two looks whether a server has left, or may, and maxDismissLooks how many there are: once its
// last slots have gone it leaves at once or not at all. One that has ended the connection without a reply may be about to leave: there
// are maxUnheardLooks.
const (
	lookForDismissed = 20 * time.Millisecond
	maxDismissLooks  = 500
	maxUnheardLooks  = 50
)

// A master whose replicas are still there leaves after them: looks whether it is alone are lookForAlone apart, and there are
// maxAloneLooks, which is a minute.
const (
	lookForAlone  = 100 * time.Millisecond
	maxAloneLooks = 600
)

var (
	errDismissUnheard  = errors.New("the node does not respond: VIGIL.CLUSTER BURY gives up one that is gone for good")
	errDismissSlots    = errors.New("the node has slots: VIGIL.CLUSTER REBALANCE WEIGHT <node-id> 0 moves them to the others")
	errDismissMoves    = peers.Transient(errors.New("slots of the node are being moved"))
	errDismissReplicas = errors.New("the node has replicas: they leave first, by CLUSTER FORGET of each")
	errDismissKeys     = errors.New("the node has keys, of slots that it does not have any more: FLUSHALL there removes them")
	errDismissLate     = errors.New("the node has not left the cluster yet: its log may say why")
	errDismissSettles  = errors.New("the node does not lead its group now")
)

// Dismiss makes the server with an ID and an address forget the cluster, as [cluster.Dismisser] says.
func (h host) Dismiss(ctx context.Context, id, address string) error {
	return h.abroadIn(func(group.Group) (err error) {
		asked := false
		for looks := maxDismissLooks; looks > 0; looks-- {
			if !asked {
				err = h.srv.askToLeave(ctx, id, address)
				asked = err == nil
				switch {
				case errors.Is(err, errDismissUnheard):
					asked, looks = true, min(looks, maxUnheardLooks)
				case err != nil && !errors.Is(err, errDismissMoves):
					return err
				}
			}
			if g, _ := h.groupOf(id); asked && g == nil {
				return nil
			}
			if clock.Rest(ctx, h.srv.clock, lookForDismissed) != nil {
				return context.Cause(ctx)
			}
		}
		return cmp.Or(err, errDismissLate)
	})
}

// DismissAlone makes the server with an ID forget the cluster when its replicas have gone, as [cluster.Dismisser] says.
func (h host) DismissAlone(id string) {
	h.srv.dismissOnce(id, func(ctx context.Context) error { return h.dismissAlone(ctx, id) })
}

// dismissOnce calls leave in the background, unless it runs for that server already. began is false if this server ends.
func (srv *Server) dismissOnce(id string, leave func(context.Context) error) (began bool) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.closed || slices.Contains(srv.dismissing, id) {
		return !srv.closed
	}
	srv.dismissing = append(srv.dismissing, id)
	srv.workers.Go(func() { // ends with the group's part, or when that cannot end
		if err := leave(srv.done); err != nil && srv.done.Err() == nil {
			srv.logf(logWarning, "CLUSTER FORGET of %s was sent, and it stays: %v", id, err)
		}
		srv.mu.Lock()
		defer srv.mu.Unlock()
		srv.dismissing = slices.DeleteFunc(srv.dismissing, func(other string) bool { return other == id })
	})
	return true
}

// dismissAlone waits until a master has no replicas, and makes it forget the cluster.
func (h host) dismissAlone(ctx context.Context, id string) error {
	for range maxAloneLooks {
		switch g, i := h.groupOf(id); {
		case g == nil, g.Leader != i: // it has left, or another one leads in its place
			return nil
		case g.Slots.Len() > 0:
			return errDismissSlots
		case len(g.Members) == 1:
			return h.Dismiss(ctx, id, g.Members[i].Address())
		}
		if clock.Rest(ctx, h.srv.clock, lookForAlone) != nil {
			return context.Cause(ctx)
		}
	}
	return errDismissReplicas
}

// groupOf returns the other group that a node is known to belong to, by its ID, and its index there; nil if it is not known.
func (h host) groupOf(id string) (g *commands.Shard, i int) {
	m := h.Membership()
	if m == nil {
		return nil, 0
	}
	for k := range m.OtherShards {
		g = &m.OtherShards[k]
		if i = slices.IndexFunc(g.Members, func(m commands.Member) bool { return m.ID == id }); i >= 0 {
			return g, i
		}
	}
	return nil, 0
}

// askToLeave asks a server to forget the cluster. The error is errDismissMoves if it may soon.
func (srv *Server) askToLeave(ctx context.Context, id, address string) error {
	_, err := asksDismissal.Ask(ctx, &srv.peers, address, &dismissal{id})
	switch {
	case err == nil:
		return nil
	case peers.IsTransient(err):
		return errDismissMoves
	case errors.As(err, new(peers.Refusal)):
		return err
	}
	return errors.Join(errDismissUnheard, err)
}

// dismissed makes this server forget the cluster, soon after it has said so: the connection on which it was asked ends with its part
// in the group.
func (srv *Server) dismissed(ctx context.Context, m *commands.Membership, q *dismissal) (*peers.Nothing, error) {
	node := m.Members[m.Self].ID
	if node != q.Node {
		return nil, nil // it has left already
	}
	if err := srv.mayDismiss(ctx, m); err != nil {
		return nil, err
	}
	if !srv.dismissOnce(node, srv.opts.Group.Reset) {
		return nil, errDismissSettles
	}
	return nil, nil
}

// mayDismiss returns why this server does not forget the cluster.
func (srv *Server) mayDismiss(ctx context.Context, m *commands.Membership) error {
	_, expected, left := srv.opts.Group.Passing()
	switch {
	case len(m.Members) > 1:
		return errDismissReplicas
	case !m.Leads:
		return errDismissSettles
	case m.Shards()[0].Slots.Len() > 0:
		return errDismissSlots
	case expected.Len() > 0, left.Len() > 0: // REBALANCE sends the last ones to others, and del-node follows at once
		return errDismissMoves
	}
	var keys error
	err := host{srv}.ScanSlots(ctx, cluster.EveryDB, slots.All(), func([]byte) bool {
		keys = errDismissKeys
		return false
	})
	return errors.Join(err, keys)
}
