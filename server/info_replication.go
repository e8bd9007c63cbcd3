package server

import (
	"strconv"

	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/source"
)

// infoReplication shows entries of the group's log where Redis has offsets of its stream.
func infoReplication(t *info.Text, s *session) {
	m := s.Membership()
	if m == nil {
		infoAlone(t, s)
		return
	}
	offset := m.Commits
	if m.Leads {
		offset = m.Last
		if f := s.srv.following.now.Load(); f != nil {
			st := f.Status()
			infoMaster(t, s, &st)
		} else {
			info.Field(t, "role", "master")
		}
		info.Followers(t, m)
	} else {
		info.Leader(t, m)
	}
	infoStream(t, s, m.ID, noReplicationID, int64(offset), -1)
	info.Backlog(t, &source.Report{}, 0)
	rep := s.srv.source.Report()
	infoOutsiders(t, &rep)
}

// infoAlone shows the role of a server that is in no group: the stream of its master, or its own if replicas get one or it has never
// had a master.
func infoAlone(t *info.Text, s *session) {
	id, id2, offset, second := s.srv.lineage()
	rep := s.srv.source.Report()
	if f := s.srv.following.now.Load(); f != nil {
		st := f.Status()
		infoMaster(t, s, &st)
		offset = max(0, st.Offset)
	} else {
		info.Field(t, "role", "master")
		if rep.Active || s.srv.store.Replicated().ID == "" {
			id, id2, offset, second = rep.ID, noReplicationID, rep.Offset, -1
			if rep.Former != "" {
				id2, second = rep.Former, rep.Second
			}
		}
	}
	infoReplicas(t, s, &rep)
	infoStream(t, s, id, id2, offset, second)
	info.Backlog(t, &rep, s.srv.settings().conf.ReplBacklogSize)
}

// infoStream shows what replicas could ask for.
func infoStream(t *info.Text, s *session, id, id2 string, offset, second int64) {
	info.Field(t, "master_failover_state", s.srv.failover.name())
	info.Field(t, "master_replid", id)
	info.Field(t, "master_replid2", id2)
	info.Field(t, "master_repl_offset", offset)
	info.Field(t, "second_repl_offset", second)
}

func infoCluster(t *info.Text, s *session) {
	info.Field(t, "cluster_enabled", info.Number(s.srv.slotted()))
}

// infoModules lists the modules that directives announce to clients.
func infoModules(t *info.Text, s *session) {
	for _, m := range s.srv.settings().limits.Modules {
		info.Field(t, "module", "name="+m.Name+",ver="+strconv.FormatInt(m.Version, 10)+",api=1,filters=0,usedby=[],using=[],options=[]")
	}
}
