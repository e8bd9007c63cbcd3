package server

import (
	"strconv"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/source"
)

// infoReplication shows entries of the group's log where Redis has offsets of its stream.
func infoReplication(t *infoText) {
	m := t.session.Membership()
	if m == nil {
		infoAlone(t)
		return
	}
	offset := m.Commits
	if m.Leads {
		offset = m.Last
		field(t, "role", "master")
		infoFollowers(t, m)
	} else {
		infoLeader(t, m)
	}
	infoStream(t, m.ID, noReplicationID, int64(offset), -1)
	infoBacklog(t, &source.Report{}, 0)
}

// infoAlone shows the role of a server that is in no group: the stream of its master, or its own if replicas get one or it has never
// had a master.
func infoAlone(t *infoText) {
	id, id2, offset, second := t.srv.lineage()
	rep := t.srv.source.Report()
	if f := t.srv.following.now.Load(); f != nil {
		st := f.Status()
		infoMaster(t, &st)
		offset = max(0, st.Offset)
	} else {
		field(t, "role", "master")
		if rep.Active || t.srv.store.Replicated().ID == "" {
			id, id2, offset, second = rep.ID, noReplicationID, rep.Offset, -1
			if rep.Former != "" {
				id2, second = rep.Former, rep.Second
			}
		}
	}
	infoReplicas(t, &rep)
	infoStream(t, id, id2, offset, second)
	infoBacklog(t, &rep, t.srv.settings().conf.ReplBacklogSize)
}

// infoStream shows what replicas could ask for.
func infoStream(t *infoText, id, id2 string, offset, second int64) {
	field(t, "master_failover_state", t.srv.failover.name())
	field(t, "master_replid", id)
	field(t, "master_replid2", id2)
	field(t, "master_repl_offset", offset)
	field(t, "second_repl_offset", second)
}

func infoBacklog(t *infoText, rep *source.Report, size int64) {
	field(t, "repl_backlog_active", number(rep.Active))
	field(t, "repl_backlog_size", size)
	field(t, "repl_backlog_first_byte_offset", rep.First)
	field(t, "repl_backlog_histlen", rep.History)
}

// infoFollowers shows the members that reply to this one, which leads. One that clients
// are not told of yet is on its way to what the others have.
func infoFollowers(t *infoText, m *commands.Membership) {
	start, n := len(t.b), 0
	for i := range m.Members {
		o, state := &m.Members[i], "online"
		if i == m.Self || !o.Active {
			continue
		}
		if o.Hidden() {
			state = "send_bulk"
		}
		field(t, "slave"+strconv.Itoa(n), "ip="+o.Host+",port="+strconv.Itoa(o.Port)+
			",state="+state+",offset="+strconv.FormatUint(o.Entry, 10)+",lag=0")
		n++
	}
	list := string(t.b[start:])
	t.b = t.b[:start]
	field(t, "connected_slaves", n)
	t.b = append(t.b, list...)
}

// infoLeader shows the member that this one follows, or has followed.
func infoLeader(t *infoText, m *commands.Membership) {
	leader := m.Master()
	field(t, "role", "slave")
	field(t, "master_host", leader.Host)
	field(t, "master_port", leader.Port)
	if m.Led {
		field(t, "master_link_status", "up")
	} else {
		field(t, "master_link_status", "down")
	}
	field(t, "master_last_io_seconds_ago", int64(m.Heard/time.Second))
	field(t, "master_sync_in_progress", number(m.Syncing))
	field(t, "slave_read_repl_offset", m.Last)
	field(t, "slave_repl_offset", m.Commits)
	if !m.Led {
		field(t, "master_link_down_since_seconds", int64(m.Heard/time.Second))
	}
	field(t, "slave_priority", 100)
	field(t, "slave_read_only", 1)
	field(t, "replica_announced", 1)
	field(t, "connected_slaves", 0)
}

func infoCluster(t *infoText) {
	field(t, "cluster_enabled", number(t.srv.slotted()))
}

// infoModules tells of the modules that directives have clients told of.
func infoModules(t *infoText) {
	for _, m := range t.srv.settings().limits.Modules {
		field(t, "module", "name="+m.Name+",ver="+strconv.FormatInt(m.Version, 10)+",api=1,filters=0,usedby=[],using=[],options=[]")
	}
}
