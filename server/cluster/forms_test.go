package cluster

import (
	"strconv"
	"testing"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

func slotSet(t testing.TB, text string) *slots.Set {
	t.Helper()
	s, err := slots.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// claims is a table of groups that claim slots, all since the same time and in the order of their names.
func claims(t testing.TB, of map[string]string) topology.Table {
	t.Helper()
	all := topology.Table{}
	for name, text := range of {
		all[name] = &topology.Group{Name: name, Index: 1, Claim: topology.Claim{Slots: slotSet(t, text), Since: 10}, Members: []topology.GroupMember{{ID: 1, Address: "h:1"}}}
	}
	return all
}

func buries(all topology.Table, burier, name string, at uint64) {
	g := all[burier]
	g.Claim.Buried = topology.WithBurial(g.Claim.Buried, topology.Burial{Group: name, At: at})
}

func someBurials(n int) (all []topology.Burial) {
	for i := range n {
		all = topology.WithBurial(all, topology.Burial{Group: strconv.Itoa(i), At: uint64(1000 + i)})
	}
	return all
}
