package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// A server that runs becomes a member of another group, or a group by itself again. The other group takes it in
// first, so whatever speaks against that is found while nothing has changed. Then its part in its own group
// ends, and its store becomes that of the new member in one step (member.Member.Renew): a server that is
// killed starts as the one or the other. A learner that never came up for that reason is let go again (withdraw.go).
// ADR 0072.

// Errors of servers that cannot become members of another group, for clients.
var (
	errNotSingle = errors.New("only a server with cluster-enabled yes leaves its group while it runs: a new one can join another (docs/cluster.md)")
	errMoves     = errors.New("this server is joining another group")
	errSeveral   = errors.New("this server leads a group of several: CLUSTER FAILOVER at another one of them makes it a replica")
	errHasSlots  = errors.New("the group of this server has slots")
	errHasKeys   = errors.New("this server has keys")
	errNoMaster  = errors.New("that server is not known to lead a group")
	errSettles   = errors.New("this server does not lead its group yet")
	errStillOf   = errors.New("the group has not let this server go yet: too few of its members are heard")
)

// moveTimeout is how long a server waits for a group to take it in or to let it go.
const moveTimeout = 10 * time.Second

// changePause is how often a server that changes its group looks whether it has.
const changePause = 20 * time.Millisecond

// Replicate makes this server a member of the group that the server at an address of clients leads. The server must be
// a group by itself without slots and keys, or a replica, which leaves its group and loses its data. Replicate returns
// when clients can read the server, or after a while if it gets much data.
func (h *Handle) Replicate(ctx context.Context, master string) error {
	return h.change(ctx, func(ctx context.Context, n *Node) error {
		if err := n.mayMove(); err != nil {
			return err
		}
		g := n.ledBy(master)
		if g == nil {
			return errNoMaster
		}
		n.note(func(self *topology.Identity) { self.Bound = g.Name })
		next, err := n.enroll(ctx, g)
		if err != nil {
			return err
		}
		if err := n.resign(ctx); err != nil {
			return err
		}
		err = h.move(n, next, func() error {
			if !n.gone.Load() && n.runner.Load().Members().Assignment.Slots.Len() > 0 { // which it got a moment ago
				return errHasSlots
			}
			next.Others = n.cluster.Without(g.Name).Encode()
			return nil
		})
		if err == nil {
			h.Node().settle(ctx)
		}
		return err
	})
}

// Reset makes this server forget the cluster: it is a group by itself then, without slots. One of a group of several
// leaves that first, and loses its data, which the others have; one that is alone must not have keys.
// A call amid another one returns what that one returns: CLUSTER FORGET at other servers and CLUSTER RESET at this one,
// which tools send one after another, ask for the same.
func (h *Handle) Reset(ctx context.Context) error {
	done := h.resets.DoChan("", func() (any, error) { return nil, h.resetAlone(ctx) })
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return saidToClients{context.Cause(ctx)}
	}
}

func (h *Handle) resetAlone(ctx context.Context) error {
	return h.change(ctx, func(ctx context.Context, n *Node) error {
		if err := n.resign(ctx); err != nil {
			return err
		}
		if !n.gone.Load() && !n.runner.Load().View().Leads {
			return errSettles
		}
		next := &topology.Identity{Name: drawName(), Member: singleID, Starts: n.self.Starts, Address: n.self.Address}
		next.Group = topology.GroupID(n.config.Secret, next.Name)
		var farewell []byte
		err := h.move(n, next, func() error {
			farewell = n.cluster.Farewell()
			return nil
		})
		if err != nil {
			return err
		}
		n.takeLeave(farewell)
		return nil
	})
}

// change does something with the node, and no other change meanwhile.
func (h *Handle) change(ctx context.Context, do func(ctx context.Context, n *Node) error) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	if !h.moving.TryLock() {
		return errMoves
	}
	defer h.moving.Unlock()
	if err := h.changes.Take(ctx); err != nil {
		return saidToClients{err}
	}
	defer h.changes.Leave()
	n := h.Node()
	switch {
	case h.ctx.Err() != nil, n.runner.Load() == nil:
		return saidToClients{raftnode.ErrStopped}
	case !n.config.Single || n.cluster == nil:
		return errNotSingle
	}
	if err := do(ctx, n); err != nil {
		return saidToClients{err}
	}
	return nil
}

// mayMove returns why this server cannot leave its group for another one.
func (n *Node) mayMove() error {
	m, leads := n.roster(), n.runner.Load().View().Leads
	switch several := len(m.IDs()) > 1; {
	case n.gone.Load(), several && !leads:
		return nil
	case several:
		return errSeveral
	case m.Assignment.Slots.Len() > 0:
		return errHasSlots
	case !leads: // it may not have read all that it has
		return errSettles
	}
	return nil
}

// ledBy returns the other group whose leader is known to be at an address.
func (n *Node) ledBy(address string) *topology.Group {
	for _, g := range n.cluster.Division().Others {
		if address != "" && g.LeaderAddress() == address {
			return g.Group
		}
	}
	return nil
}

// enroll asks another group to take this server in, and returns which member of it the server is to be.
func (n *Node) enroll(ctx context.Context, g *topology.Group) (*topology.Identity, error) {
	next := n.memberOf(g.Name)
	return next, n.join(ctx, next, func() []string { return n.cluster.LeadersOf(g.Name) }, 0)
}

// memberOf is this server as a member of another group, which has no number there yet.
func (n *Node) memberOf(group string) *topology.Identity {
	return &topology.Identity{Name: group, Group: topology.GroupID(n.config.Secret, group), Starts: n.self.Starts, Address: n.self.Address}
}

// settle waits until this server has what its group had when it joined, hears the leader, and other groups have
// heard of it: tools ask them next.
func (n *Node) settle(ctx context.Context) {
	for n.View().Leader == 0 || !slices.Contains(n.roster().IDs(), n.self.Member) {
		if n.rest(ctx, changePause) != nil {
			return
		}
	}
	n.cluster.Look()
	var told sync.WaitGroup
	for _, address := range n.cluster.Targets(true) {
		told.Go(func() { _ = n.cluster.Exchange(ctx, address) }) // which is done every second, and logged
	}
	told.Wait()
}

// resign leaves a group of several, and returns when that has let this member go.
func (n *Node) resign(ctx context.Context) error {
	m := n.roster()
	if n.gone.Load() || len(m.IDs()) == 1 {
		return nil
	}
	if m.Voter(n.self.Member) && len(m.Conf.GetVoters()) == 1 {
		return raftnode.ErrLastVoter
	}
	n.leaving.Store(true) // attend asks for it
	for !n.gone.Load() {
		if n.rest(ctx, changePause) != nil {
			n.leaving.Store(false)
			return errStillOf
		}
	}
	return nil
}

// move makes this server, whose group has let it go or is to be dissolved, the member that next says, on a
// store without keys. ready is called when the node has ended its part. With its error, and with keys in a
// group of one, the server stays what it is.
func (h *Handle) move(n *Node, next *topology.Identity, ready func() error) error {
	if err := n.retire(); err != nil {
		return h.lost(err)
	}
	why, config := ready(), n.config
	if why == nil {
		why = h.renew(next, n.gone.Load())
	}
	switch {
	case why == nil:
		cluster := *config.Cluster
		cluster.Slots, cluster.All = nil, false
		if next.Member == singleID {
			cluster.Contacts = nil // it has left the cluster, and they would draw it back in
		}
		config.Cluster, config.Members, config.Join = &cluster, nil, nil
		config.ID, config.Replaces, config.Name, config.Alone = 0, 0, "", false
		config.Logf(logs.Notice, "this server was %s, and is %s in another group from now on",
			topology.MemberPublicID(config.Secret, n.self.Name, n.self.Member), topology.MemberPublicID(config.Secret, next.Name, next.Member))
	case !errors.Is(why, errHasKeys) && !errors.Is(why, errHasSlots):
		return h.lost(why)
	}
	again, err := listen(config, h.proposals, h.failed)
	if err == nil {
		err = h.start(again)
	}
	if err != nil {
		return h.lost(err)
	}
	h.node.Store(again)
	return why
}

// renew makes the store that of another member. With drop it may have keys.
func (h *Handle) renew(next *topology.Identity, drop bool) error {
	err := h.store.Renew(next.Encode(), drop)
	if errors.Is(err, member.ErrNotEmpty) {
		return errHasKeys
	}
	if err == nil {
		h.handlers.Leave()
	}
	return err
}

// lost tells that the server has left its group and cannot go on.
func (h *Handle) lost(err error) error {
	err = fmt.Errorf("cluster: the server has ended its part in its group, and cannot go on: %w", err)
	select {
	case h.failed <- err:
	default: // one reason is enough
	}
	return err
}

// takeLeave sends gossip to the servers of other groups. It waits for those that are there.
func (n *Node) takeLeave(gossip []byte) {
	if gossip == nil {
		return
	}
	m := mesh.New(mesh.Config{Cluster: topology.ClusterID(n.config.Secret), Dial: n.dial, Logf: func(string, ...any) {}})
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), topology.ExchangeTimeout)
	defer cancel()
	var sent sync.WaitGroup
	for _, address := range n.cluster.Targets(true) {
		if bus, err := topology.BusOf(address); err == nil {
			sent.Go(func() {
				if _, err := m.Ask(ctx, bus, 0, gossip); err != nil {
					n.config.Logf(logs.Info, "%s is not told that this server has left its group: %v", address, err)
				}
			})
		}
	}
	sent.Wait()
}
