package server

import (
	"context"
	"testing"
)

// A leader that ends hands over when all that clients have changed is committed: their replies leave, and memory need not be
// made anew. What comes later is held back until another member leads.
func TestLeaderThatEndsSettles(t *testing.T) {
	r, g := newGroupRig(t)
	g.follows = make(chan struct{})
	writer, reader, late := r.dial(), r.dial(), r.dial()
	writer.want("SET k old", "OK")
	g.holdBack(true)
	writer.send("SET", "k", "new")
	r.until("the write is in memory", func() bool { return len(g.waiting()) == 1 })
	closed := make(chan error)
	go func() { closed <- r.srv.Close(context.Background()) }()
	r.until("it settles", func() bool { return r.srv.pause.Active() })
	late.send("SET", "k", "late")
	r.until("a write is held back", func() bool { return r.srv.pause.Count() == 1 })
	reader.send("GET", "k")
	r.until("it was read", func() bool { return r.srv.stats.calls("get") == 1 })
	if n := len(g.waiting()); n != 1 || g.hasSettled() {
		t.Errorf("%d entries wait for their commit, want 1; settled: %v", n, g.hasSettled())
	}
	g.holdBack(false)
	writer.next("OK")
	reader.next(`"new"`)
	r.until("it has settled", g.hasSettled)
	if n := len(g.waiting()); n != 0 {
		t.Errorf("%d entries wait for their commit", n)
	}
	g.holdBack(true) // another member leads: what is held back may begin, and gets no commit
	close(g.follows)
	late.ended()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func (g *testGroup) HandOver() {
	if g.follows != nil {
		resume := g.settle()
		g.set(func() { g.settled = true })
		<-g.follows
		resume()
	}
	g.set(func() { g.handed++ })
}

func (g *testGroup) hasSettled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.settled
}

// A leader that ends does not wait for ever for what is not committed.
func TestLeaderThatEndsWaitsForTheOthersForAWhile(t *testing.T) {
	r, g := newGroupRig(t)
	g.follows = make(chan struct{})
	writer := r.dial()
	g.holdBack(true)
	writer.send("SET", "k", "v")
	r.until("the write is in memory", func() bool { return len(g.waiting()) == 1 })
	closed := make(chan error)
	go func() { closed <- r.srv.Close(context.Background()) }()
	r.until("it settles", func() bool { return r.srv.pause.Active() })
	r.until("it has settled", func() bool {
		r.clock.advance(settlePatience)
		return g.hasSettled()
	})
	close(g.follows)
	writer.ended()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
