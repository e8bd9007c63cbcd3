package main

import (
	"net/netip"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
)

// membership returns what tells the server of its group: what the node knows by now,
// under names that clients may see.
func membership(node *cluster.Node, set *conf.Settings) func() *commands.Membership {
	id := cluster.PublicID(set.ClusterSecret, "group")
	return func() *commands.Membership {
		v := node.View()
		if v == nil {
			return nil
		}
		m := &commands.Membership{Name: set.ClusterName, ID: id, Leader: -1, Led: v.Leader != 0, Leads: v.Leads, Syncing: v.Lost, Synced: set.AppendFsync == conf.FsyncAlways,
			Term: v.Term, Heard: node.Heard(), Last: v.Last, Commits: v.Committed, Gone: node.Gone(), Received: v.Received}
		for i, o := range v.Members {
			if o.ID == v.Leader {
				m.Leader = i
			}
			if o.ID == v.ID {
				m.Self = i
			}
			host, port, _ := cluster.SplitAddress(o.Address) // empty while it is unknown
			_, err := netip.ParseAddr(host)
			m.Members = append(m.Members, commands.Member{Number: o.ID, ID: cluster.PublicID(set.ClusterSecret, "member "+strconv.FormatUint(o.ID, 10)),
				Host: host, Named: err != nil, Port: port, Entry: o.Match, Record: o.Record, Active: o.Active, Learner: !o.Votes, Leaves: o.Leaves, Sent: o.Sent})
		}
		return m
	}
}
