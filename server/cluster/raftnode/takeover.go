package raftnode

import (
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// TakeOver asks the leader to hand over to this member. Without a leader it does nothing.
func (d *Driver) TakeOver() {
	if !d.leads() && d.lost == 0 {
		d.node.TransferLeader(d.ID)
	}
}

// asked hands over to a member that asks for it in this leadership, if it has almost all. The
// lease has to end first, so raft does not get the message. A learner changes places with the leader.
func (d *Driver) asked(m *raftpb.Message) {
	from, term := m.GetFrom(), m.GetTerm()
	if !d.leads() || term != d.leading || from == d.ID {
		return
	}
	if err := d.follows(from); err != nil {
		d.Logger.Infof("member %d asks for the leadership: %v", from, err)
		return
	}
	give := func() {
		if !d.leads() || term != d.leading { // by now
			return
		}
		if !slices.Contains(d.Members().Conf.GetLearners(), from) {
			d.Transfer(d.now, from)
		} else if err := d.Swap(from); err != nil {
			d.Logger.Infof("%v", err)
		}
	}
	if d.Give == nil {
		give()
		return
	}
	d.Give(give)
}
