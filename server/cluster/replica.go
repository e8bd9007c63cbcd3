package cluster

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// Replica is a store as [Log] and [Machine] of a driver.
type Replica struct {
	*persistence.Member
	log    *grouplog.Log
	voters []uint64
	lazy   bool
	lost   bool
}

// NewReplica returns a member that was opened just now. lazy says that entries are
// appended without being forced to the device, so that the end of the process may lose
// some. voters are the members of the group.
func NewReplica(m *persistence.Member, voters []uint64, lazy bool) (*Replica, error) {
	r := &Replica{Member: m, log: m.Log(), voters: voters, lazy: lazy}
	r.lost = r.log.State().Term > 0 && !r.log.Boot().Closed
	return r, r.keep(!lazy && !r.lost)
}

// keep notes whether an end at any time from now on leaves the log whole.
func (r *Replica) keep(whole bool) error {
	boot := r.log.Boot()
	if boot.Closed == whole {
		return nil
	}
	boot.Closed = whole
	return r.log.SetBoot(boot)
}

// Lost implements [Log].
func (r *Replica) Lost() bool { return r.lost }

// Recovered implements [Log].
func (r *Replica) Recovered() error {
	r.lost = false
	return r.keep(!r.lazy)
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
			return nil, fmt.Errorf("entry %d of type %v: %w", to.Index, e.GetType(), grouplog.ErrCorrupt)
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
		return nil, fmt.Errorf("entry %d of type %d: %w", e.Index, e.Type, grouplog.ErrCorrupt)
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
	return r.Member.Append(to, hard)
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
	return &raftpb.HardState{Term: &s.Term, Vote: &s.Vote, Commit: &s.Commit}, &raftpb.ConfState{Voters: r.voters}, nil
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

// FirstIndex returns the index of the first entry that was not cut off.
func (r *Replica) FirstIndex() (uint64, error) {
	first, _ := r.log.Bounds()
	return first, nil
}

// LastIndex returns the index of the last entry.
func (r *Replica) LastIndex() (uint64, error) {
	_, last := r.log.Bounds()
	return last, nil
}

// Snapshot returns an error: a member that lacks what all others have cut off waits.
func (r *Replica) Snapshot() (*raftpb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
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
