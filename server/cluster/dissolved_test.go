package cluster

import (
	"slices"
	"testing"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// A member of a dissolved group that has not heard that it was let go finds that out by what others tell, and becomes
// a member of another group. Its leader goes by nobody else.
func TestMemberLeavesADissolvedGroup(t *testing.T) {
	a, b := twoMoving(t)
	c := newMoving(t, nil, a.address())
	c.until("it knows both others", func() bool {
		d := c.node.Division()
		return len(d.Others) == 2 && d.Others[0].Leader != 0 && d.Others[1].Leader != 0
	})
	if err := c.handle.Replicate(t.Context(), b.address()); err != nil {
		t.Fatal(err)
	}
	n := c.handle.Node()
	c.until("it knows its group", func() bool { n.cluster.Look(); return len(n.roster().IDs()) == 2 })
	if left := n.cluster.Without(a.node.Name())[b.node.Name()]; left == nil || len(left.Members) > 0 {
		t.Errorf("a group whose member is not let go counts as %+v", left)
	}
	g := &topology.Group{Name: b.node.Name(), Index: b.node.roster().Index + 1000, Assignment: topology.Assignment{Slots: new(slots.Set), Since: b.assignment().Since}}
	gossip := topology.AppendGossip(nil, "", false, topology.Table{b.node.Name(): g})
	for _, at := range []*Node{b.node, n} {
		if err := at.cluster.Take(gossip); err != nil {
			t.Fatal(err)
		}
	}
	if b.handle.Gone() || !n.gone.Load() {
		t.Errorf("its leader has left: %v, its member: %v", b.handle.Gone(), n.gone.Load())
	}
	left := n.cluster.Without(a.node.Name())[b.node.Name()]
	if left == nil || len(left.Members) != 1 || slices.ContainsFunc(left.Members, func(m topology.GroupMember) bool { return m.ID == n.self.Member }) {
		t.Errorf("the group that it has left counts as %+v", left)
	}
	if err := c.handle.Replicate(t.Context(), a.address()); err != nil {
		t.Error(err)
	}
}

// A member that asks to leave is told by the reply that it has: nobody may be there to tell it later.
func TestReplyTellsAMemberThatItHasLeft(t *testing.T) {
	a, _ := twoMoving(t)
	c := newMoving(t, nil, a.address())
	c.until("it knows the other", func() bool {
		return len(c.node.Division().Others) > 0 && c.node.ledBy(a.address()) != nil
	})
	if err := c.handle.Replicate(t.Context(), a.address()); err != nil {
		t.Fatal(err)
	}
	if got := a.node.serveRequest(t.Context(), &request{What: asksLeave, Member: c.handle.Node().self.Member}); got.Error != "" || !got.Gone {
		t.Errorf("got %+v", got)
	}
}
