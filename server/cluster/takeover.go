package cluster

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// TakeOver asks the leader to hand over to this member. Raft has the message sent to it, and
// does nothing if there is none.
func (d *Driver) TakeOver() {
	if !d.leads() && d.lost == 0 {
		d.node.TransferLeader(d.ID)
	}
}

// asked hands over to a member that asks for it in this leadership, if it has almost all. The
// lease has to end first, so raft does not get the message. A learner changes places with the leader.
func (d *Driver) asked(now time.Duration, m *raftpb.Message) {
	from := m.GetFrom()
	switch {
	case m.GetTerm() != d.node.BasicStatus().HardState.GetTerm():
	case slices.Contains(d.Members().Conf.GetLearners(), from):
		if err := d.Swap(from); err != nil {
			d.Logger.Infof("%v", err)
		}
	case d.follows(from) == nil:
		d.Transfer(now, from)
	}
}
