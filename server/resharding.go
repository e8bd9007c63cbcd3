package server

import (
	"context"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
	"github.com/vigildb/vigil/server/resharding"
	"github.com/vigildb/vigil/structures/slots"

	"github.com/vigildb/vigil/server/internal/group"
)

// openResharding tells moves of slots what they need of the server.
func openResharding(srv *Server) {
	srv.resharding.Open(resharding.Options{Store: srv.store, Group: srv.opts.Group, Peers: &srv.peers, Fence: &srv.fence, Calls: movedCalls{srv},
		Clock: srv.clock, Done: srv.done, Membership: host{srv}.Membership, Leads: srv.leads, Durable: srv.journal.WaitDurable,
		Databases: srv.databases,
		Divided: func() (kept, own *slots.Set) {
			kept = srv.channels.Kept()
			own, _ = srv.opts.Group.Shard()
			return kept, own
		},
		Go:       func(f func()) { srv.background(f) },
		MaxFence: func() time.Duration { return srv.settings().conf.ClusterSilence },
		ID:       func() string { return host{srv}.RandomHex(40) },
		Logf:     func(level int, format string, args ...any) { srv.logf(storeLevels[level], format, args...) }})
}

// databases returns how many databases clients use: as a node of a cluster, only the first while members of the group may be of a
// version that does not look for keys in others.
func (srv *Server) databases() int {
	limits := srv.settings().limits
	if limits.Slots && (limits.OneDatabase || srv.store.Level() < persistence.LevelDatabases) {
		return 1
	}
	return limits.Databases
}

// movedCalls implements [resharding.Calls].
type movedCalls struct{ srv *Server }

func (m movedCalls) ScriptsEnded() bool {
	if m.srv.scripts.enter() != nil {
		return false
	}
	m.srv.scripts.leave()
	return true
}

func (m movedCalls) SendAway(of *slots.Set) {
	srv := m.srv
	for _, k := range srv.watches.which(func(k blocking.Key) bool { return of.Has(commands.KeySlot([]byte(k.Name))) }) {
		srv.watches.touch(k.DB, []byte(k.Name))
	}
	for _, w := range srv.blocked.All() {
		for _, key := range w.Keys {
			if slot := commands.KeySlot(key); of.Has(slot) {
				srv.blocked.Refuse(w, srv.elsewhere(slot).WireError)
				break
			}
		}
	}
}

func (m movedCalls) Foreign(key []byte) bool {
	_, gone := m.srv.mayChange(key)
	return gone
}

func (m movedCalls) Crowded() bool { return m.srv.crowded() }

// MoveSlots implements [cluster.Moves], as do the methods below.
func (h host) MoveSlots(to []cluster.Destination) error {
	return h.abroadIn(func(group.Group) error { return h.srv.resharding.Moves.Order(to) })
}

// MoveNow moves slots while the call waits.
func (h host) MoveNow(ctx context.Context, to cluster.Destination) error {
	return h.abroadIn(func(group.Group) error { return h.srv.resharding.Moves.MoveNow(ctx, to) })
}

// AwaitOwner waits for news about the group that has a slot.
func (h host) AwaitOwner(ctx context.Context, slot int, node string) error {
	return h.abroadIn(func(group.Group) error { return h.srv.resharding.Moves.AwaitOwner(ctx, slot, node) })
}

// Moves lists the moves of this server, or of its leader.
func (h host) Moves() []cluster.Move { return h.srv.resharding.Moves.List() }

// CancelMoves ends all moves.
func (h host) CancelMoves() error {
	return h.abroadIn(func(group.Group) error { return h.srv.resharding.Moves.Cancel() })
}

// ImportSlots asks another group for slots.
func (h host) ImportSlots(ctx context.Context, from string, of *slots.Set) (task string, err error) {
	err = h.abroadIn(func(group.Group) (e error) {
		task, e = h.srv.resharding.Tasks.Import(ctx, from, of)
		return e
	})
	return task, err
}

// Tasks lists the tasks of both kinds.
func (h host) Tasks(ctx context.Context, id string) (all []cluster.Task, err error) {
	err = h.abroadIn(func(group.Group) error {
		all = h.srv.resharding.Tasks.List(ctx, id)
		return nil
	})
	return all, err
}

// CancelTasks ends tasks of both kinds.
func (h host) CancelTasks(ctx context.Context, id string) (n int, err error) {
	err = h.abroadIn(func(group.Group) (e error) {
		n, e = h.srv.resharding.Tasks.Cancel(ctx, id)
		return e
	})
	return n, err
}

// OrderMove implements [members.Rebalancer].
func (h host) OrderMove(ctx context.Context, from, to string, of *slots.Set) error {
	return h.abroadIn(func(g group.Group) error {
		if m := h.Membership(); m != nil && m.ID == from {
			return h.srv.resharding.Moves.OrderTo(to, of)
		}
		return g.OrderMove(ctx, from, to, of)
	})
}

// Departed implements [cluster.Keys]: the slots that were given away a moment ago.
func (h host) Departed() *slots.Set {
	if h.srv.opts.Group == nil {
		return nil
	}
	_, _, left := h.srv.opts.Group.Passing()
	return left
}
