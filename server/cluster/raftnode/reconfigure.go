package raftnode

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"github.com/vigildb/vigil/persistence/grouplog"
)

// What is in this file changes the members of a group, at its leader.

// Errors of changes of the members. They are wrapped with what they are about.
var (
	// ErrNotLeading is returned by a member that does not lead.
	ErrNotLeading = errors.New("cluster: another member leads")
	// ErrChanging is returned while an earlier change is under way.
	ErrChanging = errors.New("cluster: another change of the members is under way")
	// ErrUnknownMember is returned for an id that the group does not have.
	ErrUnknownMember = errors.New("cluster: there is no such member")
	// ErrKnownMember is returned for an id that the group has or had.
	ErrKnownMember = errors.New("cluster: the id is in use or was")
	// ErrLastVoter is returned when no voter would be left.
	ErrLastVoter = errors.New("cluster: the only voter cannot leave")
	// ErrBehind is returned for a learner that lacks too much to vote, and when no other voter
	// is known to follow closely enough to lead.
	ErrBehind = errors.New("cluster: the member has not caught up")
	// ErrHandsOver is returned by a leader that is to be removed: it hands its leadership
	// over first, and the next one is to be asked again.
	ErrHandsOver = errors.New("cluster: the leader hands over before it leaves")
	// ErrLostDisk stops a member that lacks what it has acknowledged: its disk was
	// replaced. It has to join under another id.
	ErrLostDisk = errors.New("cluster: the member lacks what it has acknowledged")
)

// maxBehind is how many entries a learner may lack when it begins to vote: a group whose majority needs it waits for them.
const maxBehind = 1000

// Members returns the members as of the last entry that was applied.
func (d *Driver) Members() *Members { return d.Log.Members() }

// Join takes a member, which is reached at an address, into the group as a learner: it gets
// everything and neither votes nor counts. Like Promote and Remove it returns when the
// change is proposed; Members tells when it is done. A leadership that ends before may or
// may not leave the change to the next one.
func (d *Driver) Join(id uint64, address string) error {
	m, err := d.mayChange()
	if err != nil {
		return fmt.Errorf("member %d joins: %w", id, err)
	}
	if id == 0 || slices.Contains(m.IDs(), id) || slices.Contains(m.Left, id) {
		return fmt.Errorf("member %d joins: %w", id, ErrKnownMember)
	}
	return d.proposeChange(raftpb.ConfChangeTransitionAuto, address, single(raftpb.ConfChangeAddLearnerNode, id))
}

// Move notes that a member is reached at another address.
func (d *Driver) Move(id uint64, address string) error {
	m, err := d.mayChange()
	if err != nil {
		return fmt.Errorf("member %d moves: %w", id, err)
	}
	if !slices.Contains(m.IDs(), id) {
		return fmt.Errorf("member %d moves: %w", id, ErrUnknownMember)
	}
	return d.proposeChange(raftpb.ConfChangeTransitionAuto, address, single(raftpb.ConfChangeUpdateNode, id))
}

// Promote makes learners that have caught up voters, by joint consensus.
func (d *Driver) Promote(ids ...uint64) error { return d.replace(0, ids...) }

// Replace makes a learner a voter in the place of another one, which leaves, in one change:
// at no time do fewer or more than before have to agree.
func (d *Driver) Replace(id, leaves uint64) error {
	if leaves == d.ID && d.leading != 0 {
		return d.handOver(leaves)
	}
	return d.replace(leaves, id)
}

func (d *Driver) replace(leaves uint64, ids ...uint64) error {
	m, err := d.mayChange()
	if err != nil {
		return fmt.Errorf("promote members %d: %w", ids, err)
	}
	var changes []*raftpb.ConfChangeSingle
	for _, id := range ids {
		if !slices.Contains(m.Conf.GetLearners(), id) || leaves != 0 && !m.Voter(leaves) {
			return fmt.Errorf("promote member %d in place of %d: %w", id, leaves, ErrUnknownMember)
		}
		if err := d.follows(id); err != nil {
			return fmt.Errorf("promote member %d: %w", id, err)
		}
		changes = append(changes, single(raftpb.ConfChangeAddNode, id))
	}
	if leaves != 0 {
		if err := d.begun(append(without(m.Conf.GetVoters(), leaves), ids...)); err != nil {
			return fmt.Errorf("promote members %d in place of %d: %w", ids, leaves, err)
		}
		changes = append(changes, single(raftpb.ConfChangeRemoveNode, leaves))
	}
	return d.proposeChange(raftpb.ConfChangeTransitionJointImplicit, "", changes...)
}

// follows returns ErrBehind unless a member follows this leader and lacks little.
func (d *Driver) follows(id uint64) error {
	progress := d.node.Status().Progress
	last := progress[d.ID].Match
	if p := progress[id]; p.State != tracker.StateReplicate || !d.active(id) || p.Match+maxBehind < last {
		return fmt.Errorf("it has %d of %d entries: %w", p.Match, last, ErrBehind)
	}
	return nil
}

// Swap makes a learner that has caught up a voter in the place of this leader, which becomes a learner: where
// voters are odd in number they stay so. As with Transfer the lease ends at once: the learner campaigns as soon as the change
// is made, if it is the only voter then. The leader steps down when the change is made, or after an election timeout.
func (d *Driver) Swap(id uint64) error {
	m, err := d.mayChange()
	if err != nil {
		return fmt.Errorf("change places with member %d: %w", id, err)
	}
	if !slices.Contains(m.Conf.GetLearners(), id) {
		return fmt.Errorf("change places with member %d: %w", id, ErrUnknownMember)
	}
	if err = d.follows(id); err == nil {
		err = d.begun(append(without(m.Conf.GetVoters(), d.ID), id))
	}
	if err != nil {
		return fmt.Errorf("change places with member %d: %w", id, err)
	}
	err = d.proposeChange(raftpb.ConfChangeTransitionJointImplicit, "", single(raftpb.ConfChangeAddNode, id), single(raftpb.ConfChangeAddLearnerNode, d.ID))
	if err == nil {
		d.endLease()
	}
	return err
}

// Remove takes a member out of the group: a voter by joint consensus. A leader hands over
// first, with ErrHandsOver.
func (d *Driver) Remove(id uint64) error {
	m, err := d.mayChange()
	if err != nil {
		return fmt.Errorf("remove member %d: %w", id, err)
	}
	switch voters := m.Conf.GetVoters(); {
	case slices.Contains(m.Conf.GetLearners(), id):
		return d.proposeChange(raftpb.ConfChangeTransitionAuto, "", single(raftpb.ConfChangeRemoveNode, id))
	case !slices.Contains(voters, id):
		return fmt.Errorf("remove member %d: %w", id, ErrUnknownMember)
	case len(voters) == 1:
		return fmt.Errorf("remove member %d: %w", id, ErrLastVoter)
	case id == d.ID:
		return d.handOver(id)
	}
	if err := d.begun(without(m.Conf.GetVoters(), id)); err != nil {
		return fmt.Errorf("remove member %d: %w", id, err)
	}
	return d.proposeChange(raftpb.ConfChangeTransitionJointImplicit, "", single(raftpb.ConfChangeRemoveNode, id))
}

// begun returns ErrBehind unless most of the voters after a change have more than what founds a
// group. The others do not vote for those that have more (R7): were they half of the voters, nobody could lead
// the group after this leader, though all are up.
func (d *Driver) begun(voters []uint64) error {
	progress, most := d.node.Status().Progress, 0
	for _, id := range voters {
		term, err := d.Log.Term(progress[id].Match)
		switch {
		case errors.Is(err, raft.ErrCompacted) || err == nil && term > foundingTerm:
			most++
		case err != nil:
			return err
		}
	}
	if most <= len(voters)/2 {
		return fmt.Errorf("of the %d voters that stay only %d are known to have entries: %w", len(voters), most, ErrBehind)
	}
	return nil
}

// without returns ids without one of them.
func without(ids []uint64, id uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(ids), func(other uint64) bool { return other == id })
}

func single(kind raftpb.ConfChangeType, id uint64) *raftpb.ConfChangeSingle {
	return &raftpb.ConfChangeSingle{Type: &kind, NodeId: &id}
}

// mayChange returns the members if the leader may propose a change of them.
func (d *Driver) mayChange() (*Members, error) {
	m := d.Members()
	switch {
	case !d.leads() || d.handing != 0:
		return nil, ErrNotLeading
	case d.changing || m.Joint():
		return nil, ErrChanging
	}
	return m, nil
}

// proposeChange hands a change to raft. Raft has one under way at a time, which mayChange
// has seen to: else it would quietly propose nothing in its place.
func (d *Driver) proposeChange(how raftpb.ConfChangeTransition, address string, changes ...*raftpb.ConfChangeSingle) error {
	err := d.node.ProposeConfChange(&raftpb.ConfChangeV2{Transition: &how, Changes: changes, Context: []byte(address)})
	if err != nil {
		return fmt.Errorf("change the members: %w", err)
	}
	d.changing = true
	return nil
}

// successor is the voter beside this one that has most of what this leader has, 0 if none was heard or this
// member does not lead.
func (d *Driver) successor() (to uint64) {
	most := uint64(0)
	for id, p := range d.node.Status().Progress {
		if id != d.ID && !p.IsLearner && d.active(id) && (p.Match > most || p.Match == most && id < to) {
			to, most = id, p.Match
		}
	}
	return to
}

// handOver hands the leadership to the voter that has most.
func (d *Driver) handOver(leaves uint64) error {
	to := d.successor()
	if to == 0 {
		reason := ErrBehind
		if len(d.Members().Conf.GetVoters()) == 1 {
			reason = ErrLastVoter
		}
		return fmt.Errorf("remove member %d, and no other one could lead: %w", leaves, reason)
	}
	d.Transfer(d.now, to)
	return fmt.Errorf("remove member %d, member %d is to lead: %w", leaves, to, ErrHandsOver)
}

// applyChange has raft and the log take a change that is committed. It is on disk before
// memory passes the entry, so the log still has the entries of all changes that a restart
// does not find there.
func (d *Driver) applyChange(e *raftpb.Entry, cc *raftpb.ConfChangeV2) error {
	before := d.Members()
	if _, err := change(before.Conf, cc); err != nil {
		return fmt.Errorf("change of members in entry %d: %w: %w", e.GetIndex(), err, grouplog.ErrCorrupt)
	}
	if err := d.knows(e, cc); err != nil {
		return err
	}
	if err := d.Log.Change(before.after(e.GetIndex(), cc, d.node.ApplyConfChange(ofMembers(cc)))); err != nil {
		return err
	}
	if len(cc.GetChanges()) > 0 {
		d.changing = false
	}
	if d.alone() && before.Joint() {
		d.campaigns.due = d.now // no other one can lead, and the lease of the former leader has ended with Swap
	}
	d.sendAllLate() // that the change is committed: else, with this member lost, the others would go by the members before
	if d.Changed != nil {
		d.Changed(d.Members())
	}
	return nil
}
