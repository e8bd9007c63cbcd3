package cluster

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// What speaks against a burial is said.
func TestGroupsThatCannotBeBuried(t *testing.T) {
	for what, x := range map[string]struct {
		change func(o *others, m *raftnode.Members)
		want   error
		text   string
	}{
		"one that is silent":            {func(*others, *raftnode.Members) {}, nil, ""},
		"one that was heard lately":     {func(o *others, _ *raftnode.Members) { o.heard["b"] += time.Second }, nil, "only one that has been silent for 2m0s"},
		"one that was not heard since":  {func(o *others, _ *raftnode.Members) { delete(o.heard, "b"); o.began = raftnode.Now() }, nil, "only one that has been silent"},
		"one that was never heard":      {func(o *others, _ *raftnode.Members) { delete(o.heard, "b") }, nil, ""},
		"the own one":                   {func(o *others, _ *raftnode.Members) { o.name = "b" }, errBuryOwn, ""},
		"one that is not known":         {func(o *others, _ *raftnode.Members) { delete(o.table, "b") }, errLies, ""},
		"one that lies":                 {func(o *others, _ *raftnode.Members) { buries(o.table, "c", "b", 5) }, errLies, ""},
		"another one, by one that lies": {func(o *others, _ *raftnode.Members) { buries(o.table, "c", "a", 5) }, errSelfLies, ""},
		"one more than are noted":       {func(_ *others, m *raftnode.Members) { m.Buried = someBurials(topology.MaxBuried) }, errBuryMany, ""},
		"one again": {func(_ *others, m *raftnode.Members) {
			m.Buried = topology.WithBurial(someBurials(topology.MaxBuried-1), topology.Burial{Group: "b", At: 3})
		}, nil, ""},
		"one that has risen in the future": {func(o *others, _ *raftnode.Members) { o.table["b"].Claim.Risen = 1 << 60 }, nil, ""},
	} {
		o, m := bareOthers(), &raftnode.Members{Claim: topology.Claim{Slots: new(slots.Set)}}
		o.table = claims(t, map[string]string{"b": "0-9", "c": "10"})
		o.heard["b"], o.began = raftnode.Now()-2*time.Minute, raftnode.Now()-2*time.Minute
		x.change(o, m)
		o.division.Store(&topology.Division{Lie: o.table.Lying()})
		b, err := o.mayBury(m, "b")
		switch {
		case x.text != "" && (err == nil || !strings.Contains(err.Error(), x.text)), x.text == "" && !errors.Is(err, x.want):
			t.Errorf("%s: %v, want %v %s", what, err, x.want, x.text)
		case err == nil && (b.Group != "b" || b.At <= o.table["b"].Claim.Risen || b.At == 0):
			t.Errorf("%s: %+v", what, b)
		}
	}
}

// A group that lies buried is not spoken to, and makes room for others.
func TestBuriedGroupsAreNotSpokenTo(t *testing.T) {
	o := bareOthers()
	o.n.config.Cluster.Contacts = []string{"h:1", "h:9"}
	o.table = claims(t, map[string]string{"b": "0-9", "c": "10"})
	o.table["c"].Members[0].Address = "h:2"
	buries(o.table, "c", "b", 5)
	for _, everybody := range []bool{true, false} {
		if got := o.targets(everybody); !slices.Equal(got, []string{"h:2", "h:9"}) {
			t.Errorf("spoken to are %v", got)
		}
	}
	for i := range topology.MaxGroups {
		o.table[strconv.Itoa(i)] = &topology.Group{Name: strconv.Itoa(i), Members: []topology.GroupMember{{ID: 1}}}
		if len(o.table) == topology.MaxGroups-1 {
			break
		}
	}
	if !o.table.HasRoom() || o.table["b"] != nil {
		t.Error("the group that lies buried takes the place of others")
	}
	if o.table["new"] = (&topology.Group{Name: "new", Members: []topology.GroupMember{{ID: 1}}}); o.table.HasRoom() {
		t.Errorf("%d groups leave room", len(o.table))
	}
}
