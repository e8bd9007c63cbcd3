package cluster

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// TakeOver asks the leader to hand over to this member. Raft has the message sent to it, and
// does nothing if there is none.
func (d *Driver) TakeOver() {
	if !d.leads() && d.lost == 0 {
		d.node.TransferLeader(d.ID)
	}
}

// asked hands over to a member that asks for it in this leadership, if it has almost all. The
// lease has to end first, so raft does not get the message.
func (d *Driver) asked(now time.Duration, m *raftpb.Message) {
	s := d.node.Status()
	p := s.Progress[m.GetFrom()]
	if m.GetTerm() == s.HardState.GetTerm() && p.State == tracker.StateReplicate && p.RecentActive && p.Match+maxBehind >= s.Progress[d.ID].Match {
		d.Transfer(now, m.GetFrom())
	}
}
