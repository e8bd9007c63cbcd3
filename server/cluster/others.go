package cluster

import (
	"context"

	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// others is the cluster of a node, with its connections, and what the leader of a group does about its slots.
type others struct {
	*topology.Cluster
	n       *Node
	mesh    *mesh.Mesh
	moves   moves
	periods int // exchanges in a row in which others told more of the own group; of Renew
}

// newOthers returns the part of a node that knows the other groups.
func newOthers(n *Node, self *topology.Identity, logf func(format string, args ...any)) (o *others, err error) {
	o = &others{n: n, moves: moves{arrivals: newTurn()}}
	o.mesh = mesh.New(mesh.Config{Cluster: topology.ClusterID(n.config.Secret), ID: topology.MeshID(self.Name, self.Member), Self: n.origin(self),
		Dial: n.dial, ReceivePublished: n.server.Published, Respond: o.reply, MaxRequest: maxCarriedKeys + 1<<20, Refused: n.refusedByOthers, Logf: logf})
	o.Cluster, err = topology.New(topology.Options{Self: self, Secret: n.config.Secret, Own: own{n}, Network: o.mesh, Steward: o,
		Contacts: n.config.Cluster.Contacts, Silence: n.config.Cluster.Silence, Names: n.config.Names, Now: n.monotonic, Wall: wallClock,
		Done: n.ctx, Go: n.tasks.Go, Logf: n.config.Logf, Due: func(what string) bool { return n.said.Due(what, n.monotonic()) }, Strange: fatalToServer,
		ShardChannels: n.server.ShardChannels, Asked: n.server.Asked})
	return o, err
}

// reply implements mesh.Config.Respond. No connection is served before the cluster is there.
func (o *others) reply(ctx context.Context, letter []byte) []byte {
	if reply := o.respondToMove(ctx, letter); reply != nil {
		return reply
	}
	return o.Respond(ctx, letter)
}

// own is the group of a node as its cluster sees it.
type own struct{ n *Node }

// Group implements [topology.Own], as do the methods below.
func (o own) Group() *topology.Group {
	r := o.n.runner.Load()
	if r == nil {
		return nil
	}
	m, v := o.n.roster(), r.Seen()
	g := &topology.Group{Name: o.n.self.Name, Index: m.Index, Claim: m.Claim, Term: v.Term, Leader: v.Leader}
	for _, id := range m.IDs() {
		g.Members = append(g.Members, topology.GroupMember{ID: id, Address: o.n.addressIn(m, id), Learner: !m.Voter(id)})
	}
	return g
}

// Gone reports whether the server has left the group.
func (o own) Gone() bool { return o.n.gone.Load() }

// Dismiss notes that it has.
func (o own) Dismiss(why string) { o.n.dismiss(why) }

// Keep notes a table.
func (o own) Keep(table []byte) { o.n.note(func(self *topology.Identity) { self.Others = table }) }

// Last returns the last entry of the log.
func (o own) Last() uint64 {
	_, last := o.n.log.Bounds()
	return last
}
