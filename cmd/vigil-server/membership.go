package main

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
)

// membership returns what tells the server of its group: what its node knows by now,
// under names that clients may see.
func membership(seat *cluster.Seat, set *conf.Settings) func() *commands.Membership {
	var last atomic.Pointer[shards]
	return func() *commands.Membership {
		node := seat.Node()
		v := node.View()
		if v == nil {
			return nil
		}
		name := node.Name()
		m := &commands.Membership{Name: set.ClusterName, ID: cluster.GroupPublicID(set.ClusterSecret, name), Leader: -1, Led: v.Leader != 0, Leads: v.Leads, Syncing: v.Lost, Synced: set.AppendFsync == conf.FsyncAlways,
			Term: v.Term, Heard: node.Heard(), Last: v.Last, Commits: v.Committed, Gone: node.Gone(), Received: v.Received, Level: v.Level}
		for i, o := range v.Members {
			if o.ID == v.Leader {
				m.Leader = i
			}
			if o.ID == v.ID {
				m.Self = i
			}
			n := shownMember(set.ClusterSecret, name, o.ID, o.Address)
			n.Entry, n.Record, n.Active, n.Learner, n.Replica, n.Leaves, n.Sent = o.Match, o.Record, o.Active, !o.Votes, o.Ready, o.Leaves, o.Sent
			n.NewestLevel = o.NewestLevel
			m.Members = append(m.Members, n)
		}
		if d := node.Division(); d != nil {
			s := last.Load()
			if s == nil || s.of != d {
				s = &shards{d, others(d, set.ClusterSecret)}
				last.Store(s)
			}
			m.Slots, m.OtherShards, m.Covered = d.Slots, s.others, d.Covered
		}
		return m
	}
}

func shownMember(secret, group string, id uint64, address string) commands.Member {
	host, port, _ := cluster.SplitAddress(address) // empty while it is unknown
	_, err := netip.ParseAddr(host)
	return commands.Member{Number: id, ID: cluster.MemberPublicID(secret, group, id), Host: host, Named: err != nil, Port: port}
}

// shards are the other groups of a division, as clients see them.
type shards struct {
	of     *cluster.Division
	others []commands.Shard
}

func others(d *cluster.Division, secret string) (all []commands.Shard) {
	for _, g := range d.Others {
		s := commands.Shard{ID: cluster.GroupPublicID(secret, g.Name), Slots: g.Slots, Up: g.Up, Term: g.Term}
		for _, m := range g.Members {
			n := shownMember(secret, g.Name, m.ID, m.Address)
			n.Learner, n.Replica, n.Active = m.Learner, m.Learner, g.Up // what it lacks is known to its leader alone
			s.Members = append(s.Members, n)
		}
		s.Leader = slices.IndexFunc(g.Members, func(m cluster.GroupMember) bool { return m.ID == g.Leader })
		all = append(all, s)
	}
	return all
}
