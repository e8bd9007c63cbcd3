package cluster

import (
	"errors"
	"testing"

	"github.com/vigildb/vigil/persistence/snapshot"
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
		{"a part with the name of a group", member, part, cluster(func(c *NodeConfig) { c.Name = "n" }), false, false, errRestoredGroup},
		{"a part with a number", member, part, cluster(func(c *NodeConfig) { c.ID = 1 }), false, false, errRestoredGroup},
		{"a part that joins", member, part, cluster(func(c *NodeConfig) { c.Join = []string{"h:1"} }), false, false, errRestoredGroup},
		{"a part that clients see no cluster of", member, part, NodeConfig{}, false, false, errRestoredGroup},
		{"slots that are none", member, bad, cluster(as), false, false, errors.New("any")},
	} {
		fresh, spent, err := (&Node{config: x.config}).restores(x.self, x.origin)
		if fresh != x.fresh || spent != x.spent || (err == nil) != (x.err == nil) || x.err != nil && x.err.Error() != "any" && !errors.Is(err, x.err) {
			t.Errorf("%s: got %v, %v, %v, want %v, %v, %v", x.name, fresh, spent, err, x.fresh, x.spent, x.err)
		}
	}
}
