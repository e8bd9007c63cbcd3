package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// What an operator is told of the leadership and of other groups. Servers are named as CLUSTER NODES and
// VIGIL.CLUSTER STATUS name them: names of groups are internal.

// label names a member of this server's group.
func (n *Node) label(id uint64, address string) string {
	return fmt.Sprintf("member %d at %s", id, topology.NodeLabel(n.config.Secret, n.self.Name, id, address))
}

// reportLead logs that the leader of the group is another one, or that this member has lost or regained its vote. before is nil at
// the start. The server itself says when it begins to lead and ceases to.
func (n *Node) reportLead(before, now *raftnode.View) {
	if before == nil {
		before = &raftnode.View{ID: now.ID}
	}
	addressOf := func(v *raftnode.View, id uint64) string {
		if i := slices.IndexFunc(v.Members, func(m raftnode.MemberView) bool { return m.ID == id }); i >= 0 {
			return v.Members[i].Address
		}
		return ""
	}
	switch {
	case before.Leader == now.Leader:
	case now.Leader != 0 && now.Leader != now.ID:
		n.config.Logf(logs.Notice, "%s leads the group from now on, in term %d", n.label(now.Leader, addressOf(now, now.Leader)), now.Term)
	case now.Leader == 0 && before.Leader != now.ID:
		n.config.Logf(logs.Notice, "%s does not lead the group any more, and no leader is known", n.label(before.Leader, addressOf(before, before.Leader)))
	}
	switch {
	case now.Lost && !before.Lost:
		n.config.Logf(logs.Notice, "this member may lack writes that it has acknowledged, as it ended without order: it does not vote before it has heard what is committed")
	case before.Lost && !now.Lost:
		n.config.Logf(logs.Notice, "this member has what is committed, and votes again")
	}
}

// leaderless logs, once a minute, that the group has been without a leader for longer than elections take, and what ends that.
// since is when that began, by the clock of the node, 0 for a group that has a leader; it returns when it has.
func (n *Node) leaderless(v *raftnode.View, since time.Duration) time.Duration {
	now := n.monotonic()
	if v.Leader != 0 {
		return 0
	}
	if since == 0 {
		return now
	}
	silence := now - since
	if silence < 10*n.config.Election || !n.said.Due("leaderless", now) {
		return since
	}
	if v.Lost {
		n.config.Logf(logs.Warn, "no leader is known for %v, and this member does not vote: it may lack writes that it has acknowledged, as it ended without order. "+
			"If a majority ended so, the group waits: start all members that still have their data, and let them vote by VIGIL.CLUSTER RECOVER LOSE-WRITES (docs/cluster.md)", silence.Round(time.Second))
	} else {
		n.config.Logf(logs.Warn, "no leader is known for %v: a majority of the members is not reached, or does not vote as it may lack writes. VIGIL.CLUSTER STATUS at each one says so", silence.Round(time.Second))
	}
	return since
}
