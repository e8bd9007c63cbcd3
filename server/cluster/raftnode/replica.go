package raftnode

import (
	"errors"
	"fmt"
	"io"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/persistence/member"
)

// Replica is a store as [Log] and [Machine] of a driver.
type Replica struct {
	*member.Member
	log     *grouplog.Log
	members *Members
	lazy    bool
	lost    bool
	young   bool // this process has founded the group with others, and no member is known to be of an older version
}

// NewReplica is OpenReplica with the ids of the founders.
func NewReplica(m *member.Member, founders []uint64, lazy bool) (*Replica, error) {
	var peers []Peer
	for _, id := range founders {
		peers = append(peers, Peer{ID: id})
	}
	return OpenReplica(m, peers, lazy)
}

// OpenReplica returns a member that was opened just now. lazy says that entries are
// appended without being forced to the device, so that the end of the machine may lose
// some. The founders are the first members of the group, the same for all of them; a member
// that joins later has none. They count as long as the group is not founded.
func OpenReplica(m *member.Member, founders []Peer, lazy bool) (*Replica, error) {
	r := &Replica{Member: m, log: m.Log(), lazy: lazy}
	r.lost = r.log.State().Term > 0 && !r.log.Boot().Closed && !m.Whole()
	if len(founders) > 0 && Unfounded(m) {
		if err := r.found(founders); err != nil {
			return nil, fmt.Errorf("found a group: %w", err)
		}
	}
	if err := r.readMembers(); err != nil {
		return nil, err
	}
	if len(founders) > 0 && len(r.members.IDs()) == 0 {
		return nil, fmt.Errorf("the log tells of no members, so none of its group has founded it: %w", grouplog.ErrCorrupt)
	}
	return r, r.keep(r.lossless(r.members)) // before anything is acknowledged
}

// Unfounded reports that the group of a store is still to be founded: nothing in its log is committed, in no term. Entries that are there were
// being written when the machine failed. The log may begin behind an entry, with the data of a store that was alone.
func Unfounded(m *member.Member) bool {
	first, _ := m.Log().Bounds()
	state := m.Log().State()
	return state.Term == 0 && state.Commit < first
}

// readMembers finds the members as of the last entry that memory contains. The log has the
// changes that were not kept.
func (r *Replica) readMembers() error {
	kept := r.log.Membership()
	m, err := DecodeMembers(kept.Index, kept.Members)
	if err != nil {
		return err
	}
	for _, index := range r.log.OfTypes(m.Index+1, r.Applied()+1, typeConfChange, typeConfChange2) {
		entries, err := r.Entries(index, index+1, 0)
		if err != nil {
			return err
		}
		cc, err := decodeChange(entries[0])
		if err != nil {
			return err
		}
		conf, err := change(m.Conf, cc)
		if err != nil {
			return fmt.Errorf("change of members in entry %d: %w: %w", index, err, grouplog.ErrCorrupt)
		}
		m = m.after(index, cc, conf)
	}
	if err := m.within(r.NewestLevel()); err != nil {
		return err
	}
	if m.Index > kept.Index {
		return r.Change(m) // the log may be cut from now on
	}
	r.take(m)
	return nil
}

// Members implements [Roster].
func (r *Replica) Members() *Members { return r.members }

// Change implements [Roster].
func (r *Replica) Change(m *Members) error {
	if m.passing() { // first of all: a voter that the change needs must not end between as one that may have lost something
		if err := r.keep(r.lossless(m)); err != nil {
			return err
		}
	}
	if err := r.log.SetMembership(grouplog.Membership{Index: m.Index, Members: m.encode()}); err != nil {
		return err
	}
	r.take(m)
	return r.keep(r.lossless(m))
}

// take goes by other members, and by the level of the group with them.
func (r *Replica) take(m *Members) {
	r.members = m
	r.SetLevel(m.EffectiveLevel())
}

// keep notes whether an end at any time from now on leaves the log whole, or else that of the process does, before the
// machine is booted.
func (r *Replica) keep(whole bool) error {
	boot := grouplog.Boot{Closed: whole}
	if !whole && !r.lost {
		boot.ID = r.Boot()
	}
	if r.log.Boot() == boot {
		return nil
	}
	return r.log.SetBoot(boot)
}

// Lost implements [Log].
func (r *Replica) Lost() bool { return r.lost }

// Recovered implements [Log].
func (r *Replica) Recovered() error {
	r.lost = false
	return r.keep(r.lossless(r.members))
}

// Close notes that the log ends in order. Nothing may be appended behind it.
func (r *Replica) Close() error { return r.keep(!r.lost) }

// Types of entries, beside grouplog.Records.
const (
	typeEmpty       = 2
	typeConfChange  = 3
	typeConfChange2 = 4
)

func toEntries(from []*raftpb.Entry) ([]grouplog.Entry, error) {
	entries := make([]grouplog.Entry, len(from))
	for i, e := range from {
		to := grouplog.Entry{Index: e.GetIndex(), Term: e.GetTerm(), Data: e.GetData()}
		switch e.GetType() {
		case raftpb.EntryNormal:
			if to.Type = grouplog.Records; len(to.Data) == 0 {
				to.Type = typeEmpty
			}
		case raftpb.EntryConfChange:
			to.Type = typeConfChange
		case raftpb.EntryConfChangeV2:
			to.Type = typeConfChange2
		default:
			return nil, fmt.Errorf("entry %d of type %v: %w", to.Index, e.GetType(), errNewer)
		}
		entries[i] = to
	}
	return entries, nil
}

func fromEntry(e *grouplog.Entry) (*raftpb.Entry, error) {
	kind := raftpb.EntryNormal
	switch e.Type {
	case grouplog.Records, typeEmpty:
	case typeConfChange:
		kind = raftpb.EntryConfChange
	case typeConfChange2:
		kind = raftpb.EntryConfChangeV2
	default:
		return nil, fmt.Errorf("entry %d of type %d: %w", e.Index, e.Type, errNewer)
	}
	return &raftpb.Entry{Index: &e.Index, Term: &e.Term, Type: &kind, Data: e.Data}, nil
}

// Append implements [Log].
func (r *Replica) Append(entries []*raftpb.Entry, state *raftpb.HardState) error {
	to, err := toEntries(entries)
	if err != nil {
		return err
	}
	var hard *grouplog.HardState
	if !raft.IsEmptyHardState(state) {
		hard = &grouplog.HardState{Term: state.GetTerm(), Vote: state.GetVote(), Commit: state.GetCommit()}
	}
	if err := r.Member.Append(to, hard); err != nil || len(to) == 0 || !r.eager() {
		return err
	}
	return r.Sync()
}

// Commit implements [Machine].
func (r *Replica) Commit(entries []*raftpb.Entry) error {
	to, err := toEntries(entries)
	if err != nil {
		return err
	}
	return r.Member.Commit(to)
}

// InitialState implements raft.Storage, as do the methods below.
func (r *Replica) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	s := r.log.State()
	return &raftpb.HardState{Term: &s.Term, Vote: &s.Vote, Commit: &s.Commit}, r.members.Conf, nil
}

// Entries returns the entries from lo up to hi, hi not included, of about maxSize bytes.
func (r *Replica) Entries(lo, hi, maxSize uint64) ([]*raftpb.Entry, error) {
	from, err := r.log.Entries(lo, hi, maxSize)
	if err != nil {
		return nil, raftError(err)
	}
	entries := make([]*raftpb.Entry, len(from))
	for i := range from {
		if entries[i], err = fromEntry(&from[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Term returns the term of an entry.
func (r *Replica) Term(index uint64) (uint64, error) {
	term, err := r.log.Term(index)
	return term, raftError(err)
}

// FirstIndex returns the index of the first entry that others may get: it was not cut off, and tells of
// members that are those of the present group.
func (r *Replica) FirstIndex() (uint64, error) {
	first, _ := r.log.Bounds()
	return max(first, r.members.Base+1), nil
}

// LastIndex returns the index of the last entry.
func (r *Replica) LastIndex() (uint64, error) {
	_, last := r.log.Bounds()
	return last, nil
}

// Snapshot describes the state as of the last entry that was applied. A [SnapshotSender] sends it.
func (r *Replica) Snapshot() (*raftpb.Snapshot, error) {
	index := r.Applied()
	term, err := r.log.Term(index)
	if err != nil || index == 0 {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{ConfState: r.members.Conf, Index: &index, Term: &term}}, nil
}

// Export implements [States].
func (r *Replica) Export() (*raftpb.SnapshotMetadata, io.ReadCloser, error) {
	if r.lazy && r.members.singleVoter() {
		if err := r.Sync(); err != nil { // R8
			return nil, nil, err
		}
	}
	e, err := r.Member.Export()
	if err != nil {
		return nil, nil, err
	}
	return &raftpb.SnapshotMetadata{ConfState: r.members.Conf, Index: &e.Index, Term: &e.Term}, e, nil
}

// Take writes a state aside that comes as a stream. Any goroutine may call it. The state is for
// Driver.Install; after an error it is nil.
func (r *Replica) Take(from io.Reader) (*member.Import, error) {
	in, err := r.Receive()
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(in, from); err == nil {
		err = in.Finish()
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Restore implements [States].
func (r *Replica) Restore(in *member.Import, state *raftpb.HardState) error {
	hard := grouplog.HardState{Term: state.GetTerm(), Vote: state.GetVote(), Commit: state.GetCommit()}
	if err := r.Member.Restore(in, hard); err != nil {
		return err
	}
	return r.readMembers()
}

// raftError returns an error as raft knows it.
func raftError(err error) error {
	switch {
	case errors.Is(err, grouplog.ErrCompacted):
		return raft.ErrCompacted
	case errors.Is(err, grouplog.ErrUnavailable):
		return raft.ErrUnavailable
	}
	return err
}
