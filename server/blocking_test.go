package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWaitingClientsAreServedInOrderOfArrival(t *testing.T) {
	r := newRig(t)
	const n = 50
	var waiters []*testClient
	for i := range n {
		c := r.dial()
		// Over several keys: the place in line is the client's, not the key's.
		c.send("BLPOP", fmt.Sprintf("other:%d", i%7), "q", "0")
		r.blocked(i + 1)
		waiters = append(waiters, c)
	}
	p := r.dial()
	for i := 0; i < n; i += 2 {
		p.want(fmt.Sprintf("RPUSH q %d %d", i, i+1), "(int) 2")
	}
	for i, c := range waiters {
		c.next(fmt.Sprintf(`["q" "%d"]`, i))
	}
	p.want("EXISTS q", "(int) 0")
	r.blocked(0)
}

func TestWaiterGetsTheFirstOfItsKeysThatHasSomething(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.send("BLPOP", "a", "b", "c", "0")
	r.blocked(1)
	p.want("RPUSH b 1", "(int) 1")
	c.next(`["b" "1"]`)
	p.want("RPUSH a 2", "(int) 1")
	p.want("LLEN a", "(int) 1")
	// One EXEC that fills two of them: the order of the call counts.
	c.send("BRPOP", "x", "y", "0")
	r.blocked(1)
	p.raw(encode("MULTI") + encode("RPUSH", "y", "1", "2") + encode("RPUSH", "x", "3") + encode("EXEC"))
	for range 3 {
		p.reply()
	}
	p.next("[(int) 2 (int) 1]")
	c.next(`["x" "3"]`)
	p.want("LRANGE y 0 -1", `["1" "2"]`)
}

func TestNobodySeesAnElementThatWasPushedForAWaiter(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.send("BLPOP", "q", "0")
	r.blocked(1)
	p.raw(encode("RPUSH", "q", "a") + encode("LLEN", "q"))
	p.next("(int) 1")
	p.next("(int) 0")
	c.next(`["q" "a"]`)
}

func TestExecServesWaitersOnlyWhenAllOfItRan(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.send("BLPOP", "q", "0")
	r.blocked(1)
	p.raw(encode("MULTI") + encode("RPUSH", "q", "a") + encode("LPUSH", "q", "b") + encode("LLEN", "q") + encode("EXEC"))
	for range 4 {
		p.reply()
	}
	p.next("[(int) 1 (int) 2 (int) 2]")
	c.next(`["q" "b"]`)
	// What is taken back before the end was never there.
	c.send("BLPOP", "gone", "0")
	r.blocked(1)
	p.raw(encode("MULTI") + encode("RPUSH", "gone", "a") + encode("DEL", "gone") + encode("EXEC"))
	for range 3 {
		p.reply()
	}
	p.next("[(int) 1 (int) 1]")
	r.blocked(1)
}

func TestOneTransactionServesAKeyInTwoDatabases(t *testing.T) {
	r := newRig(t)
	a, b, p := r.dial(), r.dial(), r.dial()
	b.want("SELECT 1", "OK")
	a.send("BLPOP", "q", "0")
	r.blocked(1)
	b.send("BLPOP", "q", "0")
	r.blocked(2)
	p.raw(encode("MULTI") + encode("SET", "q", "0") + encode("DEL", "q") + encode("RPUSH", "q", "a") + encode("SELECT", "1") + encode("RPUSH", "q", "b") + encode("EXEC"))
	for range 6 {
		p.reply()
	}
	p.next("[OK (int) 1 (int) 1 OK (int) 1]")
	a.next(`["q" "a"]`)
	b.next(`["q" "b"]`)
}

func TestOtherCommandsThatFillAKeyServeItsWaiters(t *testing.T) {
	tests := []struct {
		name  string
		setup []string
		call  string
	}{
		{"RENAME", []string{"RPUSH src v"}, "RENAME src q"},
		{"COPY", []string{"RPUSH src v"}, "COPY src q"},
		{"LMOVE", []string{"RPUSH src v"}, "LMOVE src q LEFT LEFT"},
		{"LINSERT", []string{"RPUSH src v"}, "RPOPLPUSH src q"},
		{"MOVE", []string{"SELECT 1", "RPUSH q v"}, "MOVE q 0"},
		{"SWAPDB", []string{"SELECT 1", "RPUSH q v"}, "SWAPDB 0 1"},
	}
	for _, tt := range tests {
		r := newRig(t)
		c, p := r.dial(), r.dial()
		c.send("BLPOP", "q", "0")
		r.blocked(1)
		for _, call := range append(tt.setup, tt.call) {
			if got := p.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
				t.Fatalf("%s: %s", call, got)
			}
		}
		if got, want := c.reply(), `["q" "v"]`; got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
	}
}

func TestWaiterOfAnotherDatabaseIsNotServed(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.want("SELECT 3", "OK")
	c.send("BLPOP", "q", "0")
	r.blocked(1)
	p.want("RPUSH q a", "(int) 1")
	p.want("LLEN q", "(int) 1")
	p.want("SELECT 3", "OK")
	p.want("RPUSH q b", "(int) 1")
	c.next(`["q" "b"]`)
}

func TestWaiterSleepsOnWhenItsKeyBecomesSomethingElse(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.send("BLPOP", "q", "0")
	r.blocked(1)
	p.want("SET q v", "OK")
	r.blocked(1)
	p.want("DEL q", "(int) 1")
	p.want("RPUSH q a", "(int) 1")
	c.next(`["q" "a"]`)
}

func TestCallsBehindABlockedOneRunAfterIt(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c, p := dial(), dial()
		c.raw(encode("SET", "k", "1") + encode("BLPOP", "q", "0") + encode("INCR", "k") + encode("BLPOP", "q", "0"))
		c.next("OK")
		r.blocked(1)
		c.raw(encode("INCR", "k") + encode("ECHO", "end"))
		p.want("GET k", `"1"`)
		p.want("RPUSH q a", "(int) 1")
		c.next(`["q" "a"]`)
		c.next("(int) 2")
		r.blocked(1)
		p.want("GET k", `"2"`)
		p.want("RPUSH q b", "(int) 1")
		c.next(`["q" "b"]`)
		c.next("(int) 3")
		c.next(`"end"`)
	})
}

// The reply of the wait goes first also when the client is woken for another
// reason before it.
func TestMessagesDoNotOvertakeTheReplyOfAWait(t *testing.T) {
	r := newRig(t)
	c, p := r.dial().hello3(), r.dial()
	c.want("SUBSCRIBE ch", `>["subscribe" "ch" (int) 1]`)
	for i := range 200 {
		c.raw(encode("BLPOP", "q", "0") + encode("ECHO", "behind"))
		r.blocked(1)
		p.raw(encode("PUBLISH", "ch", "m") + encode("RPUSH", "q", fmt.Sprint(i)) + encode("PUBLISH", "ch", "n"))
		var got []string
		for range 4 {
			got = append(got, c.reply())
		}
		wait, behind := -1, -1
		for at, s := range got {
			switch {
			case s == fmt.Sprintf(`["q" "%d"]`, i):
				wait = at
			case s == `"behind"`:
				behind = at
			}
		}
		if wait < 1 || behind < wait || got[0] != `>["message" "ch" "m"]` {
			t.Fatalf("round %d: got %v", i, got)
		}
		for range 3 {
			p.reply()
		}
	}
}

func TestWaitEndsAtItsTimeout(t *testing.T) {
	r := newRig(t)
	tests := []struct{ call, want string }{
		{"BLPOP q 1.5", "(nil array)"},
		{"BRPOP q r 1.5", "(nil array)"},
		{"BLMPOP 1.5 1 q LEFT", "(nil array)"},
		{"BLMOVE q d LEFT LEFT 1.5", "(nil array)"},
		{"BRPOPLPUSH q d 1.5", "(nil array)"},
	}
	for _, tt := range tests {
		c := r.dial()
		c.send(strings.Fields(tt.call)...)
		r.blocked(1)
		r.clock.advance(1499 * time.Millisecond)
		r.blocked(1)
		r.clock.advance(time.Millisecond)
		if got := c.reply(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.call, got, tt.want)
		}
		r.dial().want("RPUSH q a", "(int) 1")
		r.dial().want("DEL q", "(int) 1")
	}
}

func TestClientUnblockEndsAWait(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	id := c.id()
	p.want("CLIENT UNBLOCK "+id, "(int) 0")
	for _, tt := range []struct{ how, want string }{
		{"", "(nil array)"},
		{" TIMEOUT", "(nil array)"},
		{" ERROR", "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK"},
	} {
		c.send("BLPOP", "q", "0")
		r.blocked(1)
		p.want("CLIENT UNBLOCK "+id+tt.how, "(int) 1")
		c.next(tt.want)
		p.want("CLIENT UNBLOCK "+id, "(int) 0")
	}
	p.want("RPUSH q a", "(int) 1")
	p.want("LLEN q", "(int) 1")
	c.quiet()
}

func TestKilledClientPopsNothing(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c, p := dial(), dial()
		id := c.id()
		c.raw(encode("BLPOP", "q", "0") + encode("SET", "behind", "1"))
		r.blocked(1)
		p.want("CLIENT KILL ID "+id, "(int) 1")
		p.want("RPUSH q a", "(int) 1")
		p.want("LLEN q", "(int) 1")
		c.ended()
		p.want("EXISTS behind", "(int) 0")
	})
}

func TestUnwantedRepliesOfWaitsAreNotSent(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.raw(encode("CLIENT", "REPLY", "OFF") + encode("BLPOP", "q", "0") + encode("CLIENT", "REPLY", "ON"))
	r.blocked(1)
	p.want("RPUSH q a", "(int) 1")
	c.next("OK")
	c.raw(encode("CLIENT", "REPLY", "SKIP") + encode("BLPOP", "q", "1") + encode("ECHO", "x"))
	r.blocked(1)
	r.clock.advance(time.Second)
	c.next(`"x"`)
}

func TestBlockingCommandsDoNotWaitInsideMulti(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.raw(encode("MULTI") + encode("BLPOP", "q", "0") + encode("BLMOVE", "q", "d", "LEFT", "LEFT", "0") + encode("EXEC"))
	for range 3 {
		c.reply()
	}
	c.next("[(nil array) (nil)]")
}

// A wait is one call in the statistics, whether it ends well or not.
func TestWaitIsCountedOnce(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	c.send("BLPOP", "q", "1")
	r.blocked(1)
	if got := r.srv.stats.calls("blpop"); got != 0 {
		t.Errorf("calls while it waits: got %d, want 0", got)
	}
	p.want("RPUSH q a", "(int) 1")
	c.reply()
	c.send("BLPOP", "q", "1")
	r.blocked(1)
	r.clock.advance(time.Second)
	c.reply()
	if got := r.srv.stats.calls("blpop"); got != 2 {
		t.Errorf("calls after two waits: got %d, want 2", got)
	}
}

// A key that the store removes by itself, as it expired, ends the waits for a group
// of it.
func TestExpiryInTheBackgroundEndsTheWaitForAGroup(t *testing.T) {
	r := newRig(t)
	c, d, p := r.dial(), r.dial(), r.dial()
	p.want("XGROUP CREATE s g $ MKSTREAM", "OK")
	p.want("XGROUP CREATE other g $ MKSTREAM", "OK")
	p.want("PEXPIRE s 50", "(int) 1")
	c.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "other", "s", ">", ">")
	d.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	r.blocked(2)
	r.clock.advance(500 * time.Millisecond)
	c.next("(error) NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option")
	r.blocked(1) // an XREAD waits for a stream that may come
	p.want("XADD s 1-1 f v", `"1-1"`)
	d.next(`[["s" [["1-1" ["f" "v"]]]]]`)
}

func TestEvictionEndsTheWaitForAGroup(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	p.want("XGROUP CREATE s g $ MKSTREAM", "OK")
	p.want("CONFIG SET maxmemory-policy allkeys-random", "OK")
	c.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">")
	r.blocked(1)
	p.want("CONFIG SET maxmemory 1", "OK")
	p.want("EXISTS s", "(int) 0")
	r.clock.advance(500 * time.Millisecond)
	c.next("(error) NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option")
}

// A client that leaves, or that waits no more, is not looked at again.
func TestAWaitForIdleEntriesEndsWithItsClient(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	p.want("XADD s 1-1 f v", `"1-1"`)
	p.want("XGROUP CREATE s g 0", "OK")
	p.want("XREADGROUP GROUP g a STREAMS s >", `[["s" [["1-1" ["f" "v"]]]]]`)
	c.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "CLAIM", "5000", "STREAMS", "s", ">")
	r.blocked(1)
	c.nc.Close()
	r.blocked(0)
	r.clock.advance(20 * time.Second)
	p.want("XPENDING s g", `[(int) 1 "1-1" "1-1" [["a" "1"]]]`)
}

// While writes are paused, a client that waits for idle entries is not served.
func TestPauseHoldsTheWaitForIdleEntries(t *testing.T) {
	r := newRig(t)
	c, p := r.dial(), r.dial()
	p.want("XADD s 1-1 f v", `"1-1"`)
	p.want("XGROUP CREATE s g 0", "OK")
	p.want("XREADGROUP GROUP g a STREAMS s >", `[["s" [["1-1" ["f" "v"]]]]]`)
	c.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "CLAIM", "50", "STREAMS", "s", ">")
	r.blocked(1)
	p.want("CLIENT PAUSE 10000 WRITE", "OK")
	r.clock.advance(time.Second)
	r.blocked(1)
	p.want("XPENDING s g", `[(int) 1 "1-1" "1-1" [["a" "1"]]]`)
	p.want("CLIENT UNPAUSE", "OK")
	r.clock.advance(time.Second)
	p.want("XPENDING s g", `[(int) 1 "1-1" "1-1" [["c" "1"]]]`)
	r.blocked(0)
}
