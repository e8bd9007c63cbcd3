package main

import (
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/cluster"
	"github.com/vigildb/vigil/server/conf"
)

// membership returns what tells the server of its group: what the node knows by now,
// under names that clients may see.
func membership(node *cluster.Node, set *conf.Settings) func() *commands.Membership {
	id := cluster.PublicID(set.ClusterSecret, "group")
	var ids []string
	for _, m := range node.Members() {
		ids = append(ids, cluster.PublicID(set.ClusterSecret, "member "+strconv.FormatUint(m.ID, 10)))
	}
	return func() *commands.Membership {
		v := node.View()
		if v == nil {
			return nil
		}
		m := &commands.Membership{Name: set.ClusterName, ID: id, Leader: -1, Led: v.Leader != 0, Leads: v.Leads, Syncing: v.Lost, Synced: set.AppendFsync == conf.FsyncAlways,
			Term: v.Term, Heard: node.Heard(), Last: v.Last, Commits: v.Committed}
		for i, o := range node.Members() {
			if o.ID == v.Leader {
				m.Leader = i
			}
			if o.ID == v.ID {
				m.Self = i
			}
			at := v.Members[i]
			m.Members = append(m.Members, commands.Member{ID: ids[i], Host: o.Host, Port: o.Port, Entry: at.Match, Record: at.Record, Active: at.Active})
		}
		return m
	}
}
