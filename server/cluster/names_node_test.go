package cluster

import (
	"sync/atomic"
	"testing"

	"github.com/vigildb/vigil/server/cluster/topology"
)

// Names come to servers of other groups, change there when they change, and go when a server starts again without them.
func TestNamesComeToOtherGroups(t *testing.T) {
	a, b := twoMoving(t)
	var now atomic.Pointer[topology.Names]
	now.Store(&topology.Names{Hostname: "a.example", Nodename: "frank"})
	a.stop()
	a.names = func() topology.Names { return *now.Load() }
	a.start()
	knows := func(want topology.Names) {
		t.Helper()
		if got := a.node.Announced().Of(a.node.Name(), a.node.self.Member); got != want {
			t.Errorf("at home it has the names %v, want %v", got, want)
		}
		b.until("the names have come", func() bool { return b.node.Announced().Of(a.node.Name(), a.node.self.Member) == want })
	}
	knows(*now.Load())
	now.Store(&topology.Names{Hostname: "b.example"})
	knows(*now.Load())
	b.restart()
	knows(*now.Load())
	now.Store(new(topology.Names))
	a.restart()
	knows(topology.Names{})
}
