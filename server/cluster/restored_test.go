package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence/snapshot"
	"github.com/vigildb/vigil/server/cluster/logs"
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
	o := bareOthers(t, restoredFrom("b", "x"))
	if origin, of := o.Part(); origin == nil || of.String() != "6-16383" {
		t.Fatalf("the part is %v, %s", origin, of)
	}
	for text, want := range map[string]error{"6-16383": nil, "6-16382": errRestoredSlots, "0-16383": errRestoredSlots, "0-5": errRestoredSlots} {
		if c, err := o.with(&raftnode.Members{}, slotSet(t, text)); !errors.Is(err, want) || err == nil && c.Slots.String() != text {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
	claimed := topology.Claim{Slots: slotSet(t, "6-16383"), Since: 1}
	if err := o.mayHaveSome(&raftnode.Members{Claim: claimed}); err != nil {
		t.Error(err)
	}
	o.group.Claim = claimed
	if origin, _ := o.Part(); origin != nil {
		t.Error("a group that has claimed its slots is like others")
	}
}

// bare is what a server of the group a, which takes part in nothing, knows of others: nothing.
type bare struct {
	*others
	group *topology.Group
}

func bareOthers(t *testing.T, restored *snapshot.Origin) *bare {
	t.Helper()
	self := &topology.Identity{Name: "a", Restored: restored}
	b := &bare{&others{n: &Node{config: NodeConfig{Cluster: &ClusterConfig{Silence: time.Minute}}, self: self}}, &topology.Group{Name: "a"}}
	var err error
	b.others.Cluster, err = topology.New(topology.Options{Self: self, Own: b, Network: b, Silence: time.Minute, Now: raftnode.Now, Wall: wallClock, Logf: func(logs.Level, string, ...any) {}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bare) Group() *topology.Group                                    { return b.group }
func (*bare) Gone() bool                                                  { return false }
func (*bare) Dismiss(string)                                              {}
func (*bare) Keep([]byte)                                                 {}
func (*bare) Last() uint64                                                { return 0 }
func (*bare) SetPeers(map[uint64]string)                                  {}
func (*bare) Ask(context.Context, string, uint64, []byte) ([]byte, error) { return nil, nil }

// hears has it told of other groups.
func (b *bare) hears(t *testing.T, of topology.Table) {
	t.Helper()
	if err := b.Take(topology.AppendLetter(nil, "b", true, of)); err != nil {
		t.Fatal(err)
	}
}
