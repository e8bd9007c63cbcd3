package cluster

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// A follower that asks for the leadership has it soon. Asked for by the leader itself, nothing
// changes.
func TestTakeOver(t *testing.T) {
	g := newTrio(t)
	m := g.leader()
	if err := m.store.WaitDurable(m.write("k")); err != nil {
		t.Fatal(err)
	}
	o := g.members[0]
	if o == m {
		o = g.members[1]
	}
	g.until("the leadership is handed over", func() bool {
		if !o.runner.Held() {
			o.runner.TakeOver() // again, if the leader thinks that it lacks much
			return false
		}
		return true
	})
	term := o.runner.View().Term
	o.runner.TakeOver()
	if err := o.store.WaitDurable(o.write("k")); err != nil {
		t.Errorf("it does not take writes: %v", err)
	}
	g.until("the view is newer", func() bool { return o.runner.View().Term >= term })
	if got := o.runner.View().Term; got != term {
		t.Errorf("the leadership has number %d, want %d", got, term)
	}
}

// A leader hands over to a member that asks in this leadership and has almost all, and to no
// other one.
func TestLeaderIsAskedToHandOver(t *testing.T) {
	w, n := ledWorld(t, 8, persistence.SyncAlways, rules{})
	w.write(n, "a")
	w.settle()
	ask := func(from, term uint64) {
		kind := raftpb.MsgTransferLeader
		if err := n.driver.Step(n.clock(), &raftpb.Message{Type: &kind, From: &from, To: &n.id, Term: &term}); err != nil {
			t.Error(err)
		}
	}
	term, peer := n.driver.Leading(), n.id%members+1
	ask(peer, term-1) // an earlier leadership
	ask(99, term)     // nobody
	ask(n.id, term)
	if !n.serves() {
		t.Fatal("the lease has ended")
	}
	w.isolate(w.nodes[peer], true)
	w.run(3 * timeout)
	ask(peer, term) // in vain: it is away
	if !n.serves() {
		t.Fatal("the leader hands over to a member that is not heard")
	}
	w.isolate(w.nodes[peer], false)
	w.settle()
	if w.leader() != n || n.driver.Leading() != term {
		t.Fatal("another leadership has begun")
	}
	ask(peer, term)
	if n.serves() {
		t.Error("the lease goes on while another member takes over")
	}
	n.work()
	w.until("the member leads", func() bool { return w.leader() != nil && w.leader().id == peer })
	w.settle()
	w.judge()
	w.close()
}
