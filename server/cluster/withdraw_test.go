package cluster

import (
	"slices"
	"testing"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// takenIn makes a server a learner of another group, and kills it before it goes over.
func takenIn(t *testing.T, group, other *moving) (member uint64) {
	t.Helper()
	g := other.node.ledBy(group.address())
	if g == nil {
		t.Fatal("the group is not known")
	}
	other.node.note(func(self *topology.Identity) { self.Bound = g.Name })
	next, err := other.node.enroll(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	other.restart()
	return next.Member
}

func TestServerThatHasNotGoneOverIsLetGo(t *testing.T) {
	group, other := twoMoving(t)
	member := takenIn(t, group, other)
	group.until("the group lets it go", func() bool { return slices.Contains(group.node.roster().Left, member) })
	other.until("it hears of that", func() bool { return other.node.cluster.ExpectedIn(group.node.Name()) == 0 })
	if got := other.node.bound(); got != group.node.Name() {
		t.Errorf("bound for %q: what asked may still be on its way", got)
	}
	if ids := other.node.roster().IDs(); len(ids) != 1 || !other.handle.Held() {
		t.Errorf("the server is one of %v", ids)
	}
}

// Several servers are told to forget one, and a tool asks it to forget the cluster meanwhile: all want the same.
func TestResetAmidAnotherOneReturnsWhatThatReturns(t *testing.T) {
	_, other := twoMoving(t)
	before := other.node.Name()
	errs := make(chan error)
	for range 8 {
		go func() { errs <- other.handle.Reset(t.Context()) }()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	other.node = other.handle.Node()
	if other.node.Name() == before || len(other.node.Division().Others) > 0 {
		t.Errorf("the server is in %q, and was in %q; it knows %v", other.node.Name(), before, other.node.Division().Others)
	}
}

// A learner at the same address may be another server, which has another address by now and has not said so yet.
func TestLearnersOfOthersStay(t *testing.T) {
	group, other := twoMoving(t)
	g := other.node.ledBy(group.address())
	next, err := other.node.enroll(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	other.until("it is heard of", func() bool { return other.node.cluster.ExpectedIn(g.Name) == next.Member })
	if left, err := other.handle.withdrawFrom(other.node, g.Name); left || err == nil {
		t.Errorf("a server that was not bound for the group: %v, %v", left, err)
	}
	other.node.note(func(self *topology.Identity) { self.Bound = g.Name })
	if left, err := other.handle.withdrawFrom(other.node, g.Name); !left || err != nil {
		t.Errorf("one that was: %v, %v", left, err)
	}
	if slices.Contains(group.node.roster().IDs(), next.Member) {
		t.Error("the member is still there")
	}
}

// A request to let a member go that comes late must not meet one that has come up meanwhile.
func TestMemberThatHasComeUpIsNotLetGo(t *testing.T) {
	v := &raftnode.View{Members: []raftnode.MemberView{{ID: 1, Match: 9}, {ID: 2, Match: 7}, {ID: 3}}}
	for id, want := range map[uint64]bool{1: true, 2: true, 3: false, 4: false} {
		if got := v.Heard(id); got != want {
			t.Errorf("member %d is heard: %v, want %v", id, got, want)
		}
	}
	group, _ := twoMoving(t)
	self := group.node.self.Member
	if a := group.node.serveRequest(t.Context(), &request{What: asksExpel, Leaves: self, Unheard: true}); a.Error == "" || a.Again {
		t.Errorf("the leader itself: %+v", a)
	}
}
