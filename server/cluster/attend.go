package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// What a node does about its own part in the group, beside what the driver does.

// address returns where clients connect to a member, "" if that is not known.
func (n *Node) address(id uint64) string { return n.addressIn(n.roster(), id) }

// addressIn returns the address of a member: the one that the group has agreed on, else that of the
// configuration, else the one that this server was told when it joined.
func (n *Node) addressIn(m *raftnode.Members, id uint64) string {
	if m != nil && m.Addresses[id] != "" {
		return m.Addresses[id]
	}
	if address := n.founderAddress(id); address != "" {
		return address
	}
	if id == n.self.Member { // a founder by itself, before the log has it
		return n.self.Address
	}
	return n.self.Known[id] // which does not change any more
}

func (n *Node) founderAddress(id uint64) string {
	if m := n.config.founder(id); m != nil {
		return m.Address()
	}
	return ""
}

// addresses are those of all members.
func (n *Node) addresses() map[uint64]string {
	m, of := n.roster(), map[uint64]string{}
	for _, id := range m.IDs() {
		of[id] = n.addressIn(m, id)
	}
	return of
}

// toldAddress is where a member says that it is.
func (n *Node) toldAddress(id uint64) string {
	if id == n.self.Member {
		return n.self.Address
	}
	return topology.ClientsOf(n.mesh.Told(id).Address)
}

// meetLocked gives the mesh the members of the group. A server that joins adds those that it was told until the log lists
// this server.
func (n *Node) meetLocked(m *raftnode.Members) {
	n.members = m
	r := mesh.Roster{Peers: map[uint64]string{}, Fixed: map[uint64]bool{}, Former: map[uint64]bool{}}
	ids := m.IDs()
	if !slices.Contains(ids, n.self.Member) { // it has not read yet that it has joined
		ids = slices.AppendSeq(ids, maps.Keys(n.self.Known))
	}
	for _, id := range m.Left {
		r.Former[id] = true
	}
	for _, id := range ids {
		bus, err := topology.BusOf(n.addressIn(m, id))
		if err != nil || n.gone.Load() || r.Former[id] {
			continue
		}
		r.Peers[id], r.Fixed[id] = bus, m.Addresses[id] != ""
	}
	n.mesh.SetRoster(r)
}

// changed is called by the driver when the members have changed.
func (n *Node) changed(m *raftnode.Members) {
	n.mu.Lock()
	before := n.members
	n.meetLocked(m)
	n.mu.Unlock()
	if n.cluster != nil && n.cluster.Look() { // before this member leads, or clients go by what was so
		n.cluster.Broadcast()
	}
	n.tell(before, m)
	if slices.Contains(m.Left, n.self.Member) {
		n.dismiss("the group has let it go")
	}
}

// tell logs what has changed.
func (n *Node) tell(before, now *raftnode.Members) {
	if before == nil || now.Joint() {
		return
	}
	if before.EffectiveLevel() < now.EffectiveLevel() {
		n.config.Logf(logs.Notice, "the group has level %d from now on: versions that know a lower one only cannot take part any more", now.EffectiveLevel())
	}
	old, there := before.IDs(), now.IDs()
	for _, id := range there {
		switch address := n.addressIn(now, id); {
		case !slices.Contains(old, id):
			n.config.Logf(logs.Notice, "member %d at %s has joined the group, as %s", id, address, now.Role(id))
		case before.Addresses[id] != "" && before.Addresses[id] != address:
			n.config.Logf(logs.Notice, "member %d is at %s now, no longer at %s", id, address, before.Addresses[id])
		}
		if before.Joint() && now.Voter(id) && !slices.Contains(before.Conf.GetVotersOutgoing(), id) {
			n.config.Logf(logs.Notice, "member %d votes from now on", id)
		}
	}
	for _, id := range old {
		if !slices.Contains(there, id) {
			n.config.Logf(logs.Notice, "member %d has left the group", id)
		}
	}
}

// dismiss notes that this server has left the group, and ends its connections.
func (n *Node) dismiss(why string) {
	if n.gone.Swap(true) {
		return
	}
	n.config.Logf(logs.Warn, "this server, member %d, has left the group (%s): it takes no part any more, and its clients get errors", n.self.Member, why)
	n.note(func(self *topology.Identity) { self.Left = true })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.meetLocked(n.members)
}

// note changes what the directory says of this server.
func (n *Node) note(change func(self *topology.Identity)) {
	n.noting.Lock()
	defer n.noting.Unlock()
	change(&n.noted)
	if err := n.log.SetIdentity(n.noted.Encode()); err != nil {
		n.config.Logf(logs.Warn, "what this server knows of its group and of others is not noted: %v", err)
	}
}

// Gone reports whether this server has left its group.
func (h *Handle) Gone() bool { return h.Node().gone.Load() }

// refused implements mesh.Config.Refused.
func (n *Node) refused(incoming bool, where string, why error) {
	direction := "to"
	if incoming {
		direction = "from"
	}
	key := where
	if incoming {
		if host, _, err := net.SplitHostPort(where); err == nil {
			key = host // the port of one that connects is always another
		}
	}
	if n.said.Due(direction+key+why.Error(), n.monotonic()) {
		n.config.Logf(logs.Notice, "no connection %s %s: %v", direction, where, why)
	}
	if incoming {
		return
	}
	r := n.runner.Load()
	switch {
	case errors.Is(why, mesh.ErrFormer):
		n.dismiss(where + " says so")
	case errors.Is(why, mesh.ErrCopied), errors.Is(why, mesh.ErrSame):
		n.fail(fmt.Errorf("%s refuses this server: %w: two servers must not run from copies of one directory, nor with one id", where, why))
	case errors.Is(why, mesh.ErrElsewhere) && r != nil && r.Heard() > hopeForMove*n.config.Election:
		n.fail(fmt.Errorf("%s refuses this server: %w: another server has taken its place", where, why))
	}
}

// attend asks the leader for what this member wants: to vote when it has caught up, or to leave.
func (n *Node) attend() {
	last, since := "", time.Duration(0)
	for n.rest(n.ctx, max(n.config.Election, 100*time.Millisecond)) == nil {
		if !n.gone.Load() {
			since = n.leaderless(n.runner.Load().View(), since)
		}
		err := n.want()
		if err != nil && err.Error() != last && n.ctx.Err() == nil {
			last = err.Error()
			n.config.Logf(logs.Info, "%v", err)
		}
	}
}

// want asks once, if there is something to ask for.
func (n *Node) want() error {
	r := n.runner.Load()
	v := r.View()
	if n.gone.Load() {
		return nil
	}
	if v.Leader == 0 {
		return n.news()
	}
	self, there := n.self.Member, n.roster()
	q := &request{What: asksPromote, Member: self, Replaces: n.self.Replaces}
	switch {
	case n.leaving.Load():
		q.What = asksLeave
	case !slices.Contains(there.Conf.GetLearners(), self) || v.Received > 0 || v.Committed == 0:
		return nil
	}
	ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
	defer cancel()
	if v.Leads { // and leaves
		r.HandOver()
		return nil
	}
	a, err := ask(ctx, n.mesh, []string{n.address(v.Leader)}, q)
	switch {
	case err == nil && a.Gone:
		n.dismiss("the leader says so")
	case err != nil:
		return fmt.Errorf("the leader does not let this member %s: %w", q.What, err)
	}
	return nil
}

func (n *Node) roster() *raftnode.Members {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.members
}

// news asks the others, if no leader is heard, whether this server still is a member. It may be
// one that has no reason to say anything itself.
func (n *Node) news() error {
	var others []string
	for id, address := range n.addresses() {
		if id != n.self.Member && address != "" {
			others = append(others, address)
		}
	}
	if len(others) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
	defer cancel()
	a, err := ask(ctx, n.mesh, others, &request{What: asksNews, Member: n.self.Member})
	if err != nil {
		return fmt.Errorf("no leader is heard, and nobody else: %w", err)
	}
	if a.Gone {
		n.dismiss("another member says so")
	}
	return nil
}

// RemoveMember removes a member from the group, at the leader; see [raftnode.Runner.Leave]. When a server removes itself,
// RemoveMember does not wait: the server hands over first, and asks until it is removed.
func (h *Handle) RemoveMember(ctx context.Context, id uint64, force bool) error {
	n := h.Node()
	return n.asked(func(r *raftnode.Runner) error {
		if id != n.self.Member {
			return r.Leave(ctx, id, force)
		}
		if m := n.roster(); m.Voter(id) && len(m.Conf.GetVoters()) == 1 {
			return raftnode.ErrLastVoter
		}
		n.leaving.Store(true)
		return nil
	})
}

// ReplaceMember promotes a member to voter in place of another one, which leaves; see [raftnode.Runner.Promote].
func (h *Handle) ReplaceMember(ctx context.Context, leaves, by uint64) error {
	return h.Node().asked(func(r *raftnode.Runner) error { return r.Promote(ctx, by, leaves) })
}

// TransferTo transfers the leadership to a member, at the leader.
func (h *Handle) TransferTo(id uint64) error {
	return h.Node().asked(func(r *raftnode.Runner) error { return r.Transfer(id) })
}

// RecoverVote lets this member vote although it may lack what it has acknowledged; see [raftnode.Runner.Recover].
func (h *Handle) RecoverVote() (last, term uint64, err error) {
	n := h.Node()
	err = n.asked(func(r *raftnode.Runner) (e error) {
		last, term, e = r.Recover(2 * n.config.Election)
		return e
	})
	if err == nil {
		n.config.Logf(logs.Warn, "member %d votes again by VIGIL.CLUSTER RECOVER, with what it has up to entry %d of term %d: acknowledged writes that are on no member any more are lost", n.self.Member, last, term)
	}
	return last, term, err
}

// asked does what a client asks for, if this server takes part. Errors lose the name of the package.
func (n *Node) asked(do func(r *raftnode.Runner) error) error {
	r, err := n.runner.Load(), raftnode.ErrStopped
	switch {
	case n.gone.Load():
		err = raftnode.ErrGone
	case r != nil:
		err = do(r)
	}
	if err != nil {
		return saidToClients{err}
	}
	return nil
}

// inCluster is asked for what a server does that is of a cluster.
func (n *Node) inCluster(do func(r *raftnode.Runner) error) error {
	return n.asked(func(r *raftnode.Runner) error {
		if n.cluster == nil {
			return errNoCluster
		}
		return do(r)
	})
}

// saidToClients is an error without the name of the package.
type saidToClients struct{ error }

func (e saidToClients) Error() string { return strings.ReplaceAll(e.error.Error(), "cluster: ", "") }

func (e saidToClients) Unwrap() error { return e.error }

// Upgrade raises the level of the group, at the leader; see [raftnode.Runner.Upgrade]. It returns what the levels between add.
func (h *Handle) Upgrade(ctx context.Context, dry bool) (from, to uint64, adds []string, err error) {
	n := h.Node()
	err = n.asked(func(r *raftnode.Runner) (e error) {
		from, to, e = r.Upgrade(ctx, dry)
		return e
	})
	for level := from + 1; err == nil && level <= to; level++ {
		adds = append(adds, persistence.WhatLevelAdds(level))
	}
	return from, to, adds, err
}
