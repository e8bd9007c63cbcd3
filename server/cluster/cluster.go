package cluster

import (
	"context"

	"github.com/vigildb/vigil/server/cluster/mesh"
	"github.com/vigildb/vigil/server/cluster/migrate"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// findCluster makes what a node knows of other groups, and does about the slots of its own, with their connections.
func (n *Node) findCluster(self *topology.Identity, logf func(format string, args ...any)) (err error) {
	n.beside = mesh.New(mesh.Config{Cluster: topology.ClusterID(n.config.Secret), ID: topology.MeshID(self.Name, self.Member), Self: n.origin(self),
		Dial: n.dial, ReceivePublished: n.server.Published, Respond: n.respondToOthers, MaxRequest: migrate.MaxKeys + 1<<20, Refused: n.refusedByOthers, Logf: logf})
	c, due := n.config.Cluster, func(what string) bool { return n.said.Due(what, n.monotonic()) }
	n.cluster, err = topology.New(topology.Options{Self: self, Secret: n.config.Secret, Own: own{n}, Network: n.beside,
		Contacts: c.Contacts, Silence: c.Silence, Names: n.config.Names, Now: n.monotonic, Clock: n.environment().Clock,
		Done: n.ctx, Go: n.tasks.Go, Logf: n.config.Logf, Due: due, Strange: fatalToServer,
		ShardChannels: n.server.ShardChannels, Asked: n.server.Asked})
	n.slots = migrate.New(migrate.Options{Group: group{n}, Cluster: n.cluster, Network: n.beside, Secret: n.config.Secret,
		Slots: c.Slots, All: c.All, Contacts: c.Contacts, Written: n.written, Refer: n.follows, Now: n.monotonic, Clock: n.environment().Clock,
		Done: n.ctx, Go: n.tasks.Go, Logf: n.config.Logf, Due: due,
		Databases: n.server.Databases, TakeKeys: n.server.TakeKeys, RemoveKeys: n.server.RemoveKeys, OrderMove: n.server.OrderMove})
	return err
}

// respondToOthers implements mesh.Config.Respond. No connection is served before the cluster is there.
func (n *Node) respondToOthers(ctx context.Context, request []byte) []byte {
	if reply := n.slots.Respond(ctx, request); reply != nil {
		return reply
	}
	return n.cluster.Respond(ctx, request)
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
	g := &topology.Group{Name: o.n.self.Name, Index: m.Index, Assignment: m.Assignment, Term: v.Term, Leader: v.Leader}
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
