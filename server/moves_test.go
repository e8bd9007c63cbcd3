package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// movesRig is a server of newShardsRig that moves slots to the group of the node cc..c. What it gives waits for the test.
type movesRig struct {
	*slotsRig
	giving chan context.Context // a call of GiveSlots, with its slots frozen
	given  chan error           // what it returns; nil gives them
	undone bool                 // whose the slots are is not decided

	mu   sync.Mutex
	sent []byte // guarded by mu
}

func newMovesRig(t *testing.T, directives ...string) *movesRig {
	t.Helper()
	r := &movesRig{slotsRig: newShardsRig(t, directives...), giving: make(chan context.Context), given: make(chan error)}
	r.g.begins = func(to string, of *slots.Set) error {
		if to != strings.Repeat("a", 40) {
			t.Errorf("the slots go to %s", to)
		}
		return nil
	}
	r.g.sends = func(keys []byte) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent = append(r.sent, keys...)
		return nil
	}
	r.g.gives = func(ctx context.Context, of *slots.Set) (bool, error) {
		select {
		case r.giving <- ctx:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
		var err error
		select {
		case err = <-r.given:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err == nil {
			r.have(r.g.own.Load().Without(of), of)
		}
		return !r.undone, err
	}
	return r
}

// have changes the slots of the group, and those that another one has beside its own.
func (r *movesRig) have(own, other *slots.Set) {
	r.know(func(m *commands.Membership) {
		m.Slots = own
		m.OtherShards = append([]commands.Shard(nil), m.OtherShards...)
		m.OtherShards[0].Slots = m.OtherShards[0].Slots.Union(other)
	})
	r.g.channels(own)
	r.g.own.Store(own)
	r.srv.resharding.Departures.Look() // it may have looked between the two, and would do so again when time passes
}

// begin moves the slot of b, and waits until it is frozen.
func (r *movesRig) begin(c *testClient) context.Context {
	r.t.Helper()
	c.want("CLUSTER MIGRATESLOTS SLOTSRANGE 3300 3300 NODE "+strings.Repeat("c", 40), "OK")
	return <-r.giving
}

// state waits until the last move has a state.
func (r *movesRig) state(c *testClient, want string) string {
	r.t.Helper()
	got := ""
	r.until("the move is "+want, func() bool {
		got = c.do("CLUSTER", "GETSLOTMIGRATIONS")
		return strings.Contains(got, fmt.Sprintf("%q", want))
	})
	return got
}

const movedB = "(error) MOVED 3300 10.0.1.2:7000"

// While slots are frozen calls that change their keys wait, and so do all for slots that are given away; others do not.
func TestCallsWaitWhileSlotsAreFrozen(t *testing.T) {
	for _, gives := range []bool{true, false} {
		r := newMovesRig(t)
		c := r.dial()
		c.want("SET b 1", "OK")
		r.begin(c)
		c.want("GET b", `"1"`)
		c.want("EVAL_RO return(redis.call('get',KEYS[1])) 1 b", `"1"`)
		c.want("SET c 1", "OK")
		if got := c.do("EVAL", "return redis.call('set','b',9)", "0"); !strings.HasPrefix(got, "(error) TRYAGAIN Script attempted to change keys of a slot that is being moved") {
			t.Errorf("a script that does not name its keys: %s", got)
		}
		if got := c.do("EVAL", "return redis.call('flushall')", "0"); !strings.HasPrefix(got, "(error) TRYAGAIN") {
			t.Errorf("a script that removes all keys: %s", got)
		}
		calls := map[string][2]string{ // with what they get if the slots go, and if they stay
			"SET b 2": {movedB, "OK"},
			"EVAL return(redis.call('set',KEYS[1],'2')) 1 b": {movedB, "OK"},
			"EXEC":          {movedB, "[OK]"},
			"FLUSHALL":      {"OK", "OK"},
			"SETEX b 100 2": {movedB, "OK"},
		}
		waiting := map[string]*testClient{}
		for call := range calls {
			w := r.dial()
			if call == "EXEC" {
				w.want("MULTI", "OK")
				w.want("SET b 2", queued)
			}
			w.send(strings.Fields(call)...)
			w.send("PING")
			waiting[call] = w
		}
		gone := r.dial()
		gone.send("SET", "b", "3")
		r.until("the calls wait", func() bool {
			return r.srv.fence.Count() == len(calls)+1
		})
		gone.nc.Close()
		r.until("a client has left", func() bool {
			return r.srv.fence.Count() == len(calls)
		})
		i, err := 0, error(nil)
		if !gives {
			i, err = 1, errors.New("no reason")
		}
		r.given <- err
		for call, w := range waiting {
			if got := w.reply(); got != calls[call][i] {
				t.Errorf("%s: got %s, want %s", call, got, calls[call][i])
			}
			w.next("PONG")
		}
		c.want("CLUSTER CANCELSLOTMIGRATIONS", "OK")
	}
}

// A move that fails is tried again, after a pause, until it is cancelled.
func TestMoveIsTriedAgainUntilItIsCancelled(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	r.begin(c)
	r.given <- errors.New("the other group sleeps")
	r.until("the reason is shown", func() bool { return strings.Contains(c.do("CLUSTER", "GETSLOTMIGRATIONS"), "the other group sleeps") })
	r.state(c, "moving")
	again := make(chan struct{})
	go func() { <-r.giving; close(again) }()
	r.until("it is tried again", func() bool {
		r.clock.advance(time.Second)
		select {
		case <-again:
			return true
		default:
			return false
		}
	})
	c.want("CLUSTER CANCELSLOTMIGRATIONS", "OK")
	r.state(c, "canceled")
	c.want("SET b 1", "OK")
}

// Calls wait as long as it is not decided whose the slots are: until the leadership ends.
func TestFreezeGoesOnUntilTheOutcomeIsKnown(t *testing.T) {
	r := newMovesRig(t)
	r.undone = true
	c := r.dial()
	r.begin(c)
	w := r.dial()
	w.send("SET", "b", "1")
	r.given <- errors.New("the outcome is not known")
	r.until("the move has failed", func() bool { return strings.Contains(c.do("CLUSTER", "GETSLOTMIGRATIONS"), "not known") })
	if r.srv.fence.Of() == nil {
		t.Error("the slots are not frozen any more")
	}
	r.follow()
	w.ended()
	if r.srv.fence.Of() != nil {
		t.Error("the slots are still frozen")
	}
}

// newLooseSession returns a session of no client.
func newLooseSession(srv *Server) *session {
	s := makeSession(srv, srv.store.NewTx())
	s.ctx.Client = &s.Client
	return s
}

// A call that was admitted before the slots were frozen, or given away, does not run after that.
func TestCallsAreAdmittedAgainUnderTheirLocks(t *testing.T) {
	for want, change := range map[string]func(r *movesRig){
		errPaused.Error():                      func(r *movesRig) { r.srv.fence.Begin(slotstest.Set(t, "3300")) },
		strings.TrimPrefix(movedB, "(error) "): func(r *movesRig) { r.have(slotstest.Set(t, "0-3000"), slotstest.Set(t, "3300")) },
	} {
		for _, name := range []string{"set", "eval"} {
			r := newMovesRig(t)
			s := newLooseSession(r.srv)
			cmd, argv := r.srv.table.Find(name), [][]byte{[]byte("SET"), []byte("b"), []byte("1")}
			if name == "eval" {
				argv = [][]byte{[]byte("EVAL"), []byte("return redis.call('set',KEYS[1],1)"), []byte("1"), []byte("b")}
			}
			if err := s.admission.checkMember(cmd, argv); err != nil {
				t.Fatal(err)
			}
			change(r)
			s.in.argv = argv
			s.prepare(cmd, argv)
			if err := s.lock(cmd, argv); err == nil || err.Error() != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			if s.locked || s.scripting.inside {
				t.Errorf("%s keeps its locks", name)
			}
			r.srv.fence.Forget(s)
			r.srv.fence.End(0, true)
		}
	}
	r := newMovesRig(t)
	s := newLooseSession(r.srv)
	flush := r.srv.table.Find("flushall")
	argv := [][]byte{[]byte("FLUSHALL")}
	if err := s.admission.checkMember(flush, argv); err != nil {
		t.Fatal(err)
	}
	r.g.expected.Store(slotstest.Set(t, "9000"))
	s.prepare(flush, argv)
	if err := s.lock(flush, argv); !errors.Is(err, commands.ErrSlotsMove) {
		t.Errorf("FLUSHALL where keys have begun to arrive: %v", err)
	}
}

// Clients that wait for keys that go are sent after them, and transactions of those that watch such keys fail.
func TestClientsThatWaitAreSentToTheOtherGroup(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	sentAway := r.waitForB(c)
	r.begin(c)
	r.given <- nil
	sentAway(movedB)
}

// waitForB makes clients wait for keys of the slot of b, one for a key of another slot, and one in a transaction that watches b. The
// function that it returns sees that those of b get an error, and that the others go on as they should.
func (r *movesRig) waitForB(c *testClient) (sentAway func(text string)) {
	r.t.Helper()
	c.want("XADD {b}stream 1-1 f v", `"1-1"`)
	var waiting []*testClient
	for _, call := range []string{"BLPOP b 0", "XREAD BLOCK 0 STREAMS {b}stream $", "BLMOVE b {b}other LEFT RIGHT 0", "BZPOPMIN {b}z 1000"} {
		w := r.dial()
		w.send(strings.Fields(call)...)
		waiting = append(waiting, w)
	}
	stays := r.dial()
	stays.send("BLPOP", "c", "0")
	r.blocked(5)
	watches := r.dial()
	watches.want("WATCH b", "OK")
	watches.want("MULTI", "OK")
	watches.want("SET c 1", queued)
	return func(text string) {
		r.t.Helper()
		for _, w := range waiting {
			w.next(text)
			w.want("PING", "PONG")
		}
		watches.want("EXEC", "(nil array)")
		c.want("LPUSH c 1", "(int) 1")
		stays.next(`["c" "1"]`)
	}
}

// Keys of slots that have gone are removed without a word but to those that keep them.
func TestKeysThatHaveGoneAreRemoved(t *testing.T) {
	r := newMovesRig(t, "--notify-keyspace-events", "KEA")
	r.g.own.Store(nil)
	c, sub := r.dial(), r.dial()
	for i := range 2000 {
		c.want(fmt.Sprintf("SET k%d v", i), "OK")
	}
	of, left, gone := slotstest.Set(t, "0-8000"), 0, ""
	for i := range 2000 {
		if !of.Has(commands.KeySlot([]byte(fmt.Sprint("k", i)))) {
			left++
		} else {
			gone = fmt.Sprint("k", i)
		}
	}
	keeps := r.dial().hello3()
	keeps.want("CLIENT TRACKING ON BCAST PREFIX "+gone, "OK")
	sub.want("PSUBSCRIBE __key*", `["psubscribe" "__key*" (int) 1]`)
	asked := 0
	if err := r.g.remove(t.Context(), of, func() bool { asked++; return asked < 100 }); err == nil {
		t.Error("keys are removed that may not be any more")
	}
	if err := r.g.remove(t.Context(), of, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	c.want("DBSIZE", fmt.Sprintf("(int) %d", left))
	c.want("PUBLISH __key_end x", "(int) 1")
	sub.next(`["pmessage" "__key*" "__key_end" "x"]`)
	if got := keeps.reply(); !strings.Contains(got, "invalidate") {
		t.Errorf("a client that keeps a key that is removed: %s", got)
	}
	r.follow()
	if err := r.g.remove(t.Context(), of, func() bool { return true }); err == nil {
		t.Error("a follower removes keys")
	}
}

// MIGRATESLOTS is refused for what cannot be meant.
func TestMovesOfWrongSlotsAreRefused(t *testing.T) {
	r := newMovesRig(t)
	c := r.dial()
	leader, replica, none := strings.Repeat("c", 40), strings.Repeat("b", 40), strings.Repeat("7", 40)
	const begin = "CLUSTER MIGRATESLOTS SLOTSRANGE "
	each(t, c, map[string]string{
		begin + "1 2 NODE " + none:                                      "(error) ERR Unknown node " + none,
		begin + "1 2 NODE " + replica:                                   "(error) ERR The node that slots go to has to be a master",
		begin + "1 2 NODE " + strings.Repeat("1", 40):                   "(error) ERR The node has the slots already",
		begin + "2 1 NODE " + leader:                                    "(error) ERR start slot number 2 is greater than end slot number 1",
		begin + "1 2 2 3 NODE " + leader:                                "(error) ERR Slot 2 specified multiple times",
		begin + "1 x NODE " + leader:                                    "(error) ERR Invalid or out of range slot",
		begin + "1 16384 NODE " + leader:                                "(error) ERR Invalid or out of range slot",
		begin + "8000 8001 NODE " + leader:                              "(error) ERR Slot 8001 is not one of this node",
		begin + "1 2 3 NODE " + leader:                                  "(error) ERR Invalid or out of range slot",
		begin + "1 2 NODE " + leader + " SLOTSRANGE 2 2 NODE " + leader: "(error) ERR Slot 2 specified multiple times",
		begin + "1 2 NODE " + leader + " x":                             "(error) ERR syntax error",
		"CLUSTER MIGRATESLOTS x 1 2 NODE " + leader:                     "(error) ERR syntax error",
		"CLUSTER GETSLOTMIGRATIONS":                                     "[]",
	})
	r.follow()
	r.dial().want(begin+"1 2 NODE "+leader, "(error) ERR The specified node is not a master")
}
