package raftnode

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/confchange"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// Peer is a member and where it is reached.
type Peer struct {
	ID      uint64
	Address string
}

// Members are the members of a group as an entry of its log left them.
type Members struct {
	Index uint64 // of the entry, 0 for none
	// Conf has the voters and the learners, and between the two steps of a change, while
	// majorities of both count, the former voters.
	Conf *raftpb.ConfState
	// Addresses are those of all members for which one was given.
	Addresses map[uint64]string
	// Left are the ids of former members, in order. Each is used once: what a member with
	// a new disk does not know of its former self could be a vote, or an entry.
	Left []uint64
	// Base is the entry up to which the log says nothing of the present members: it was made that of
	// one of them alone, by hand. Others get the state in its place. 0 for none.
	Base uint64
	// Level is that of the group; 0 while its log says nothing of levels, see Members.level.
	Level uint64
	topology.Assignment
}

// IDs returns the ids of all members, voters and others, in order.
func (m *Members) IDs() []uint64 {
	ids := slices.Concat(m.Conf.GetVoters(), m.Conf.GetVotersOutgoing(), m.Conf.GetLearners())
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Voter reports whether a member votes, also when it is about to leave or to come.
func (m *Members) Voter(id uint64) bool {
	return slices.Contains(m.Conf.GetVoters(), id) || slices.Contains(m.Conf.GetVotersOutgoing(), id)
}

// Joint reports that a change is between its two steps.
func (m *Members) Joint() bool { return len(m.Conf.GetVotersOutgoing()) > 0 }

// after returns the members as a change in the entry at index leaves them, which is conf.
func (m *Members) after(index uint64, cc *raftpb.ConfChangeV2, conf *raftpb.ConfState) *Members {
	next := &Members{Index: index, Conf: conf, Addresses: map[uint64]string{}, Left: slices.Clone(m.Left), Base: m.Base, Level: m.Level, Assignment: m.Assignment}
	for id, address := range m.Addresses {
		next.Addresses[id] = address
	}
	for _, c := range cc.GetChanges() {
		if c.GetType() == changesLevel {
			next.Level = max(m.Level, c.GetNodeId())
			continue
		}
		if c.GetNodeId() == raft.None {
			next.Assignment = topology.DecodeAssignment(cc.GetContext(), m.Assignment)
			continue
		}
		if len(cc.GetContext()) > 0 && c.GetType() != raftpb.ConfChangeRemoveNode {
			next.Addresses[c.GetNodeId()] = string(cc.GetContext())
		}
	}
	there := next.IDs()
	for _, id := range m.IDs() {
		if !slices.Contains(there, id) {
			next.Left = append(next.Left, id)
		}
	}
	slices.Sort(next.Left)
	for id := range next.Addresses {
		if !slices.Contains(there, id) {
			delete(next.Addresses, id)
		}
	}
	return next
}

// decodeChange returns the change in an entry, nil for an entry without one.
func decodeChange(e *raftpb.Entry) (*raftpb.ConfChangeV2, error) {
	var err error
	switch cc := new(raftpb.ConfChangeV2); e.GetType() {
	case raftpb.EntryConfChangeV2:
		if err = proto.Unmarshal(e.GetData(), cc); err == nil {
			return cc, nil
		}
	case raftpb.EntryConfChange:
		old := new(raftpb.ConfChange)
		if err = proto.Unmarshal(e.GetData(), old); err == nil {
			return old.AsV2(), nil
		}
	default:
		return nil, nil
	}
	return nil, fmt.Errorf("change of members in entry %d: %w: %w", e.GetIndex(), err, grouplog.ErrCorrupt)
}

// change returns the configuration that a change makes, as raft does when it applies it.
func change(conf *raftpb.ConfState, cc *raftpb.ConfChangeV2) (*raftpb.ConfState, error) {
	cc = ofMembers(cc)
	changer := confchange.Changer{Tracker: tracker.MakeProgressTracker(1, 0), LastIndex: 1}
	config, progress, err := confchange.Restore(changer, conf)
	if err != nil {
		return nil, err
	}
	changer.Tracker.Config, changer.Tracker.Progress = config, progress
	if cc.LeaveJoint() {
		config, progress, err = changer.LeaveJoint()
	} else if leave, joint := cc.EnterJoint(); joint {
		config, progress, err = changer.EnterJoint(leave, cc.GetChanges()...)
	} else {
		config, progress, err = changer.Simple(cc.GetChanges()...)
	}
	if err != nil {
		return nil, err
	}
	changer.Tracker.Config, changer.Tracker.Progress = config, progress
	return changer.Tracker.ConfState(), nil
}

// membersFormat is the first byte of members on disk. All numbers are uvarints, and a
// list has its length in front:
//
//	1 (1) | voters | former voters | learners | learners to be | 1 if raft ends the change (1)
//	addresses, each id, length, bytes | ids that have left | Base, unless it is 0
//
// Once a group has claimed slots its members begin with membersWithAssignment, have Base in any case, and
// the assignment behind it. With slots that are being moved they begin with membersWithMoves, and have
// what was given away and what comes behind the assignment, which may be empty. With tombstones they begin with
// membersWithTombstones, and have these behind the moves. Those of a group whose log tells of its level begin with
// membersWithLevel, and have Base, Level, and the assignment as it is in an entry, if there is one.
const (
	membersFormat         = 1
	membersWithAssignment = 2
	membersWithMoves      = 3
	membersWithTombstones = 4
	membersWithLevel      = 5
)

func (m *Members) encode() []byte {
	b := []byte{membersFormat}
	switch {
	case m.Level != 0:
		b[0] = membersWithLevel
	case m.HasTombstones():
		b[0] = membersWithTombstones
	case m.Moving():
		b[0] = membersWithMoves
	case m.Assigned():
		b[0] = membersWithAssignment
	}
	for _, ids := range [][]uint64{m.Conf.GetVoters(), m.Conf.GetVotersOutgoing(), m.Conf.GetLearners(), m.Conf.GetLearnersNext()} {
		b = appendIDs(b, ids)
	}
	leave := byte(0)
	if m.Conf.GetAutoLeave() {
		leave = 1
	}
	b = binary.AppendUvarint(append(b, leave), uint64(len(m.Addresses)))
	for _, id := range m.IDs() {
		if address, ok := m.Addresses[id]; ok {
			b = binary.AppendUvarint(binary.AppendUvarint(b, id), uint64(len(address)))
			b = append(b, address...)
		}
	}
	b = appendIDs(b, m.Left)
	switch {
	case b[0] == membersWithLevel:
		b = binary.AppendUvarint(binary.AppendUvarint(b, m.Base), m.Level)
		if m.Assigned() || m.Moving() || m.HasTombstones() {
			b = append(b, m.Encode()...)
		}
		return b
	case b[0] != membersFormat:
		return append(binary.AppendUvarint(b, m.Base), m.Encode()...)
	case m.Base != 0:
		return binary.AppendUvarint(b, m.Base)
	}
	return b
}

func appendIDs(b []byte, ids []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for _, id := range ids {
		b = binary.AppendUvarint(b, id)
	}
	return b
}

// DecodeMembers reads what encode wrote; none is a group without members.
func DecodeMembers(index uint64, b []byte) (*Members, error) {
	m := &Members{Index: index, Conf: &raftpb.ConfState{}, Addresses: map[uint64]string{}}
	if len(b) == 0 {
		return m, nil
	}
	if b[0] < membersFormat || b[0] > membersWithLevel {
		return nil, fmt.Errorf("members in format %d: %w", b[0], errNewer)
	}
	d, assigned := topology.Decoder{Rest: b[1:]}, b[0] >= membersWithAssignment
	m.Conf.Voters, m.Conf.VotersOutgoing = decodeIDs(&d), decodeIDs(&d)
	m.Conf.Learners, m.Conf.LearnersNext = decodeIDs(&d), decodeIDs(&d)
	leave := d.Number() == 1
	m.Conf.AutoLeave = &leave
	for n := d.Number(); n > 0 && d.Err == nil; n-- {
		id := d.Number()
		m.Addresses[id] = string(d.Bytes(d.Number()))
	}
	m.Left = decodeIDs(&d)
	switch {
	case b[0] == membersWithLevel:
		m.Base, m.Level = d.Number(), d.Number()
		if d.Err == nil && len(d.Rest) > 0 {
			m.Assignment = d.Entry()
		}
		if m.Level < persistence.LevelTold { // which is not written
			d.Err = topology.ErrDecode
		}
	case d.Err == nil && assigned:
		m.Base = d.Number()
		m.Assignment = d.Assignment()
		if b[0] >= membersWithMoves {
			m.Given, m.Taking = d.Moves(), d.Moves()
		}
		if b[0] == membersWithTombstones {
			d.Tombstones(&m.Assignment)
		}
	case d.Err == nil && len(d.Rest) > 0:
		if m.Base = d.Number(); m.Base == 0 { // which is not written
			d.Err = topology.ErrDecode
		}
	}
	if d.Err == nil && len(d.Rest) > 0 {
		d.Err = topology.ErrDecode
	}
	return m, d.Err
}

func decodeIDs(d *topology.Decoder) (ids []uint64) {
	for n := d.Number(); n > 0 && d.Err == nil; n-- {
		ids = append(ids, d.Number())
	}
	return ids
}

// found writes the first entries of a new group: one for each founder, the same on all of
// them. Everything else about members follows from the log, and so do these.
func (r *Replica) found(founders []Peer) error {
	founders = slices.Clone(founders)
	slices.SortFunc(founders, func(a, b Peer) int { return cmp.Compare(a.ID, b.ID) })
	first, _ := r.log.Bounds()
	var entries []*raftpb.Entry
	for _, f := range founders {
		cc := &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeAddNode, f.ID)}, Context: []byte(f.Address)}
		kind, data, err := raftpb.MarshalConfChange(cc)
		if err != nil {
			return err
		}
		term, index := uint64(foundingTerm), first+uint64(len(entries))
		entries = append(entries, &raftpb.Entry{Term: &term, Index: &index, Type: &kind, Data: data})
	}
	if entries = append(entries, r.foundingLevel(founders, first+1)...); len(founders) > 1 {
		r.young = true
	}
	term, last := uint64(foundingTerm), first-1+uint64(len(entries))
	if err := r.Append(entries, &raftpb.HardState{Term: &term, Vote: new(uint64), Commit: &last}); err != nil {
		return err
	}
	return r.Commit(entries)
}

// foundingTerm is the term of the entries that found a group. Elections have later ones.
const foundingTerm = 1

// blank reports that a log has nothing but what founds a group, or not even that.
func blank(s raft.Storage) (bool, error) {
	last, err := s.LastIndex()
	if err != nil {
		return false, err
	}
	term, err := s.Term(last)
	return term <= foundingTerm, err
}

func (m *Members) Role(id uint64) string {
	if m.Voter(id) {
		return "a voter"
	}
	return "a learner"
}
