package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

func restoredFrom(group, id string) *snapshot.Origin {
	return &snapshot.Origin{Group: group, Whole: &snapshot.Whole{Name: "monday", ID: id, Parts: []snapshot.Part{{Group: "a", Slots: "0-5"}, {Group: "b", Slots: "6-16383"}}}}
}

// What a directory was made of decides how its server begins.
func TestDirectoriesOfSnapshotsBeginAsNewGroups(t *testing.T) {
	member, plain, part := &topology.Identity{Name: "n", Member: 1}, &snapshot.Origin{Group: "b"}, restoredFrom("b", "x")
	again, other := &topology.Identity{Name: "m", Member: 4, Restored: part}, &topology.Identity{Name: "m", Member: 4, Restored: restoredFrom("b", "y")}
	cluster := func(change func(c *NodeConfig)) NodeConfig {
		c := NodeConfig{Single: true, Cluster: &ClusterConfig{}}
		change(&c)
		return c
	}
	bad := restoredFrom("b", "x")
	bad.Whole.Parts[1].Slots = "x"
	as := func(c *NodeConfig) {}
	for _, x := range []struct {
		name         string
		self         *topology.Identity
		origin       *snapshot.Origin
		config       NodeConfig
		fresh, spent bool
		err          error
	}{
		{"no snapshot", member, nil, cluster(as), false, false, nil},
		{"a part", member, part, cluster(as), true, true, nil},
		{"a part of a cluster that was restored itself", other, part, cluster(as), true, true, nil},
		{"an interrupted start", again, part, cluster(as), false, true, nil},
		{"a part in place of a group", member, part, cluster(func(c *NodeConfig) { c.Alone, c.Name = true, "n" }), false, true, nil},
		{"a snapshot of a member", member, plain, cluster(as), false, false, errRestoredMember},
		{"the same alone", member, plain, cluster(func(c *NodeConfig) { c.Alone = true }), false, true, nil},
		{"a part with the name of a group", member, part, cluster(func(c *NodeConfig) { c.Name = "n" }), false, false, errRestoredSeat},
		{"a part with a number", member, part, cluster(func(c *NodeConfig) { c.ID = 1 }), false, false, errRestoredSeat},
		{"a part that joins", member, part, cluster(func(c *NodeConfig) { c.Join = []string{"h:1"} }), false, false, errRestoredSeat},
		{"a part that clients see no cluster of", member, part, NodeConfig{}, false, false, errRestoredSeat},
		{"slots that are none", member, bad, cluster(as), false, false, errors.New("any")},
	} {
		fresh, spent, err := (&Node{config: x.config}).restores(x.self, x.origin)
		if fresh != x.fresh || spent != x.spent || (err == nil) != (x.err == nil) || x.err != nil && x.err.Error() != "any" && !errors.Is(err, x.err) {
			t.Errorf("%s: got %v, %v, %v, want %v, %v, %v", x.name, fresh, spent, err, x.fresh, x.spent, x.err)
		}
	}
}

// A restored group has the slots of its part at first, all of them at once and no others, whatever keys it has.
func TestRestoredGroupBeginsWithTheSlotsOfItsPart(t *testing.T) {
	o := bareOthers()
	o.n.self, o.n.members = &topology.Identity{Restored: restoredFrom("b", "x")}, &raftnode.Members{}
	o.division.Store(&topology.Division{})
	if origin, of := o.part(); origin == nil || of.String() != "6-16383" {
		t.Fatalf("the part is %v, %s", origin, of)
	}
	for text, want := range map[string]error{"6-16383": nil, "6-16382": errRestoredSlots, "0-16383": errRestoredSlots, "0-5": errRestoredSlots} {
		if c, err := o.with(o.n.members, slotSet(t, text)); !errors.Is(err, want) || err == nil && c.Slots.String() != text {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	if err := o.mayHaveSome(&raftnode.Members{Claim: topology.Claim{Slots: slotSet(t, "6-16383"), Since: 1}}); err != nil {
		t.Error(err)
	}
	o.n.members = &raftnode.Members{Claim: topology.Claim{Slots: slotSet(t, "7"), Since: 1}}
	if origin, _ := o.part(); origin != nil {
		t.Error("a group that has claimed its slots is like others")
	}
	if err := o.related(t.Context(), "127.0.0.1:1"); err != nil {
		t.Errorf("it asks others what they are restored from: %v", err)
	}
}

// Until then it exchanges nothing with servers that are not restored from another part of the same snapshot.
func TestRestoredGroupIsStrangeToOthers(t *testing.T) {
	a, b := twoMoving(t)
	o := &others{n: &Node{config: a.node.config, self: &topology.Identity{Restored: restoredFrom("a", "x")}, members: &raftnode.Members{}}, mesh: a.node.others.mesh}
	for _, x := range []struct {
		theirs *snapshot.Origin
		want   string
	}{
		{nil, "is not restored from a part of the cluster snapshot monday"},
		{restoredFrom("b", "y"), "is restored from another cluster snapshot: monday (y), and this group from monday (x)"},
		{restoredFrom("a", "x"), "is restored from the same part of the cluster snapshot monday as this group"},
		{restoredFrom("b", "x"), ""},
	} {
		b.stop()
		b.start()
		b.node.mu.Lock()
		b.node.self.Restored = x.theirs
		b.node.mu.Unlock()
		err := o.related(t.Context(), b.address())
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("got %v, want %s", err, x.want)
		}
	}
	if !o.parts["b"] || len(o.parts) != 1 {
		t.Errorf("known are the parts %v", o.parts)
	}
	b.stop()
	if err := o.related(t.Context(), b.address()); err == nil {
		t.Error("a server that is gone is related")
	}
}
