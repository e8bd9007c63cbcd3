package raftnode

import (
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
)

// A member that lacks entries which the leader has cut off its log, or that is new, gets the
// state of the group in place of them. Raft says so by a message without the state, MsgSnap,
// which travels with the state: a [SnapshotSender] sends both, aside from other messages. At the
// other end the state is written aside as it comes, and [Driver.Install] hands both to the
// driver there.

// States is what a [Machine] does about states of the group.
type States interface {
	// Export returns the state as of Applied, as a stream.
	Export() (*raftpb.SnapshotMetadata, io.ReadCloser, error)
	// Restore replaces memory, log, members and hard state by those that were received.
	Restore(*member.Import, *raftpb.HardState) error
	// Keep keeps the log behind an entry, 0 for nothing beyond what is kept anyway.
	Keep(index uint64)
}

// A SnapshotSender sends states of the group to other members.
type SnapshotSender interface {
	// SendSnapshot sends the state to the member that the message is for, and the message with it, or
	// gives up. It does not wait for that. When it is over it closes the state, and makes the
	// call of Driver.SnapshotSent, in that order.
	SendSnapshot(m *raftpb.Message, state io.ReadCloser)
}

const (
	// maxTransfers is how many members are sent the state at the same time. Others wait for
	// their turn.
	maxTransfers = 1
	// transferGrace is for how many election timeouts the log is kept for a member that has
	// got the state, until it has got what came meanwhile.
	transferGrace = 20
)

// ErrNotReceived stops a member whose raft takes a state that did not come.
var ErrNotReceived = errors.New("cluster: raft takes a state that was not received")

// transfer is a state that is sent to a member.
type transfer struct {
	index uint64        // the member needs the log from there on
	over  time.Duration // until when it is kept for it; 0 while the state is under way
}

// sendSnapshot begins to send the state to a member.
func (d *Driver) sendSnapshot(m *raftpb.Message) {
	to := m.GetTo()
	underWay := 0
	for _, c := range d.transfers {
		if c.over == 0 {
			underWay++
		}
	}
	if d.Sender == nil || underWay >= maxTransfers {
		d.refused = append(d.refused, to)
		return
	}
	if knows, has := d.newestOf(to), d.Members().EffectiveLevel(); knows < has {
		if d.outdated != to { // which raft asks for again and again
			d.outdated = to
			d.Logger.Warningf("no state for member %d: %v", to, levelError(has, knows))
		}
		d.refused = append(d.refused, to)
		return
	}
	meta, state, err := d.Machine.Export()
	if err != nil {
		d.Logger.Warningf("no state for member %d: %v", to, err)
		d.refused = append(d.refused, to)
		return
	}
	d.transfers[to] = &transfer{index: meta.GetIndex()}
	d.keep()
	// Raft asked for a state that is as new as this one, or older.
	m.Snapshot = &raftpb.Snapshot{Metadata: meta}
	d.Sender.SendSnapshot(m, state)
}

// SnapshotSent says that a state has come to a member, or why it has not. Raft tries again later.
func (d *Driver) SnapshotSent(now time.Duration, to uint64, err error) {
	d.now = now
	c := d.transfers[to]
	if c == nil || c.over != 0 {
		return
	}
	if err != nil {
		delete(d.transfers, to)
		d.node.ReportSnapshot(to, raft.SnapshotFailure)
		return
	}
	c.over = now + transferGrace*d.timeout()
	d.node.ReportSnapshot(to, raft.SnapshotFinish)
}

// keep keeps the entries that members need which get the state, or have just got it.
func (d *Driver) keep() {
	if d.node.BasicStatus().RaftState != raft.StateLeader {
		clear(d.transfers)
	}
	lowest := uint64(0)
	if len(d.transfers) > 0 {
		progress := d.node.Status().Progress
		for id, c := range d.transfers {
			p, there := progress[id]
			if !there || c.over != 0 && (d.now > c.over || p.State == tracker.StateReplicate) {
				delete(d.transfers, id)
			} else if lowest == 0 || c.index < lowest {
				lowest = c.index
			}
		}
	}
	d.Machine.Keep(lowest)
}

// retry tells raft to which members the state could not be sent.
func (d *Driver) retry() {
	for _, id := range d.refused {
		d.node.ReportSnapshot(id, raft.SnapshotFailure)
	}
	d.refused = d.refused[:0]
}

// Install takes a state that was received as a whole, with the message that came with it. It
// belongs to the driver from then on, which takes it in or drops it with the next Work.
func (d *Driver) Install(now time.Duration, m *raftpb.Message, in *member.Import) error {
	d.now = now
	d.drop()
	d.received = in
	meta := m.GetSnapshot().GetMetadata()
	if m.GetType() != raftpb.MsgSnap || m.GetTo() != d.ID || meta.GetIndex() != in.Index || meta.GetTerm() != in.Term {
		d.drop()
		return fmt.Errorf("a message %v for member %d with a state as of entry %d: %w", m.GetType(), m.GetTo(), in.Index, grouplog.ErrCorrupt)
	}
	if err := in.Finish(); err != nil {
		d.drop()
		return err
	}
	if d.stopped = d.knowsState(in); d.stopped != nil {
		return d.stopped
	}
	err := d.node.Step(m)
	d.heard(m)
	return err
}

// drop drops a state that raft has not taken.
func (d *Driver) drop() {
	if d.received == nil {
		return
	}
	if err := d.received.Close(); err != nil {
		d.Logger.Warningf("drop a state that was received: %v", err)
	}
	d.received = nil
}

// restore takes in the state that raft has taken.
func (d *Driver) restore(meta *raftpb.SnapshotMetadata, state *raftpb.HardState) error {
	in := d.received
	if d.received = nil; in == nil || in.Index != meta.GetIndex() {
		return fmt.Errorf("entry %d: %w", meta.GetIndex(), ErrNotReceived)
	}
	if err := d.Machine.Restore(in, state); err != nil {
		return err
	}
	if d.lost != 0 && meta.GetTerm() >= d.lost { // R6
		d.lost = 0
		if err := d.Log.Recovered(); err != nil {
			return err
		}
	}
	if d.Changed != nil {
		d.Changed(d.Members())
	}
	return nil
}
