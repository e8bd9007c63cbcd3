package membership

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/server/conf"
)

// views returns what tells the server of its group: what its node knows by now,
// under names that clients may see.
func views(handle *cluster.Handle, set *conf.Settings) func() *commands.Membership {
	var last atomic.Pointer[shown]
	return func() *commands.Membership {
		node := handle.Node()
		v := node.View()
		if v == nil {
			return nil
		}
		d, names := node.Division(), node.Announced()
		s := last.Load()
		if s == nil || s.view != v || s.division != d || s.names != names {
			s = show(s, node.Name(), v, d, names, set)
			last.Store(s)
		}
		m := s.membership
		m.Heard, m.Gone = node.Heard(), handle.Gone()
		return &m
	}
}

// shown is what clients see of a view and a division. It is made once for both: the names are hashes, and many calls
// may look at the same time.
type shown struct {
	view       *raftnode.View
	division   *topology.Division  // nil outside a cluster
	names      *topology.Announced // likewise
	membership commands.Membership
}

// show makes what clients see. The last one may have a part of it.
func show(last *shown, group string, v *raftnode.View, d *topology.Division, names *topology.Announced, set *conf.Settings) *shown {
	m := commands.Membership{Name: set.ClusterName, ID: topology.GroupPublicID(set.ClusterSecret, group), Leader: -1, Led: v.Leader != 0, Leads: v.Leads,
		Syncing: v.Lost, Synced: set.AppendFsync == conf.FsyncAlways, Term: v.Term, Last: v.Last, Commits: v.Committed, Received: v.Received, Level: v.Level}
	for i, o := range v.Members {
		if o.ID == v.Leader {
			m.Leader = i
		}
		if o.ID == v.ID {
			m.Self = i
		}
		n := shownMember(set.ClusterSecret, names, group, o.ID, o.Address)
		n.Entry, n.Record, n.Active, n.Learner, n.Replica, n.Leaves, n.Sent = o.Match, o.Record, o.Active, !o.Votes, o.Ready, o.Leaves, o.Sent
		n.NewestLevel = o.NewestLevel
		m.Members = append(m.Members, n)
	}
	switch {
	case d == nil:
	case last != nil && last.division == d && last.names == names:
		m.Slots, m.OtherShards, m.Covered = d.Slots, last.membership.OtherShards, d.Covered
	default:
		m.Slots, m.OtherShards, m.Covered = d.Slots, others(d, names, set.ClusterSecret), d.Covered
	}
	return &shown{v, d, names, m}
}

func shownMember(secret string, names *topology.Announced, group string, id uint64, address string) commands.Member {
	host, port, bus, _ := topology.SplitAddress(address) // empty while it is unknown
	_, err := netip.ParseAddr(host)
	of := names.Of(group, id)
	return commands.Member{Number: id, ID: topology.MemberPublicID(secret, group, id), Host: host, Named: err != nil, Port: port, Bus: bus,
		Hostname: of.Hostname, Nodename: of.Nodename, Zone: of.Zone}
}

// others returns the other groups of a division.
func others(d *topology.Division, names *topology.Announced, secret string) (all []commands.Shard) {
	for _, g := range d.Others {
		s := commands.Shard{ID: topology.GroupPublicID(secret, g.Name), Slots: g.Slots, Up: g.Up, Term: g.Term}
		for _, m := range g.Members {
			n := shownMember(secret, names, g.Name, m.ID, m.Address)
			n.Learner, n.Replica, n.Active = m.Learner, m.Learner, g.Up // what it lacks is known to its leader alone
			s.Members = append(s.Members, n)
		}
		s.Leader = slices.IndexFunc(g.Members, func(m topology.GroupMember) bool { return m.ID == g.Leader })
		all = append(all, s)
	}
	return all
}
