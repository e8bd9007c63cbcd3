package raftnode

import (
	"sync/atomic"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/vigildb/vigil/persistence"
)

// ledTrio returns a trio with a committed write, its leader, and another member.
func ledTrio(t *testing.T) (g *trio, leader, other *running) {
	t.Helper()
	g = newTrio(t)
	leader = g.leader()
	if err := leader.store.Commits().WaitDurable(leader.write("k")); err != nil {
		t.Fatal(err)
	}
	if other = g.members[0]; other == leader {
		other = g.members[1]
	}
	return g, leader, other
}

// A follower that asks for the leadership has it soon. Asked for by the leader itself, nothing
// changes.
func TestTakeOver(t *testing.T) {
	g, _, o := ledTrio(t)
	g.until("the leadership is handed over", func() bool {
		if !o.runner.Held() {
			o.runner.TakeOver() // again, if the leader thinks that it lacks much
			return false
		}
		return true
	})
	term := o.runner.View().Term
	o.runner.TakeOver()
	if err := o.store.Commits().WaitDurable(o.write("k")); err != nil {
		t.Errorf("it does not take writes: %v", err)
	}
	g.until("the view is newer", func() bool { return o.runner.View().Term >= term })
	if got := o.runner.View().Term; got != term {
		t.Errorf("the leadership has number %d, want %d", got, term)
	}
}

// Clients settle before a leadership is handed over, and go on when another member leads.
func TestClientsSettleBeforeALeadershipIsGivenAway(t *testing.T) {
	for name, give := range map[string]func(from, to *running){
		"asked":       func(_, to *running) { to.runner.TakeOver() },
		"transferred": func(from, to *running) { _ = from.runner.Transfer(to.runner.config.ID) }, // again, if the member is not heard yet
	} {
		t.Run(name, func(t *testing.T) {
			g, m, o := ledTrio(t)
			var settled, resumed, late atomic.Int32
			m.runner.ask(func() {
				m.runner.config.Role.Settle = func() func() {
					if !m.runner.Held() {
						late.Add(1)
					}
					settled.Add(1)
					return func() { resumed.Add(1) }
				}
			})
			calls := 0
			g.until("the other member leads", func() bool {
				if o.runner.Held() {
					return true
				}
				calls++
				give(m, o)
				return false
			})
			g.until("clients go on", func() bool { return resumed.Load() == settled.Load() })
			if settled.Load() == 0 || late.Load() == settled.Load() {
				t.Errorf("clients have settled %d times, %d of them when the lease had ended; it was asked %d times", settled.Load(), late.Load(), calls)
			}
		})
	}
}

// A leader that is asked hands over when it is told that all is ready, unless it has ceased to lead by then.
func TestLeaderHandsOverWhenAllIsReady(t *testing.T) {
	w, n := ledWorld(t, 8, persistence.SyncAlways, rules{})
	w.write(n, "a")
	w.settle()
	var ready func()
	n.driver.Give = func(do func()) { ready = do }
	term, peer, kind := n.driver.Leading(), n.id%members+1, raftpb.MsgTransferLeader
	if err := n.driver.Step(n.clock(), &raftpb.Message{Type: &kind, From: &peer, To: &n.id, Term: &term}); err != nil {
		t.Error(err)
	}
	if ready == nil || !n.serves() {
		t.Fatal("it does not wait until all is ready")
	}
	ready()
	if n.serves() {
		t.Error("the lease goes on while another member takes over")
	}
	n.work()
	w.until("the member leads", func() bool { return w.leader() != nil && w.leader().id == peer })
	ready()
	w.settle()
	if w.leader() == nil || w.leader().id != peer {
		t.Error("what was asked of an earlier leadership ends another one")
	}
	w.judge()
	w.close()
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
