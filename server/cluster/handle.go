package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/cluster/migrate"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/server/internal/handlers"
)

// A Handle is what a server holds of its cluster. It has one Node at a time: a server that becomes a member of
// another group while it runs gets another one, on the same store; see [Handle.Replicate].
type Handle struct {
	proposals *raftnode.Proposals
	node      atomic.Pointer[Node]
	failed    chan error

	ctx context.Context // ends with Close
	end context.CancelFunc

	resets singleflight.Group // of Reset

	// changes is held while the group of the server may change, and while it withdraws from another one.
	changes migrate.Turn
	// moving is held while the server becomes a member of another group. It guards what follows.
	moving   sync.Mutex
	store    *member.Member // nil before Start
	lazy     bool
	handlers handlers.Handlers
}

// Listen makes the handle of a server, which takes part from Start on; see listen.
func Listen(c NodeConfig) (*Handle, error) {
	s := &Handle{proposals: raftnode.NewProposals(), failed: make(chan error, 1), changes: migrate.NewTurn()}
	s.ctx, s.end = context.WithCancel(context.Background())
	n, err := listen(c, s.proposals, s.failed)
	if err != nil {
		return nil, err
	}
	s.node.Store(n)
	return s, nil
}

// Start takes part from now on; see [Node.Start].
func (h *Handle) Start(store *member.Member, lazy bool, server handlers.Handlers) error {
	h.moving.Lock()
	h.store, h.lazy, h.handlers = store, lazy, server
	h.moving.Unlock()
	return h.start(h.Node())
}

func (h *Handle) start(n *Node) error {
	n.withdraw = func() { h.withdraw(n) }
	if err := n.Start(h.store, h.lazy, h.handlers); err != nil {
		return err
	}
	n.awaitLead()
	return nil
}

// leadPatience is how long the only voter of a group waits until it leads, before clients can connect. It needs a tick.
const leadPatience = time.Second

// awaitLead waits until the only voter of a group leads it: tools that look at a server as soon as it is there take
// one that does not for a replica.
func (n *Node) awaitLead() {
	if m := n.roster(); len(m.Conf.GetVoters()) != 1 || !m.Voter(n.self.Member) || n.gone.Load() {
		return
	}
	ctx, cancel := clock.Within(n.ctx, n.environment().Clock, leadPatience)
	defer cancel()
	for !n.View().Leads && n.rest(ctx, 5*time.Millisecond) == nil {
	}
}

// Close ends the part of this server in order. The store is closed next.
func (h *Handle) Close() error {
	h.end()
	n := h.Node()
	n.end() // a Start that waits for others holds nothing, and ends
	h.moving.Lock()
	defer h.moving.Unlock()
	return h.Node().Close()
}

// Failed receives why the server takes part no more, if that has ended by itself: it
// has to end, and to start again from its disk.
func (h *Handle) Failed() <-chan error { return h.failed }

// Replicator is what the store proposes to.
func (h *Handle) Replicator() member.Replicator { return h.proposals }

// Node is what the server is now. It may be another one at any later time.
func (h *Handle) Node() *Node { return h.node.Load() }
