package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// A server that another group has taken in, and that is killed before it goes over, or that its own group does not let
// go, has left a learner there which never comes up: clients would be told of a node at an address where another one is. So it notes which
// group it asks. If its own group has let it go, it goes on; otherwise it asks the other one to let the learner go.

const (
	withdrawPeriod = time.Second
	// withdrawPeriods is for how many periods a group must be heard, and not have the learner, until none can come: what
	// asked for it has ended after moveTimeout.
	withdrawPeriods = 30
)

// withdraw ends with the node.
func (h *Handle) withdraw(n *Node) {
	for without := 0; n.rest(n.ctx, withdrawPeriod) == nil; {
		group := n.bound()
		if group == "" {
			without = 0
			continue
		}
		if n.gone.Load() {
			go h.goOver(n, group) // not one of the tasks of n, which end amid that; Close waits for it
			continue
		}
		left, err := h.withdrawFrom(n, group)
		switch {
		case err != nil:
			n.report("this server is still expected by another group", err)
		case left:
			without = 0
		default:
			without++
		}
		if n.cluster.NobodyIn(group) || without > withdrawPeriods {
			n.note(func(self *topology.Identity) {
				if self.Bound == group {
					self.Bound = ""
				}
			})
		}
	}
}

// goOver makes this server, which has left its group, the member of another one that it was to be.
func (h *Handle) goOver(n *Node, group string) {
	if address := n.cluster.LeaderOf(group); address != "" {
		if err := h.Replicate(h.ctx, address); !errors.Is(err, errMoves) {
			n.report("this server is not taken in by the group that it was joining", err)
		}
	}
}

// bound is the group that this server has asked to take it in, "" for none.
func (n *Node) bound() string {
	n.noting.Lock()
	defer n.noting.Unlock()
	return n.noted.Bound
}

// withdrawFrom asks another group to let the learner go that has the address of this server, if there is one. It does
// nothing while this server is joining that group.
func (h *Handle) withdrawFrom(n *Node, group string) (left bool, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, topology.ExchangeTimeout)
	defer cancel()
	if err := h.changes.Take(ctx); err != nil {
		return false, err
	}
	defer h.changes.Leave()
	if n.ctx.Err() != nil || n.bound() != group { // it has gone over meanwhile, or to another one
		return false, raftnode.ErrStopped
	}
	if !n.cluster.Up(group) {
		return false, errors.New("cluster: it is not heard")
	}
	id := n.cluster.ExpectedIn(group)
	if id == 0 {
		return false, nil
	}
	m := n.visitor(n.memberOf(group))
	defer m.Close()
	if _, err := ask(ctx, m, n.cluster.LeadersOf(group), &request{What: asksExpel, Leaves: id, Unheard: true}); err != nil {
		return false, err
	}
	n.config.Logf(logs.Notice, "%s lets member %d go, as which this server has not come up", n.cluster.Label(group), id)
	return true, nil
}

// report logs what keeps this server from something, once a minute.
func (n *Node) report(what string, err error) {
	if err != nil && n.ctx.Err() == nil && n.said.Due(what+err.Error(), n.monotonic()) {
		n.config.Logf(logs.Notice, "%s: %v", what, err)
	}
}
