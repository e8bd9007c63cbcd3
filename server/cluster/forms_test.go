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

func someBurials(n int) (all []topology.Burial) {
	for i := range n {
		all = topology.WithBurial(all, topology.Burial{Group: strconv.Itoa(i), At: uint64(1000 + i)})
	}
	return all
}
