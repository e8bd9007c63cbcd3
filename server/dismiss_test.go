package server

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vigildb/vigil/commands"
	sets "github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// FORGET of a master without slots asks its server to leave, and returns when that is known here. Why it stays is told.
func TestMasterWithoutSlotsIsForgotten(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	empty := strings.Repeat("0", 40)
	forget := "CLUSTER FORGET " + empty
	reply := &wireReply{Error: "the node has keys"}
	r.g.others = func(_ context.Context, address string, q *wireRequest) *wireReply {
		if address != "10.0.3.1:7000" || q.What != asksDismissal.What || q.Node != empty {
			t.Errorf("%s is asked %+v", address, q)
		}
		return reply
	}
	c.want(forget, "(error) ERR the node has keys")
	late := r.dial()
	replied := func() string {
		t.Helper()
		late.send(strings.Fields(forget)...)
		return r.awaits(late, lookForDismissed)
	}
	reply = nil
	if got := replied(); !strings.HasPrefix(got, "(error) ERR the node does not respond: VIGIL.CLUSTER BURY gives up one that is gone for good") {
		t.Errorf("a node that is not there: %s", got)
	}
	reply = &wireReply{}
	if got := replied(); got != "(error) ERR the node has not left the cluster yet: its log may say why" {
		t.Errorf("a node that stays: %s", got)
	}
	reply = nil // its connection ends with its part in the group
	late.send(strings.Fields(forget)...)
	r.know(func(m *commands.Membership) { m.OtherShards = m.OtherShards[:2] })
	if got := r.awaits(late, lookForDismissed); got != "OK" {
		t.Errorf("a node that has left: %s", got)
	}
}

// REBALANCE replies before the last slots have gone: a master which says that they are on their way is asked again, for a while.
func TestMasterWhoseSlotsAreOnTheirWayIsAskedAgain(t *testing.T) {
	r := newShardsRig(t)
	forget := strings.Fields("CLUSTER FORGET " + strings.Repeat("0", 40))
	var asked, most atomic.Int64
	r.g.others = func(context.Context, string, *wireRequest) *wireReply {
		if asked.Add(1) < most.Load() {
			return &wireReply{Error: "slots of the node are being moved", Again: true}
		}
		r.know(func(m *commands.Membership) { m.OtherShards = m.OtherShards[:2] })
		return &wireReply{}
	}
	c := r.dial()
	replied := func(want string) {
		t.Helper()
		c.send(forget...)
		if got := r.awaits(c, lookForDismissed); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	most.Store(math.MaxInt64)
	replied("(error) ERR slots of the node are being moved")
	asked.Store(0)
	most.Store(3)
	replied("OK")
	if n := asked.Load(); n != 3 {
		t.Errorf("it was asked %d times", n)
	}
}

// A master with replicas is asked to leave once these have gone, if that is within a minute and it has got no slots by then.
func TestMasterWithReplicasIsForgottenAfterThem(t *testing.T) {
	r := newShardsRig(t)
	var asked atomic.Int64
	r.g.others = func(_ context.Context, address string, q *wireRequest) *wireReply {
		if asked.Add(1); address != "10.0.1.2:7000" || q.What != asksDismissal.What || q.Node != strings.Repeat("c", 40) {
			t.Errorf("%s is asked %+v", address, q)
		}
		r.know(func(m *commands.Membership) { m.OtherShards = m.OtherShards[1:] })
		return &wireReply{}
	}
	start := host{r.srv}.Membership()
	// group has the master and one replica, and that many slots.
	group := func(change func(g *commands.Shard)) {
		r.know(func(m *commands.Membership) {
			m.OtherShards = slices.Clone(start.OtherShards)
			m.OtherShards[0].Slots = new(sets.Set)
			change(&m.OtherShards[0])
		})
	}
	waits := func() int {
		r.srv.mu.Lock()
		defer r.srv.mu.Unlock()
		return len(r.srv.dismissing)
	}
	c := r.dial()
	forget := func() {
		t.Helper()
		group(func(*commands.Shard) {})
		for range 2 { // tools ask several servers, and users again
			c.want("CLUSTER FORGET "+strings.Repeat("c", 40), "OK")
		}
		if n := waits(); n != 1 {
			t.Errorf("%d masters are to leave", n)
		}
	}
	ends := func(how string) {
		t.Helper()
		r.until("it is given up or has left: "+how, func() bool {
			r.clock.advance(lookForAlone)
			return waits() == 0
		})
	}
	c.want("CLUSTER FORGET "+strings.Repeat("c", 40)+" x", "(error) ERR wrong number of arguments for 'cluster|forget' command")

	forget()
	ends("the replica stays")
	if !r.log.has("it stays: the node has replicas") {
		t.Error("nobody is told that it stays")
	}
	forget()
	group(func(g *commands.Shard) { g.Members, g.Leader, g.Slots = g.Members[1:], 0, slotstest.Set(t, "7") })
	ends("it has got slots")
	forget()
	group(func(g *commands.Shard) { g.Members, g.Leader = g.Members[1:], -1 })
	ends("it does not lead any more")
	if n := asked.Load(); n > 0 {
		t.Errorf("it was asked %d times", n)
	}
	forget()
	group(func(g *commands.Shard) { g.Members, g.Leader = g.Members[1:], 0 })
	ends("it is alone")
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	forget()
	// The rig closes the server now, which does not wait for a minute.
}

// A server forgets the cluster when another one asks it to, unless it has something to lose, or is another one by now.
func TestServerForgetsTheClusterIfItIsEmpty(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	ask := func(node string) string {
		t.Helper()
		return r.g.request(t, &wireRequest{What: asksDismissal.What, Node: strings.Repeat(node, 40)}).Error
	}
	refused := func(why string) {
		t.Helper()
		if got := ask("1"); !strings.HasPrefix(got, why) || why == "" {
			t.Errorf("got %q, want %q", got, why)
		}
	}
	refused("the node has replicas")
	r.know(func(m *commands.Membership) { m.Members = m.Members[:1] })
	refused("the node has slots")
	c.want("SET b 1", "OK")
	r.know(func(m *commands.Membership) { m.Slots = new(sets.Set) })
	r.g.own.Store(new(sets.Set))
	refused("the node has keys")
	r.g.own.Store(nil)
	c.want("DEL b", "(int) 1")
	for _, passing := range []interface{ Store(*sets.Set) }{&r.g.expected, &r.g.left} {
		passing.Store(slotstest.Set(t, "5"))
		refused("slots of the node are being moved")
		passing.Store(nil)
	}
	r.know(func(m *commands.Membership) { m.Leads = false })
	refused("the node does not lead its group now")
	r.know(func(m *commands.Membership) { m.Leads = true })
	if got := ask("2"); got != "" {
		t.Errorf("a node that has left already: %q", got)
	}
	if got := r.g.changesAsked(); got != "" {
		t.Errorf("the group was asked for %s", got)
	}
	if got := ask("1"); got != "" {
		t.Errorf("an empty server: %q", got)
	}
	r.until("the server has left", func() bool { return r.g.changesAsked() == "reset" })
}
