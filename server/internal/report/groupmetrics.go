package report

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// maxMembers is of how many members, and of how many groups, there are metrics.
const maxMembers = 64

// memberLabels are those of the metrics of a member.
var memberLabels = []string{"member", "address"}

// Metrics of a group are there for its members alone, and those with a cluster in their names if slots are divided.
var (
	descGroup      = describe("vigil_group_info", "What the server is in its group.", "group", "name", "member", "state")
	descTerm       = describe("vigil_group_term", "Number of the leadership: it grows with each election.")
	descKnows      = describe("vigil_group_leader_known", "1 if this member knows who leads.")
	descLast       = describe("vigil_group_last_entry", "Last entry of this member's log.")
	descCommitted  = describe("vigil_group_committed_entry", "Last entry that is known to be committed.")
	descLevel      = describe("vigil_group_level", "What the members use of what they have a version for.")
	descVoters     = describe("vigil_group_voters", "Members that vote.")
	descQuorum     = describe("vigil_group_quorum", "Members that have to agree.")
	descMember     = describe("vigil_group_member_info", "A member, as this one sees it.", append(memberLabels, "role", "link")...)
	descMemberUp   = describe("vigil_group_member_up", "1 if a member is heard, by what this one knows: the leader hears all, others the leader.", memberLabels...)
	descMemberLag  = describe("vigil_group_member_lag_entries", "Entries of the log that a member lacks; of others the leader knows it.", memberLabels...)
	descMemberSent = describe("vigil_group_member_state_sent_bytes", "What the leader has sent of data that a member gets anew.", memberLabels...)

	descShards    = describe("vigil_cluster_groups", "Groups among which slots are divided.")
	descShardUp   = describe("vigil_cluster_group_up", "1 if a group was heard lately, by the ID of its leader.", "leader", "address")
	descSlots     = describe("vigil_cluster_group_slots", "Slots of a group, by the ID of its leader.", "leader", "address")
	descMoves     = describe("vigil_cluster_moves", "Moves of slots that this group makes, has made lately, or is to make.", "state")
	descMoveSlots = describe("vigil_cluster_moving_slots", "Slots that are to move and have not moved yet.")

	descState    = describe("redis_cluster_state", "1 if keys can be used, by what this server knows.")
	clusterTexts = []struct {
		field string
		desc  *prometheus.Desc
	}{
		{"cluster_slots_assigned", describe("redis_cluster_slots_assigned", "Slots that some group has.")},
		{"cluster_slots_ok", describe("redis_cluster_slots_ok", "Slots whose group was heard lately.")},
		{"cluster_slots_pfail", describe("redis_cluster_slots_pfail", "Slots whose group may be lost: not told apart from those that are.")},
		{"cluster_slots_fail", describe("redis_cluster_slots_fail", "Slots whose group was not heard lately.")},
		{"cluster_known_nodes", describe("redis_cluster_known_nodes", "Servers of all groups.")},
		{"cluster_size", describe("redis_cluster_size", "Groups that have slots.")},
		{"cluster_current_epoch", describe("redis_cluster_current_epoch", "Highest number of a leadership.")},
		{"cluster_my_epoch", describe("redis_cluster_my_epoch", "Number of the leadership of this group.")},
	}

	descReplicaOffset = describe("redis_connected_slave_offset_bytes", "Offset of a replica: an entry of the log in a group.", "slave_ip", "slave_port", "slave_state")
	descReplicaLag    = describe("redis_connected_slave_lag_seconds", "Seconds since a replica was heard.", "slave_ip", "slave_port", "slave_state")
	descMasterUp      = describe("redis_master_link_up", "1 if the master, or the leader, is heard.", "master_host", "master_port")
	descMasterHeard   = describe("redis_master_last_io_seconds_ago", "Seconds since it was heard.", "master_host", "master_port")
	descMasterSync    = describe("redis_master_sync_in_progress", "1 while all data comes from it.", "master_host", "master_port")
)

func groupDescs() []*prometheus.Desc {
	all := []*prometheus.Desc{descGroup, descTerm, descKnows, descLast, descCommitted, descLevel, descVoters, descQuorum, descMember, descMemberUp, descMemberLag,
		descMemberSent, descShards, descShardUp, descSlots, descMoves, descMoveSlots, descState, descReplicaOffset, descReplicaLag, descMasterUp,
		descMasterHeard, descMasterSync}
	for _, t := range clusterTexts {
		all = append(all, t.desc)
	}
	return all
}

// replication are the figures of who follows whom, in a group or by REPLICAOF.
func (s sink) replication(f *Figures) {
	seen := map[[3]string]bool{}
	for _, r := range f.Replicas {
		// Replicas say themselves where they are, and may say the same.
		labels := []string{strings.ToValidUTF8(r["ip"], "?"), strings.ToValidUTF8(r["port"], "?"), r["state"]}
		if seen[[3]string(labels)] || len(seen) == maxMembers {
			continue
		}
		seen[[3]string(labels)] = true
		s.put(descReplicaOffset, Number(r["offset"]), labels...)
		s.put(descReplicaLag, Number(r["lag"]), labels...)
	}
	if host := f.Info["master_host"]; host != "" {
		labels := []string{host, f.Info["master_port"]}
		s.put(descMasterUp, truth(f.Info["master_link_status"] == "up"), labels...)
		s.put(descMasterHeard, f.Number("master_last_io_seconds_ago"), labels...)
		s.put(descMasterSync, f.Number("master_sync_in_progress"), labels...)
	}
}

// group are the figures of a group; nothing of a server that is alone.
func (s sink) group(g *Group) {
	if g == nil {
		return
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	s.put(descGroup, 1, g.ID, strings.ToValidUTF8(g.Name, "?"), number(g.Self), g.State)
	s.put(descTerm, g.Term)
	s.put(descKnows, truth(g.Leader > 0))
	s.put(descLast, g.Last)
	s.put(descCommitted, g.Committed)
	s.put(descLevel, g.Level)
	s.put(descVoters, g.Voters)
	s.put(descQuorum, g.Quorum)
	for _, m := range g.Members[:min(len(g.Members), maxMembers)] {
		labels := []string{number(m.Number), m.Address}
		s.put(descMember, 1, append(labels, m.Role, m.Link)...)
		if m.Link != "unknown" {
			s.put(descMemberUp, truth(m.Link != "down"), labels...)
		}
		if m.Known {
			s.put(descMemberLag, m.Lag, labels...)
			s.put(descMemberSent, m.Sent, labels...)
		}
	}
	if g.Cluster != nil {
		s.cluster(g)
	}
}

func (s sink) cluster(g *Group) {
	s.put(descState, truth(g.Cluster["cluster_state"] == "ok"))
	for _, t := range clusterTexts {
		s.put(t.desc, Number(g.Cluster[t.field]))
	}
	s.put(descShards, float64(len(g.Shards)))
	for _, shard := range g.Shards[:min(len(g.Shards), maxMembers)] {
		for _, n := range shard.Nodes {
			if n.Leads {
				s.put(descShardUp, truth(n.Up), n.ID, n.Address)
				s.put(descSlots, float64(shard.Slots), n.ID, n.Address)
			}
		}
	}
	states, left := map[string]float64{"waiting": 0, "moving": 0, "success": 0, "failed": 0, "canceled": 0}, 0.0
	for _, m := range g.Moves {
		states[m.State]++
		if m.State == "waiting" || m.State == "moving" {
			left += max(0, m.Slots-m.Moved)
		}
	}
	for state, n := range states {
		s.put(descMoves, n, state)
	}
	s.put(descMoveSlots, left)
}
