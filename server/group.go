package server

import (
	"context"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/commits"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/transport"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
	"github.com/vigildb/vigil/server/internal/handlers"
)

// gate is what a member of a group has recorded as transports see it: what they wait for is
// committed, and shown only by a leader that still leads. Every reply of a leader that
// depends on keys awaits a position, be it that of no record.
type gate struct {
	*commits.Commits
	group group.Group
}

// Confirmed implements [transport.Store].
func (g gate) Confirmed(position uint64) bool { return g.Commits.Confirmed(position) && g.group.Held() }

// WaitDurable implements [transport.Store].
func (g gate) WaitDurable(position uint64) error {
	if err := g.Commits.WaitDurable(position); err != nil {
		return err
	}
	return g.group.WaitHeld()
}

// NotifyDurable implements [transport.Store].
func (g gate) NotifyDurable(position uint64, f func(error)) {
	g.Commits.NotifyDurable(position, func(err error) {
		if err != nil || g.group.Held() {
			f(err)
			return
		}
		// Ends when this member leads for certain, or does not lead any more.
		go func() { f(g.group.WaitHeld()) }()
	})
}

// gated is the store as transports see it.
func (srv *Server) gated() transport.Store {
	if g := srv.opts.Group; g != nil {
		return gate{srv.store.Commits(), g}
	}
	return srv.store.Commits()
}

// join takes part in the group, if there is one. The data is loaded.
func (srv *Server) join() error {
	g := srv.opts.Group
	if g == nil {
		return nil
	}
	if srv.sockets.open() { // the loops are for sockets
		if err := srv.loops.Start(srv.settings().conf.IOThreads); err != nil {
			return err
		}
	}
	srv.workers.Go(func() { srv.fanout.Run(srv.done.Done()) }) // Load has not ended, so that Close waits for it
	srv.workers.Go(func() { srv.channels.Run(srv.done.Done(), srv.clients.wakeSubscribers) })
	srv.workers.Go(srv.resharding.Departures.Run)
	srv.workers.Go(func() { srv.blocked.RunPolls(srv.done.Done()) })
	return g.Start(srv.store.Member(), srv.settings().sync != persistence.SyncAlways, handlers.Handlers{Loops: srv.loops,
		Lead: srv.lead, Follow: srv.follow, Leave: srv.leave, Settle: srv.settle, Acknowledged: srv.blocked.Poll,
		Published: srv.fanout.Receive, ShardChannels: srv.keepChannels, Asked: srv.peers.Respond,
		Databases: srv.databases, TakeKeys: srv.resharding.Keys.Take, RemoveKeys: srv.removeKeys, OrderMove: srv.resharding.Moves.OrderTo})
}

// errAlone is the error of a change of the members where there are none.
var errAlone = errors.New("this server is not a member of a group")

// abroadIn runs f with the group. It waits for others.
func (h host) abroadIn(f func(g group.Group) error) (err error) {
	g := h.srv.opts.Group
	if g == nil {
		return errAlone
	}
	h.srv.computes.Abroad(func() { err = f(g) })
	return err
}

// RemoveMember implements [members.Changes], as do the methods below.
func (h host) RemoveMember(ctx context.Context, member uint64, force bool) error {
	return h.abroadIn(func(g group.Group) error { return g.RemoveMember(ctx, member, force) })
}

// ReplaceMember puts a member in the place of another one.
func (h host) ReplaceMember(ctx context.Context, leaves, by uint64) error {
	return h.abroadIn(func(g group.Group) error { return g.ReplaceMember(ctx, leaves, by) })
}

// TransferTo transfers leadership to a member.
func (h host) TransferTo(member uint64) error {
	return h.abroadIn(func(g group.Group) error { return g.TransferTo(member) })
}

// BuryGroup takes all slots from another group.
func (h host) BuryGroup(ctx context.Context, node string) (freed *slots.Set, known bool, err error) {
	err = h.abroadIn(func(g group.Group) (e error) {
		freed, known, e = g.BuryGroup(ctx, node)
		return e
	})
	return freed, known, err
}

// Upgrade raises the level of the group.
func (h host) Upgrade(ctx context.Context, dry bool) (from, to uint64, adds []string, err error) {
	err = h.abroadIn(func(g group.Group) (e error) {
		from, to, adds, e = g.Upgrade(ctx, dry)
		return e
	})
	return from, to, adds, err
}

// RecoverVote makes this member vote.
func (h host) RecoverVote() (last, term uint64, err error) {
	err = h.abroadIn(func(g group.Group) (e error) {
		last, term, e = g.RecoverVote()
		return e
	})
	return last, term, err
}

// part ends the part of this server in its group: replies that wait for a commit are not
// sent any more.
func (srv *Server) part() error {
	if g := srv.opts.Group; g != nil {
		return g.Close()
	}
	return nil
}

// lead prepares for changes: what a follower keeps beside the store is made anew.
func (srv *Server) lead() {
	srv.scripts.loadLibraries()
	srv.resharding.Moves.Lead()
	srv.following.lead()
	srv.logf(logNotice, "This member leads the group from now on")
}

// follow disconnects the clients, as Sentinel does those of a master that it makes a
// replica: what they watch, wait for and cache, and calls without a reply, belong to a
// leadership that has ended.
func (srv *Server) follow() {
	srv.logf(logNotice, "This member has ceased to lead the group: its clients are disconnected")
	srv.clients.hangUpAll()
	srv.resharding.Moves.Follow()
	srv.following.resign()
	srv.imports.stop()
	srv.fence.Follow()
}

// leave ends what belongs to the data that the server had before it left its group: clients that wait for
// keys or watch them are disconnected. The others go on.
func (srv *Server) leave() {
	watch := srv.watches.clients()
	for client := range watch {
		client.Set(commands.ClientDirtyCAS) // not all are clients: see Observe
	}
	for _, s := range srv.clients.list() {
		if w := srv.blocked.Of(s); w != nil && len(w.Keys) > 0 || watch[&s.Client] {
			s.conn.HangUp()
		}
	}
	srv.tracking.RemovedAll()
	srv.scripts.loadLibraries()
	srv.users.declare()
}

// goneRounds is for how many rounds of the cron a server has to be out of its group before its subscribers are
// disconnected: one that CLUSTER RESET takes out is in another group soon, and they go on there.
const goneRounds = 50

// dropSubscribers disconnects the subscribers of a server that has left its group: no messages come any more, and
// silence does not say so. Others get an error with their next call.
func (c *cron) dropSubscribers(srv *Server) {
	if g := srv.opts.Group; g == nil || !g.Gone() {
		c.gone = 0
		return
	}
	if c.gone++; c.gone < goneRounds {
		return
	}
	for _, s := range srv.clients.list() {
		if s.Has(commands.ClientPubSub) {
			s.conn.HangUp()
		}
	}
}

// errFsyncOfGroup is the error of a change of appendfsync: a member counts on what the
// others have forced to their devices.
var errFsyncOfGroup = errors.New("a member of a group keeps its appendfsync until it starts again")

// keepFsync refuses another appendfsync for a member of a group.
func (srv *Server) keepFsync(old, new *conf.Settings) error {
	if srv.opts.Group != nil && old.AppendFsync != new.AppendFsync {
		return errFsyncOfGroup
	}
	return nil
}

// checkMember refuses what a member of a group cannot do. Whether it leads is looked at
// again when the keys are locked.
func (a *admission) checkMember(cmd *commands.Command, argv [][]byte) error {
	s := a.s
	g := s.srv.opts.Group
	if g == nil {
		return nil
	}
	if s.srv.slotted() {
		if keyed, err := a.checkSlots(cmd, argv); keyed {
			return err
		}
	}
	if s.sharing.changes(cmd, argv) {
		return s.sharing.admit()
	}
	if s.srv.store.Member().Leads() {
		return nil
	}
	flags, keyed := a.effects(cmd), len(cmd.Keys) > 0 || cmd.Is(commands.Keyspace)
	if err := a.leaderFor(flags); err != nil {
		return err
	}
	switch {
	case g.Gone() && (flags&(commands.Write|commands.LeaderOnly) != 0 || keyed || cmd.Channels != commands.NoChannels):
		return commands.ErrLeftGroup
	case flags&commands.Write != 0:
		if !g.Fresh(false) {
			return commands.ErrClusterDown
		}
		return commands.ErrReadOnlyReplica
	case flags&commands.LeaderOnly != 0:
		return commands.ErrLeaderOnly(cmd)
	case keyed && !g.Fresh(s.Has(commands.ClientReadOnly)):
		return commands.ErrClusterDown
	}
	return nil
}

// leaderFor returns where the leader is, as an error, if the client goes there by itself with such a call.
func (a *admission) leaderFor(flags commands.Flag) error {
	s := a.s
	if !s.Has(commands.ClientRedirects) || s.srv.slotted() || flags&(commands.Write|commands.ReadOnly) == 0 ||
		flags&commands.Write == 0 && s.Has(commands.ClientReadOnly) {
		return nil
	}
	m := s.Membership()
	if m == nil || m.Leader < 0 || m.Leads {
		return nil
	}
	to := m.Master()
	return commands.ErrRedirect(&to, s.srv.settings().limits.Endpoint)
}

// checkLocked refuses a call that changes keys, when its member has ceased to lead, or the server has become a replica,
// between admission and the locks.
func (a *admission) checkLocked(cmd *commands.Command, argv [][]byte) error {
	s := a.s
	if err := a.checkIncomplete(cmd); err != nil {
		return err
	}
	switch {
	case s.srv.following.active.Load():
		if s.srv.following.readOnly() && !s.applies && a.effects(cmd)&commands.Write != 0 {
			return commands.ErrReadOnlyReplica
		}
		return nil
	case s.tx.Writable():
		if s.srv.slotted() {
			return a.recheck(cmd, argv)
		}
		return nil
	case a.effects(cmd)&(commands.Write|commands.LeaderOnly) != 0, s.sharing.changes(cmd, argv):
		return commands.ErrReadOnlyReplica
	case s.srv.slotted():
		return a.checkSlotsLocked(cmd)
	}
	return nil
}

// needsLeader is the error of a call that a follower has begun and cannot go on with.
func (a *admission) needsLeader(cmd *commands.Command) error {
	if a.s.srv.slotted() && a.slot != commands.NoSlot {
		if err := a.redirect(commands.LeaderOnly, a.slot); err != nil {
			return err
		}
	}
	return commands.ErrLeaderOnly(cmd)
}
