package raftnode

import (
	"time"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/internal/clock"

	"go.etcd.io/raft/v3/raftpb"
)

// A group of one voter and its learners is a master and its replicas. Whatever the voter loses is lost, so learners must not
// have it as committed (R8); what they have to wait for they get as soon as the voter's device has it.

// singleVoter reports whether one voter decides, or did before a change that is under way.
func (m *Members) singleVoter() bool {
	return len(m.Conf.GetVoters()) == 1 || len(m.Conf.GetVotersOutgoing()) == 1
}

// young reports that the member has joined, and has not heard of any member yet.
func (m *Members) young() bool { return len(m.Conf.GetVoters()) == 0 }

// passing reports that a change is between its two steps, before or after which a single voter decides: whatever the group
// agrees on meanwhile needs that one (R9).
func (m *Members) passing() bool { return m.Joint() && m.singleVoter() }

// eager reports whether what is appended is forced to the device under every policy (R8, R9).
func (r *Replica) eager() bool {
	return r.lazy && r.members != nil && (r.members.passing() || (r.members.young() || r.members.singleVoter()) && !r.Leads())
}

// lossless reports whether an end at any time leaves the log whole, as long as these are the members.
func (r *Replica) lossless(m *Members) bool { return !r.lost && (!r.lazy || m.passing()) }

// whole reports whether the member cannot have lost anything: it has heard of no member yet, or is a learner of a single
// voter, and has forced everything to its device (R8).
func (d *Driver) whole() bool {
	m := d.Log.Members()
	return m.young() || m.singleVoter() && !m.Voter(d.ID)
}

// alone reports whether the member is the only voter of its group: what it has lost nobody has as
// committed (R8).
func (d *Driver) alone() bool {
	conf := d.Log.Members().Conf
	return len(conf.GetVoters()) == 1 && conf.GetVoters()[0] == d.ID && len(conf.GetVotersOutgoing()) == 0
}

// hold keeps learners from applying what the device of a leader that is the only voter does not have yet (R8).
func (d *Driver) hold(m *raftpb.Message) {
	kind := m.GetType()
	if kind != raftpb.MsgApp && kind != raftpb.MsgHeartbeat || !d.alone() || d.Without.HastyLearners {
		return
	}
	if forced := d.Log.Forced(); m.GetCommit() > forced {
		m.Commit = &forced
	}
}

// Tell lets learners of a leader that is the only voter know what its device has by now.
func (d *Driver) Tell() {
	for _, id := range d.Members().Conf.GetLearners() {
		d.tell(id)
	}
}

// tell is Tell for one learner, which has said what it has, or for which the device has more now: whatever comes
// last. Raft has told it before, when it could not know. If this is lost the next heartbeat says it.
func (d *Driver) tell(id uint64) {
	if !d.leads() || !d.alone() || id == d.ID {
		return
	}
	s := d.node.Status()
	if commit := min(s.Progress[id].Match, s.HardState.GetCommit(), d.Log.Forced()); commit > 0 {
		d.Mesh.Send(&raftpb.Message{Type: raftpb.MsgHeartbeat.Enum(), From: &d.ID, To: &id, Term: s.HardState.Term, Commit: &commit})
	}
}

// forcePause is the least time from one write that learners wait for to the next: under load more comes with each.
const forcePause = 5 * time.Millisecond

// force syncs what learners wait for (R8), in a goroutine that ends with the write.
func (r *Runner) force() {
	_, last := r.replica.log.Bounds()
	if r.forcing || !r.driver.leads() || !r.driver.alone() || len(r.replica.Members().Conf.GetLearners()) == 0 || r.replica.Forced() >= last {
		return
	}
	now := r.config.Now()
	pause := max(0, r.lastForced+forcePause-now)
	r.forcing, r.lastForced = true, max(now, r.lastForced+forcePause)
	r.tasks.Go(func() {
		if clock.Rest(r.ctx, r.config.Clock, pause) != nil {
			return
		}
		if err := r.replica.Sync(); err != nil {
			r.config.Logf(logs.Warn, "%v", err) // the disk is looked at with every tick
		}
		r.forced <- struct{}{}
	})
}
