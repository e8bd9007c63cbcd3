package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/migrate"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/internal/handlers"
	"github.com/vigildb/vigil/server/transport"
	"github.com/vigildb/vigil/structures/slots"
)

// NodeConfig describes one machine of a group.
type NodeConfig struct {
	// Secret is that of the group, and of all groups of a cluster; see Hashes.
	Secret string
	// Name is that of the group, which tells it from others of the cluster; "" for the one that the directory
	// belongs to, and for a group that is alone.
	Name string
	// ID says which member this is, 0 for the one that the directory belongs to. One that joins gets
	// it if it was never used.
	ID uint64
	// Members are the founders of the group, none for a server that joins or whose directory knows
	// the group.
	Members []topology.Member
	// Join are addresses of members that a server with a new directory asks to take it in.
	Join []string
	// Replaces is the voter in whose place a server that joins is to vote, 0 for none.
	Replaces uint64
	// Alone makes the directory that of the only member of its group, under a new number: for a group
	// whose other members are lost.
	Alone bool
	// Single makes a server with a new directory found a group of its own, with a name drawn by lot, unless there are
	// Members or Join.
	Single bool
	// Cluster describes the other groups; nil for a group whose clients see none.
	Cluster *ClusterConfig
	// AnnounceHost and AnnouncePort are where clients find this server, unless they are zero, and AnnounceBus is where
	// other members do. Port is where it listens for clients, Bus where it listens for others, and Host an address at which it
	// does, "" for all. Both ports of others are 10000 higher than those of clients unless they are given.
	AnnounceHost, Host        string
	AnnouncePort, AnnounceBus int
	Port, Bus                 int
	// Names returns what this server announces besides, as it is from now on; nil for nothing.
	Names func() topology.Names
	// Election is the timeout of an election: a group is without a leader for about that
	// long when the leader is lost.
	Election time.Duration
	// MaxStale is for how long a follower may be read without having heard its leader, by
	// clients that accept old data.
	MaxStale time.Duration
	// TLS returns what encrypts the connections that others make, and those to others, from
	// now on; nil for connections that are not encrypted.
	TLS func() (accept, dial *tls.Config)
	// Environment is the network and the clock, nil for those of the machine.
	Environment *Environment
	Logf        logs.Func
}

// ClusterConfig is what a server is told of the cluster that its group is a part of.
type ClusterConfig struct {
	// Slots are those that the group claims when it begins; nil for none. It waits until all Contacts have
	// replied.
	Slots    *slots.Set
	All      bool          // it claims all, and has others if it did so before
	Contacts []string      // addresses of members of other groups
	Silence  time.Duration // for how long a group may not be heard before it counts as lost
	// Databases is how many databases clients see.
	Databases int
}

// founder returns a founder, nil if there is none with the id.
func (c *NodeConfig) founder(id uint64) *topology.Member {
	for i := range c.Members {
		if c.Members[i].ID == id {
			return &c.Members[i]
		}
	}
	return nil
}

// Node is a machine of a group, as its server sees it: the member and its connections.
type Node struct {
	config    NodeConfig
	proposals *raftnode.Proposals
	server    handlers.Handlers // set by Start
	withdraw  func()            // nil, or that of the handle, which ends with ctx
	process   uint64            // drawn by lot
	newest    uint64            // level that this server knows; see persistence.NewestLevel
	common    common            // set by Start
	mesh      *mesh.Mesh
	runner    atomic.Pointer[raftnode.Runner]
	gone      atomic.Bool       // this server has left the group
	leaving   atomic.Bool       // it is about to
	cluster   *topology.Cluster // nil for a group whose clients see no cluster, as are beside and slots
	beside    *mesh.Mesh        // with other groups
	slots     *migrate.Slots
	failed    chan error
	said      logs.Sometimes

	ctx   context.Context // ends with Close
	end   context.CancelFunc
	tasks sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener       // guarded by mu once Start is called
	self     *topology.Identity // nil before it is known; guarded by mu
	log      *grouplog.Log
	members  *raftnode.Members // as they were told last; guarded by mu

	noting sync.Mutex
	noted  topology.Identity // as the directory has it; guarded by noting
}

// listen makes a node, which takes part from Start on. A founder holds the port of the group from
// now on, so that two nodes with one address are noticed before anything else happens; others
// learn from their directory where they are.
func listen(c NodeConfig, proposals *raftnode.Proposals, failed chan error) (*Node, error) {
	n := &Node{config: c, proposals: proposals, failed: failed}
	n.ctx, n.end = context.WithCancel(context.Background())
	if len(c.Members) == 0 || c.ID == 0 {
		return n, nil
	}
	if c.founder(c.ID) == nil {
		return nil, fmt.Errorf("cluster: member %d is not among the members", c.ID)
	}
	address, err := n.ownAddress(&topology.Identity{Member: c.ID})
	if err != nil {
		return nil, err
	}
	if err := n.hold(address); err != nil {
		return nil, err
	}
	return n, nil
}

// Start takes part from now on. The store is loaded. lazy says that entries are appended
// without being forced to the device. A server that joins waits until the group has taken it in.
func (n *Node) Start(store *member.Member, lazy bool, server handlers.Handlers) error {
	n.server, n.newest, n.common = server, store.NewestLevel(), commonOf(store)
	self, err := n.identify(n.ctx, store)
	switch {
	case err != nil && n.ctx.Err() != nil:
		return raftnode.ErrStopped
	case err != nil:
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil { // Close has not seen a runner, and perhaps no listener
		return errors.Join(raftnode.ErrStopped, n.listener.Close())
	}
	n.self, n.noted, n.log = self, *self, store.Log()
	n.gone.Store(self.Left)
	if err := n.connect(self, lazy); err != nil {
		return err
	}
	r, err := raftnode.Run(store, lazy, raftnode.RunnerConfig{ID: self.Member, Founders: n.founders(self), Election: n.config.Election, Proposals: n.proposals,
		Mesh: n.mesh, SendState: n.sendState, Role: raftnode.Role{Lead: server.Lead, Follow: server.Follow, Acknowledged: server.Acknowledged, Settle: server.Settle}, Address: n.addressIn, Told: n.toldAddress, NewestLevel: n.mesh.Level, Changed: n.changed, Led: n.reportLead,
		Odd: n.config.Cluster != nil, Now: n.environment().Now, Clock: n.environment().Clock, Logf: n.config.Logf})
	if err != nil {
		n.disconnect()
		return err
	}
	n.compare(r.Members().Assignment)
	n.runner.Store(r)
	n.meetLocked(r.Members())
	if self.Left {
		n.config.Logf(logs.Warn, "member %d has left the group: this directory cannot come back, a new one can join", self.Member)
	}
	n.tasks.Go(n.serve)
	n.tasks.Go(func() { n.watch(r) })
	n.tasks.Go(n.attend)
	if n.cluster != nil {
		n.tasks.Go(func() { n.cluster.Run(n.slots) })
		n.tasks.Go(n.slots.Run)
		if n.withdraw != nil {
			n.tasks.Go(n.withdraw)
		}
	}
	return nil
}

// connect makes the meshes of this server. Loops serve messages only of those that are lazy, whose work is
// short: others wait for the device.
func (n *Node) connect(self *topology.Identity, lazy bool) (err error) {
	logf := func(format string, args ...any) { n.config.Logf(logs.Info, format, args...) }
	var beside *mesh.Mesh
	if n.config.Cluster != nil {
		if err = n.findCluster(self, logf); err != nil {
			return err
		}
		beside = n.beside
	}
	var loops *transport.Loops
	if lazy {
		loops = n.server.Loops
	}
	n.mesh = mesh.New(mesh.Config{Cluster: self.Group, Beside: beside, Loops: loops, ID: self.Member, Self: n.origin(self), Level: n.newest,
		Dial: n.dial, Receive: n.receive, ReceiveState: n.receiveState, ReceivePublished: n.server.Published, Respond: n.respond, Refused: n.refused,
		Logf: logf})
	return nil
}

func (n *Node) disconnect() {
	n.mesh.Close()
	if n.cluster != nil {
		n.beside.Close()
	}
}

// founders are the first members of the group, if its log is empty.
func (n *Node) founders(self *topology.Identity) (ids []uint64) {
	for _, m := range n.config.Members {
		ids = append(ids, m.ID)
	}
	if n.config.Single && self.Member == singleID && len(ids) == 0 {
		return []uint64{singleID}
	}
	return ids
}

// serve takes the connections of the others. It ends with the mesh.
func (n *Node) serve() {
	n.mu.Lock()
	l := n.listener
	n.mu.Unlock()
	if err := n.mesh.Serve(l); !errors.Is(err, mesh.ErrClosed) {
		n.fail(err)
	}
}

// watch tells when the member ends by itself.
func (n *Node) watch(r *raftnode.Runner) {
	<-r.Ended()
	if err := r.Err(); !errors.Is(err, raftnode.ErrStopped) {
		n.fail(err)
	}
}

// fail tells that this server takes part no more. One that has ended its part may be another node's by now.
func (n *Node) fail(err error) {
	if n.ctx.Err() != nil {
		return
	}
	select {
	case n.failed <- err:
	default: // one reason is enough
	}
}

// receive hands over a message. One that comes before the start is lost.
func (n *Node) receive(m *raftnode.Message, more bool) {
	if r := n.runner.Load(); r != nil {
		r.Receive(m, more)
	}
}

func (n *Node) sendState(ctx context.Context, m *raftnode.Message, state io.Reader) error {
	return n.mesh.SendState(ctx, m, state, raftnode.StateRate)
}

// receiveState takes a state in. One that comes before the start is sent again.
func (n *Node) receiveState(m *raftnode.Message, state io.Reader) error {
	if r := n.runner.Load(); r != nil {
		return r.ReceiveState(m, state)
	}
	return raftnode.ErrStopped
}

// Held reports whether this member leads, and no other one can.
func (h *Handle) Held() bool {
	n := h.Node()
	r := n.runner.Load()
	return r != nil && r.Held()
}

// WaitHeld waits until Held. It returns an error when this member does not lead.
func (h *Handle) WaitHeld() error {
	n := h.Node()
	if r := n.runner.Load(); r != nil {
		return r.WaitHeld()
	}
	return persistence.ErrNotLeader
}

// Fresh reports whether the leader was heard within two election timeouts, or for a
// patient client within the limit of the configuration. A learner that may have nothing yet is not
// read.
func (h *Handle) Fresh(patient bool) bool {
	n := h.Node()
	limit := 2 * n.config.Election
	if patient {
		limit = max(limit, n.config.MaxStale)
	}
	r := n.runner.Load()
	return r != nil && r.Heard() < limit && r.Reads()
}

// View returns what this member knows of the group, nil before the start.
func (n *Node) View() *raftnode.View {
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

// Publish gives a message of a channel to the other members, to each once at most, and with wide
// to those of the other groups.
func (h *Handle) Publish(kind byte, channel, message []byte, wide bool) {
	n := h.Node()
	if n.runner.Load() == nil {
		return
	}
	n.mesh.Publish(kind, channel, message)
	if wide && n.cluster != nil {
		n.beside.Publish(kind, channel, message)
	}
}

// Published counts the messages given to other members, those that were lost, and those
// that came.
func (h *Handle) Published() (sent, dropped, received uint64) {
	n := h.Node()
	if n.runner.Load() == nil {
		return 0, 0, 0
	}
	p := n.mesh.Published()
	if n.cluster != nil {
		o := n.beside.Published()
		p.Sent, p.Dropped, p.Received = p.Sent+o.Sent, p.Dropped+o.Dropped, p.Received+o.Received
	}
	return p.Sent, p.Dropped, p.Received
}

// HandOver transfers the leadership, if this member has it.
func (h *Handle) HandOver() {
	n := h.Node()
	if r := n.runner.Load(); r != nil {
		r.HandOver()
	}
}

// TakeOver asks the leader to hand over to this member, and waits for nothing. A leader that
// this member lacks too much of does not.
func (h *Handle) TakeOver() {
	n := h.Node()
	if r := n.runner.Load(); r != nil {
		r.TakeOver()
	}
}

// Close ends the part of this member in order. The store is closed next.
func (n *Node) Close() error { return n.part((*raftnode.Runner).Close) }

// retire is Close for a server that goes on, with its store, as another node.
func (n *Node) retire() error { return n.part((*raftnode.Runner).Retire) }

// part ends the part of this member, and its connections.
func (n *Node) part(end func(*raftnode.Runner) error) error {
	n.end()
	n.mu.Lock() // a Start that is under way sees the end
	r, l := n.runner.Load(), n.listener
	n.mu.Unlock()
	var err error
	if r != nil {
		err = end(r)
		n.disconnect()
	}
	if l != nil {
		l.Close() // closed by the mesh, if that has served it
	}
	n.tasks.Wait()
	return err
}

// Division returns how the slots are divided, nil for a group whose clients see no cluster.
func (n *Node) Division() *topology.Division {
	if n.runner.Load() == nil || n.cluster == nil {
		return nil
	}
	return n.cluster.Division()
}

// Name returns the name of the group, once this server has begun to take part.
func (n *Node) Name() string { return n.self.Name }

// Shard returns the slots of the group, nil for all, and whether all slots can be used.
func (h *Handle) Shard() (own *slots.Set, covered bool) {
	n := h.Node()
	switch d := n.Division(); {
	case n.config.Cluster == nil:
		return nil, true
	case d == nil:
		return new(slots.Set), false
	case d.Whole:
		return nil, true
	default:
		return d.Slots, d.Covered
	}
}

// refusedByOthers implements mesh.Config.Refused for connections with other groups.
func (n *Node) refusedByOthers(incoming bool, where string, why error) {
	if !errors.Is(why, io.EOF) && n.said.Due(where+why.Error(), n.monotonic()) {
		n.config.Logf(logs.Notice, "no connection with %s, of another group: %v (incoming: %v)", where, why, incoming)
	}
}

// Announced returns the names of the servers of the cluster, nil outside one.
func (n *Node) Announced() *topology.Announced {
	if n.runner.Load() == nil || n.cluster == nil {
		return nil
	}
	return n.cluster.Announced()
}
