package raftnode

import (
	"slices"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

var keys = []string{"a", "b", "c"}

// write writes at a member, and waits for the outcome.
func (w *world) write(n *node, key string) *operation {
	w.Helper()
	op := w.ask(n.id, key, true)
	w.until("a write", func() bool { return op.outcome == done })
	return op
}

// ledWorld returns a world with a leader, which has written.
func ledWorld(t testing.TB, seed uint64, policy persistence.SyncPolicy, without rules) (*world, *node) {
	t.Helper()
	w := newWorld(t, seed, policy, without)
	n := w.elected()
	w.write(n, "a")
	return w, n
}

func (w *world) judge() {
	w.Helper()
	if v := w.history.violation(); v != "" {
		w.Error(v)
	}
}

// Three members elect one, what it writes is on all, and when it is gone the two others go on.
func TestAGroupOutlivesItsLeader(t *testing.T) {
	for _, inOrder := range []bool{true, false} {
		w := newWorld(t, 1, persistence.SyncAlways, rules{})
		first := w.elected()
		w.write(first, "a")
		w.write(first, "a")
		first.stop(inOrder)
		second := w.elected()
		if second == first {
			t.Fatal("a member that is down leads")
		}
		if op := w.write(second, "a"); !slices.Equal(op.list, []uint32{1, 2, 3}) {
			t.Errorf("after the loss of the leader: %v", op.list)
		}
		w.settle()
		w.judge()
		w.close()
	}
}

// A leader that is cut off gives up what it has not committed, and gets what the others did meanwhile.
func TestADeposedLeaderRollsBack(t *testing.T) {
	w := newWorld(t, 2, persistence.SyncAlways, rules{})
	old := w.elected()
	w.write(old, "a")
	w.isolate(old, true)
	lost := w.ask(old.id, "a", true)
	w.run(timeout / 4)
	if list, _, _ := old.read("a"); !slices.Equal(list, []uint32{1, 2}) {
		t.Fatalf("the leader has %v in memory", list)
	}
	w.until("another one leads", func() bool { return w.leader() != nil && w.leader() != old })
	w.write(w.leader(), "a")
	w.until("the former leader steps down", func() bool { return old.driver.Leading() == 0 })
	if list, _, _ := old.read("a"); !slices.Equal(list, []uint32{1}) || lost.outcome != unknown {
		t.Errorf("after a roll back there are %v, and the write is %v", list, lost.outcome)
	}
	w.settle()
	if list, _, _ := old.read("a"); !slices.Equal(list, []uint32{1, 3}) {
		t.Errorf("at the end there are %v", list)
	}
	w.judge()
	w.close()
}

// A minority neither commits nor, once its lease is over, reads.
func TestAMinorityServesNobody(t *testing.T) {
	w := newWorld(t, 3, persistence.SyncAlways, rules{})
	n := w.elected()
	w.isolate(n, true)
	w.run(timeout)
	read := w.ask(n.id, "a", false)
	w.run(timeout / 10)
	if n.serves() || read.outcome != refused {
		t.Errorf("cut off for an election timeout, it serves: %v, and a read is %v", n.serves(), read.outcome)
	}
	write := w.ask(n.id, "a", true)
	w.run(3 * timeout)
	if write.outcome == done || n.driver.Leading() != 0 {
		t.Errorf("a write is %v, and the member leads term %d", write.outcome, n.driver.Leading())
	}
	w.close()
}

// A leadership is handed over without an election timeout, and without a roll back.
func TestALeadershipIsHandedOver(t *testing.T) {
	w, n := ledWorld(t, 4, persistence.SyncAlways, rules{})
	w.run(2 * timeout) // members that have just started do not vote
	to := w.nodes[n.id%members+1]
	n.driver.Transfer(n.clock(), to.id)
	if n.serves() {
		t.Error("it serves reads while it hands over")
	}
	n.work()
	begin := w.now
	if w.elected() != to || w.now-begin > timeout/2 {
		t.Errorf("member %d leads after %v", w.elected().id, w.now-begin)
	}
	if w.effects["roll back"] > 0 {
		t.Error("it rolled back")
	}
	w.write(to, "a")
	w.settle()
	w.judge()
	w.close()
}

// A leader asks for its first lease at once: clients wait for it, and a tick may be long.
func TestANewLeaderAsksForItsLease(t *testing.T) {
	w := newWorld(t, 4, persistence.SyncAlways, rules{})
	for n := (*node)(nil); n == nil; {
		w.step()
		for _, o := range w.nodes[1:] {
			if o.driver.Leading() != 0 {
				n = o
			}
		}
		if n != nil && len(n.driver.rounds) != 1 {
			t.Errorf("it leads, and has asked for %d leases", len(n.driver.rounds))
		}
	}
	w.close()
}

// A leader that hears the others knows who can follow it at any time, also when Raft begins to count anew who is there.
func TestALeaderKnowsItsSuccessor(t *testing.T) {
	w, n := ledWorld(t, 6, persistence.SyncAlways, rules{})
	w.run(timeout)
	for range 300 {
		if w.run(timeout / 100); n.driver.successor() == 0 {
			t.Fatalf("at %v nobody could follow", w.now)
		}
	}
	for _, o := range w.nodes[1:] {
		if o != n {
			w.isolate(o, true)
		}
	}
	w.run(timeout + timeout/10)
	if to := n.driver.successor(); to != 0 {
		t.Errorf("member %d could follow, which is not heard", to)
	}
	w.close()
}

// All members start again, and all that was confirmed is there: after an orderly end, and after the death of all processes
// at once, under every policy; after a failure of all machines under one.
func TestAGroupStartsAgain(t *testing.T) {
	order, death, power := func(n *node) { n.stop(true) }, (*node).die, func(n *node) { n.stop(false) }
	for _, c := range []struct {
		policy persistence.SyncPolicy
		voters int
		end    func(*node)
	}{
		{persistence.SyncAlways, 3, order}, {persistence.SyncAlways, 3, death}, {persistence.SyncAlways, 3, power}, {persistence.SyncAlways, 2, power},
		{persistence.SyncEverySecond, 3, order}, {persistence.SyncEverySecond, 3, death}, {persistence.SyncEverySecond, 2, death},
		{persistence.SyncNever, 1, death}, {persistence.SyncNever, 2, death}, {persistence.SyncNever, 5, death},
	} {
		w := newWorldWith(t, 5, c.policy, rules{}, c.voters-1+c.voters%2, false)
		if c.voters == 2 {
			w.elected()
			w.promoted(w.joined())
			w.until("two decide", func() bool { l := w.leader(); return l != nil && !l.replica.Members().Joint() })
		}
		for range 3 {
			w.write(w.elected(), "a")
			for _, n := range w.nodes[1:] {
				c.end(n)
			}
			w.heal()
			for _, n := range w.nodes[1:] {
				if n.replica.Lost() {
					t.Errorf("policy %d, %d voters: member %d may have lost something", c.policy, c.voters, n.id)
				}
			}
		}
		w.settle()
		if got := w.history["a"][3].list; !slices.Equal(got, []uint32{1, 2, 3}) {
			t.Errorf("policy %d, %d voters: there are %v", c.policy, c.voters, got)
		}
		w.judge()
		w.close()
	}
}

// A member that may have lost something because its machine failed still may when its process dies thereafter, until it
// has caught up.
func TestDeathMakesNoMemberWhole(t *testing.T) {
	w, n := ledWorld(t, 3, persistence.SyncEverySecond, rules{})
	for _, o := range w.nodes[1:] {
		o.die()
	}
	a, b := w.nodes[1], w.nodes[2]
	if b == n {
		a, b = b, a
	}
	a.boot++ // its machine failed before anybody came back
	for range 2 {
		a.start()
		if !a.replica.Lost() {
			t.Error("a member is whole that was started on another boot")
		}
		a.die()
	}
	w.heal()
	w.until("it has caught up", func() bool { return !a.replica.Lost() })
	for _, o := range w.nodes[1:] {
		o.die()
	}
	w.heal()
	for _, o := range w.nodes[1:] {
		if o.replica.Lost() {
			t.Errorf("member %d may have lost something", o.id)
		}
	}
	w.settle()
	w.judge()
	w.close()
}
