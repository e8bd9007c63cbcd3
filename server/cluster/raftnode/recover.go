package raftnode

import (
	"errors"
	"slices"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// Recover lets the member vote although it may lack what it has acknowledged: an operator says that the others
// cannot go on without it.
func (d *Driver) Recover() error {
	if d.lost == 0 {
		return ErrNothingToRecover
	}
	d.lost = 0
	d.campaigns = campaigns{due: d.now + d.timeout()}
	return d.Log.Recovered()
}

// StandAlone makes the log that of a group with this member only, under a number that was never used, which it returns. What the
// member has counts as committed: nobody is left to say otherwise. assign returns the assignment of that group from the one of the former.
func StandAlone(store *member.Member, address string, assign func(former topology.Assignment) topology.Assignment) (id uint64, err error) {
	r, err := OpenReplica(store, nil, false)
	if err != nil {
		return 0, err
	}
	if len(r.Members().IDs()) == 0 {
		return 0, ErrNewDirectory
	}
	last, err := r.commitAll()
	if err != nil {
		return 0, err
	}
	before := r.Members()
	former := slices.Concat(before.IDs(), before.Left)
	slices.Sort(former)
	id = former[len(former)-1] + 1
	return id, r.Change(&Members{Index: last, Conf: &raftpb.ConfState{Voters: []uint64{id}},
		Addresses: map[uint64]string{id: address}, Left: slices.Compact(former), Base: last, Level: before.Level, Assignment: assign(before.Assignment)})
}

// CommitAll takes for committed what the log of a member has that was opened just now: its store is going to be alone.
func CommitAll(store *member.Member) error {
	r, err := OpenReplica(store, nil, false)
	if err == nil {
		_, err = r.commitAll()
	}
	return err
}

// commitAll takes for committed what the log has, and returns its last entry.
func (r *Replica) commitAll() (last uint64, err error) {
	_, last = r.log.Bounds()
	state := r.log.State()
	if err := r.Append(nil, &raftpb.HardState{Term: &state.Term, Vote: &state.Vote, Commit: &last}); err != nil {
		return 0, err
	}
	for at := r.Applied() + 1; at <= last; {
		entries, err := r.Entries(at, last+1, 1<<20)
		if err == nil {
			err = r.Commit(entries)
		}
		if err != nil {
			return 0, err
		}
		at += uint64(len(entries))
	}
	return last, r.readMembers() // as of what counts as committed now
}

var ErrNewDirectory = errors.New("cluster: the directory belongs to no member yet: cluster-members founds a group, cluster-join joins one")
