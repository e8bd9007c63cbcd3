package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/mesh"
)

// NodeConfig describes one machine of a group.
type NodeConfig struct {
	Group   [16]byte // which group it is; see Secrets
	ID      uint64
	Members []Member
	// Election is the timeout of an election: a group is without a leader for about that
	// long when the leader is lost.
	Election time.Duration
	// MaxStale is for how long a follower may be read without having heard its leader, by
	// clients that accept old data.
	MaxStale time.Duration
	// TLS returns what encrypts the connections that others make, and those to others, from
	// now on; nil for connections that are not encrypted.
	TLS  func() (accept, dial *tls.Config)
	Logf func(level LogLevel, format string, args ...any)
}

// Node is a machine of a group, as its server sees it: the member and its connections.
type Node struct {
	config    NodeConfig
	proposals *Proposals
	listener  net.Listener
	mesh      *mesh.Mesh
	published func(kind byte, channel, message []byte)
	runner    atomic.Pointer[Runner]
	failed    chan error
	refusals  refusals
}

// Listen makes a node, which takes part from Start on. It holds the port of the group from
// now on, so that two nodes with one address are noticed before anything else happens.
func Listen(c NodeConfig) (*Node, error) {
	self := -1
	for i, m := range c.Members {
		if m.ID == c.ID {
			self = i
		}
	}
	if self < 0 {
		return nil, fmt.Errorf("cluster: member %d is not among the members", c.ID)
	}
	l, err := net.Listen("tcp", c.Members[self].bus())
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	n := &Node{config: c, proposals: NewProposals(), listener: l, failed: make(chan error, 1)}
	if c.TLS != nil {
		n.listener = tlsListener{l, n}
	}
	return n, nil
}

// Replicator is what the store of the node proposes to.
func (n *Node) Replicator() persistence.Replicator { return n.proposals }

// Start takes part from now on. The store is loaded. lazy says that entries are appended
// without being forced to the device. lead is called when this member is about to lead, and
// follow when it has ceased to.
func (n *Node) Start(store *persistence.Member, lazy bool, lead, follow func()) error {
	peers := map[uint64]string{}
	var voters []uint64
	for _, m := range n.config.Members {
		peers[m.ID] = m.bus()
		voters = append(voters, m.ID)
	}
	n.mesh = mesh.New(mesh.Config{Cluster: n.config.Group, ID: n.config.ID, Peers: peers,
		Dial: n.dial, Receive: n.receive, ReceiveState: n.receiveState, ReceivePublished: n.published,
		Logf: func(format string, args ...any) { n.config.Logf(LogInfo, format, args...) }})
	r, err := Run(store, lazy, RunnerConfig{ID: n.config.ID, Voters: voters, Election: n.config.Election, Proposals: n.proposals,
		Mesh: n.mesh, SendState: n.sendState, Role: Role{Lead: lead, Follow: follow}, Now: Now, Logf: n.config.Logf})
	if err != nil {
		n.mesh.Close()
		return err
	}
	n.runner.Store(r)
	go n.serve()
	go n.watch(r)
	return nil
}

// serve takes the connections of the others. It ends with the mesh.
func (n *Node) serve() {
	if err := n.mesh.Serve(n.listener); !errors.Is(err, mesh.ErrClosed) {
		n.fail(err)
	}
}

// watch tells when the member ends by itself.
func (n *Node) watch(r *Runner) {
	<-r.Ended()
	if err := r.Err(); !errors.Is(err, ErrStopped) {
		n.fail(err)
	}
}

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default: // one reason is enough
	}
}

// Failed receives why the node takes part no more, if it has ended by itself: its server
// has to end, and to start again from its disk.
func (n *Node) Failed() <-chan error { return n.failed }

// receive hands over a message. One that comes before the start is lost.
func (n *Node) receive(m *Message) {
	if r := n.runner.Load(); r != nil {
		r.Receive(m)
	}
}

func (n *Node) sendState(ctx context.Context, m *Message, state io.Reader) error {
	return n.mesh.SendState(ctx, m, state, stateRate)
}

// receiveState takes a state in. One that comes before the start is sent again.
func (n *Node) receiveState(m *Message, state io.Reader) error {
	if r := n.runner.Load(); r != nil {
		return r.ReceiveState(m, state)
	}
	return ErrStopped
}

// Held reports whether this member leads, and no other one can.
func (n *Node) Held() bool {
	r := n.runner.Load()
	return r != nil && r.Held()
}

// WaitHeld waits until Held. It returns an error when this member does not lead.
func (n *Node) WaitHeld() error {
	if r := n.runner.Load(); r != nil {
		return r.WaitHeld()
	}
	return persistence.ErrNotLeader
}

// Fresh reports whether the leader was heard within two election timeouts, or for a
// patient client within the limit of the configuration.
func (n *Node) Fresh(patient bool) bool {
	limit := 2 * n.config.Election
	if patient {
		limit = max(limit, n.config.MaxStale)
	}
	r := n.runner.Load()
	return r != nil && r.Heard() < limit
}

// View returns what this member knows of the group, nil before the start.
func (n *Node) View() *View {
	if r := n.runner.Load(); r != nil {
		return r.View()
	}
	return nil
}

// Heard returns how long ago the leader was heard.
func (n *Node) Heard() time.Duration {
	if r := n.runner.Load(); r != nil {
		return r.Heard()
	}
	return 0
}

// Members are those of the configuration.
func (n *Node) Members() []Member { return n.config.Members }

// OnPublished has f called with the messages of channels that other members publish. It is
// called before Start.
func (n *Node) OnPublished(f func(kind byte, channel, message []byte)) { n.published = f }

// Publish gives a message of a channel to the other members, to each once at most.
func (n *Node) Publish(kind byte, channel, message []byte) {
	if n.runner.Load() != nil {
		n.mesh.Publish(kind, channel, message)
	}
}

// Published counts the messages given to other members, those that were lost, and those
// that came.
func (n *Node) Published() (sent, dropped, received uint64) {
	if n.runner.Load() == nil {
		return 0, 0, 0
	}
	p := n.mesh.Published()
	return p.Sent, p.Dropped, p.Received
}

// HandOver has another member lead, if this one does.
func (n *Node) HandOver() {
	if r := n.runner.Load(); r != nil {
		r.HandOver()
	}
}

// TakeOver asks the leader to hand over to this member, and waits for nothing. A leader that
// this member lacks too much of does not.
func (n *Node) TakeOver() {
	if r := n.runner.Load(); r != nil {
		r.TakeOver()
	}
}

// Close ends the part of this member in order. The store is closed next.
func (n *Node) Close() error {
	r := n.runner.Load()
	if r == nil {
		return n.listener.Close()
	}
	err := r.Close()
	n.mesh.Close()
	n.listener.Close() // closed by the mesh, if that has served it
	return err
}
