package raftnode

import (
	"reflect"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// The entry behind which the members are those of the present group is kept with them, and goes on with
// changes.
func TestBaseOfMembersIsKept(t *testing.T) {
	m := &Members{Index: 7, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Addresses: map[uint64]string{4: "a:1"}, Left: []uint64{1, 2, 3}, Base: 7}
	got, err := DecodeMembers(7, m.encode())
	if err != nil || got.Base != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	if next := got.after(8, addition(5), &raftpb.ConfState{Voters: []uint64{4, 5}}); next.Base != 7 {
		t.Errorf("after a change: %+v", next)
	}
	for _, b := range [][]byte{append(m.encode(), 0), m.encode()[:len(m.encode())-2]} {
		if _, err := DecodeMembers(7, b); err == nil {
			t.Errorf("%v is read", b)
		}
	}
}

// The assignment of a group is kept with its members, and changes of members keep it.
func TestAssignmentIsKeptWithTheMembers(t *testing.T) {
	m := &Members{Index: 7, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Addresses: map[uint64]string{4: "a:1"}}
	none := m.encode()
	c := topology.Assignment{Slots: slotstest.Set(t, "0-9 16383"), Since: 99}
	assigns := &raftpb.ConfChangeV2{Changes: []*raftpb.ConfChangeSingle{single(raftpb.ConfChangeUpdateNode, raft.None)}, Context: c.Encode()}
	conf, err := change(m.Conf, assigns)
	if err != nil || !reflect.DeepEqual(conf.GetVoters(), []uint64{4}) {
		t.Fatalf("raft makes %v of an assignment, %v", conf, err)
	}
	next := m.after(8, assigns, m.Conf)
	if !next.Slots.Equal(c.Slots) || next.Since != 99 || next.Addresses[4] != "a:1" || len(next.Addresses) != 1 {
		t.Fatalf("%+v", next)
	}
	got, err := DecodeMembers(8, next.encode())
	if err != nil || !got.Slots.Equal(c.Slots) || got.Since != 99 || got.Base != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if later := got.after(9, addition(5), &raftpb.ConfState{Voters: []uint64{4, 5}}); !later.Slots.Equal(c.Slots) {
		t.Errorf("after a change of members: %+v", later)
	}
	broken := &raftpb.ConfChangeV2{Changes: assigns.GetChanges(), Context: []byte("no assignment")}
	if later := got.after(9, broken, m.Conf); !later.Slots.Equal(c.Slots) {
		t.Errorf("after what is no assignment: %+v", later)
	}
	b := next.encode()
	for n := len(none); n < len(b); n++ {
		if _, err := DecodeMembers(8, b[:n]); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(b))
		}
	}
	if got, err := DecodeMembers(7, none); err != nil || got.Assigned() {
		t.Errorf("a group that has claimed nothing: %+v, %v", got, err)
	}
}

// Whatever slots a group has are kept with its members, in a form that versions without moves or tombstones read where there are none.
func TestMembersKeepTheSlotsOfTheirGroup(t *testing.T) {
	moves := []topology.Move{{Attempt: 1 << 63, Group: "b", Slots: slotstest.Set(t, "1")}, {Attempt: 2, Group: "c", Slots: new(slots.Set), State: topology.MoveComplete}}
	for format, c := range map[byte]topology.Assignment{membersWithAssignment: {Slots: slotstest.Set(t, "3-5"), Since: 9},
		membersWithMoves:      {Slots: slotstest.Set(t, "3-5"), Since: 9, Given: moves, Taking: moves[1:]},
		membersWithTombstones: {Slots: slotstest.Set(t, "3-5"), Since: 9, Given: moves, Tombstones: []topology.Tombstone{{At: 1 << 62}, {Group: "d", At: 7}}, Revived: 9}} {
		m := &Members{Index: 7, Conf: &raftpb.ConfState{Voters: []uint64{4}}, Addresses: map[uint64]string{4: "a:1"}, Base: 3, Assignment: c}
		b := m.encode()
		got, err := DecodeMembers(7, b)
		if err != nil || !reflect.DeepEqual(got.Encode(), c.Encode()) || got.Base != 3 || b[0] != format {
			t.Errorf("members that begin with %d: %+v, %v", b[0], got, err)
		}
		if _, err := DecodeMembers(7, append(b, 0)); err == nil {
			t.Errorf("%d: a byte more is read", b[0])
		}
	}
}
