package server

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// queue sends calls between MULTI and EXEC and returns what EXEC does.
func (c *testClient) exec(calls ...string) string {
	c.t.Helper()
	b := encode("MULTI")
	for _, call := range calls {
		b += encode(strings.Fields(call)...)
	}
	c.raw(b + encode("EXEC"))
	for range len(calls) + 1 {
		c.reply()
	}
	return c.reply()
}

func integer(t testing.TB, reply string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(strings.Trim(reply, `"`), "(int) "))
	if err != nil {
		t.Fatalf("%s is no number", reply)
	}
	return n
}

// Transfers between accounts of all shards, by EXEC: whoever looks at all
// accounts at once, by EXEC or by MGET, sees the same sum.
func TestTransactionsAreIsolated(t *testing.T) {
	const seed, accounts, workers, each, sum = 3, 300, 4, 150, 300 * 100
	r := newRig(t)
	setup := []string{"MSET"}
	look := "MGET"
	for i := range accounts {
		setup = append(setup, fmt.Sprintf("acct:%d", i), "100")
		look += fmt.Sprintf(" acct:%d", i)
	}
	r.dial().send(setup...)
	total := func(reply string) int {
		n := 0
		for _, f := range strings.Fields(strings.Trim(reply, "[]")) {
			n += integer(t, f)
		}
		return n
	}
	r.until("the accounts are there", func() bool { return r.dial().do("DBSIZE") == fmt.Sprintf("(int) %d", accounts) })
	var all sync.WaitGroup
	for w := range workers {
		c, rnd := r.dial(), rand.New(rand.NewPCG(seed, uint64(w)))
		all.Add(2)
		go func() {
			defer all.Done()
			for range each {
				amount := rnd.IntN(50)
				c.exec(fmt.Sprintf("DECRBY acct:%d %d", rnd.IntN(accounts), amount), "PING",
					fmt.Sprintf("INCRBY acct:%d %d", rnd.IntN(accounts), amount))
			}
		}()
		d := r.dial()
		go func() {
			defer all.Done()
			for i := range each / 3 {
				got := ""
				if i%2 == 0 {
					got = d.do(strings.Fields(look)...)
				} else {
					got = strings.TrimSuffix(strings.TrimPrefix(d.exec(look), "["), "]")
				}
				if n := total(got); n != sum {
					t.Errorf("sum: got %d, want %d", n, sum)
				}
			}
		}()
	}
	all.Wait()
}

func TestWatchedCountersLoseNoUpdate(t *testing.T) {
	const workers, each = 8, 60
	r := newRig(t)
	var all sync.WaitGroup
	r.dial().want("MSET n 0 m 0", "OK")
	for range workers {
		c := r.dial()
		all.Add(1)
		go func() {
			defer all.Done()
			for done := 0; done < each; {
				c.do("WATCH", "n", "m")
				n, m := integer(t, c.do("GET", "n")), integer(t, c.do("GET", "m"))
				got := c.exec(fmt.Sprintf("SET n %d", n+1), fmt.Sprintf("SET m %d", m+1))
				if got != "(nil array)" {
					done++
				}
			}
		}()
	}
	all.Wait()
	r.dial().want("MGET n m", fmt.Sprintf(`["%d" "%d"]`, workers*each, workers*each))
}

func TestExecFailsWhenAWatchedKeyChanged(t *testing.T) {
	tests := []struct {
		name    string
		setup   []string
		watch   string
		changes []string // by another client
		aborted bool
	}{
		{"set", nil, "k", []string{"SET k v"}, true},
		{"set to the same", []string{"SET k v"}, "k", []string{"SET k v"}, true},
		{"expire", []string{"SET k v"}, "k", []string{"EXPIRE k 100"}, true},
		{"other key", nil, "k", []string{"SET j v"}, false},
		{"other database", nil, "k", []string{"SELECT 1", "SET k v"}, false},
		{"read", []string{"SET k v"}, "k", []string{"GET k", "STRLEN k", "TYPE k"}, false},
		{"delete of nothing", nil, "k", []string{"DEL k"}, false},
		{"flush", []string{"SET k v"}, "k", []string{"FLUSHALL"}, true},
		{"flush of nothing", nil, "k", []string{"FLUSHALL"}, false},
		{"flush of its database", []string{"SET k v"}, "k", []string{"FLUSHDB"}, true},
		{"flush of another database", []string{"SET k v"}, "k", []string{"SELECT 2", "FLUSHDB"}, false},
		{"swap brings it", nil, "k", []string{"SELECT 1", "SET k v", "SWAPDB 0 1"}, true},
		{"swap takes it", []string{"SET k v"}, "k", []string{"SWAPDB 0 1"}, true},
		{"swap of others", []string{"SET k v"}, "k", []string{"SWAPDB 1 2"}, false},
		{"rename away", []string{"SET k v"}, "k", []string{"RENAME k j"}, true},
		{"rename over it", []string{"SET j v"}, "k", []string{"RENAME j k"}, true},
		{"one of many", nil, "a b k c", []string{"RPUSH k v"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			c, other := r.dial(), r.dial()
			for _, call := range tt.setup {
				c.want(call, "OK")
			}
			c.want("WATCH "+tt.watch, "OK")
			for _, call := range tt.changes {
				other.do(strings.Fields(call)...)
			}
			want := `[PONG]`
			if tt.aborted {
				want = "(nil array)"
			}
			if got := c.exec("PING"); got != want {
				t.Errorf("EXEC: got %s, want %s", got, want)
			}
			// The watch is over in any case.
			other.want("SELECT 0", "OK")
			other.want("SET k again", "OK")
			if got := c.exec("PING"); got != "[PONG]" {
				t.Errorf("the next EXEC: got %s, want [PONG]", got)
			}
		})
	}
}

func TestExecFailsWhenAWatchedKeyExpired(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"looked at by nobody", "looked at by another client", "removed in the background"} {
		c := r.dial()
		c.want("SET k v PX 50", "OK")
		r.srv.activeExpire.Store(name == "removed in the background")
		c.want("WATCH k", "OK")
		r.clock.advance(250 * time.Millisecond)
		if name == "looked at by another client" {
			r.dial().want("GET k", "(nil)")
		}
		if got := c.exec("PING"); got != "(nil array)" {
			t.Errorf("%s: EXEC: got %s, want (nil array)", name, got)
		}
	}
	// A key that was over already when it was watched is not missed.
	r.srv.activeExpire.Store(false)
	c := r.dial()
	c.want("SET k v PX 50", "OK")
	r.clock.advance(time.Second)
	c.want("WATCH k", "OK")
	r.dial().want("GET k", "(nil)")
	if got := c.exec("PING"); got != "[PONG]" {
		t.Errorf("watched when it was over: EXEC: got %s, want [PONG]", got)
	}
}

func TestUnwatchAndDiscardForgetChanges(t *testing.T) {
	r := newRig(t)
	c, other := r.dial(), r.dial()
	c.want("WATCH k", "OK")
	other.want("SET k 1", "OK")
	c.want("UNWATCH", "OK")
	if got := c.exec("PING"); got != "[PONG]" {
		t.Errorf("after UNWATCH: got %s, want [PONG]", got)
	}
	c.want("WATCH k", "OK")
	other.want("SET k 1", "OK")
	c.want("MULTI", "OK")
	c.want("DISCARD", "OK")
	if got := c.exec("PING"); got != "[PONG]" {
		t.Errorf("after DISCARD: got %s, want [PONG]", got)
	}
	c.nc.Close()
	r.connected(1)
	if n := r.srv.watches.n.Load(); n != 0 {
		t.Errorf("watched keys after all: got %d, want 0", n)
	}
}

func TestErrorWhileQueueingAbortsTheTransaction(t *testing.T) {
	r := newRig(t)
	const aborted = "(error) EXECABORT Transaction discarded because of previous errors."
	for _, bad := range []string{"NOSUCH", "GET", "SUBSCRIBE", "CLIENT NOSUCH"} {
		c := r.dial()
		c.want("MULTI", "OK")
		c.want("SET k v", "QUEUED")
		if got := c.do(strings.Fields(bad)...); !strings.HasPrefix(got, "(error)") {
			t.Errorf("%s: got %s, want an error", bad, got)
		}
		c.want("SET k w", "QUEUED")
		c.want("EXEC", aborted)
		c.want("EXISTS k", "(int) 0")
		c.want("EXEC", "(error) ERR EXEC without MULTI")
	}
	// Errors of commands that are not queued do no harm.
	c := r.dial()
	c.want("MULTI", "OK")
	c.want("MULTI", "(error) ERR MULTI calls can not be nested")
	c.want("PING", "QUEUED")
	c.want("EXEC", "[PONG]")
	c.want("MULTI", "OK")
	c.want("WATCH k", "(error) ERR Command 'watch' not allowed inside a transaction")
	c.want("PING", "QUEUED")
	c.want("EXEC", aborted)
}

func TestErrorInsideExecStopsNothing(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	got := c.exec("SET s v", "LPUSH s x", "INCR n", "HSET s f v", "SET t w")
	const wrong = "(error) WRONGTYPE Operation against a key holding the wrong kind of value"
	if want := "[OK " + wrong + " (int) 1 " + wrong + " OK]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.want("MGET s t", `["v" "w"]`)
}

func TestResetEndsMultiWatchAndSubscriptions(t *testing.T) {
	r := newRig(t)
	c, other := r.dial().hello3(), r.dial()
	c.want("SELECT 2", "OK")
	c.want("SUBSCRIBE ch", `>["subscribe" "ch" (int) 1]`)
	c.want("WATCH k", "OK")
	c.want("MULTI", "OK")
	c.want("SET k v", "QUEUED")
	c.want("RESET", "RESET")
	c.want("EXEC", "(error) ERR EXEC without MULTI")
	c.want("GET k", "(nil)")
	other.want("PUBLISH ch m", "(int) 0")
	if got := c.do("CLIENT", "LIST", "ID", c.id()); !strings.Contains(got, " flags=N capa= db=0 sub=0 ") || !strings.Contains(got, " resp=2 ") {
		t.Errorf("CLIENT LIST: got %s", got)
	}
	if s := r.session(c); s.mayBeSilent() {
		t.Error("the client still counts as a subscriber")
	}
}

func TestQueuedCallsAreShownAndCountedAsTheyRun(t *testing.T) {
	r := newRig(t)
	m, c := r.dial(), r.dial()
	m.want("MONITOR", "OK")
	c.exec("SET k v", "GET k")
	for _, call := range []string{`"MULTI"`, `"SET" "k" "v"`, `"GET" "k"`, `"EXEC"`} {
		if got := m.reply(); !strings.HasSuffix(got, call) {
			t.Errorf("monitor: got %s, want %s", got, call)
		}
	}
	for _, name := range []string{"multi", "exec", "set", "get"} {
		if n := r.srv.stats.calls(name); n != 1 {
			t.Errorf("calls of %s: got %d, want 1", name, n)
		}
	}
}

func TestMessagesAreNotWrittenIntoExecsArray(t *testing.T) {
	r := newRig(t)
	c, other := r.dial().hello3(), r.dial()
	c.want("SUBSCRIBE ch", `>["subscribe" "ch" (int) 1]`)
	s := r.session(c)
	// Messages that are there before, while, and behind.
	c.raw(encode("MULTI") + encode("PUBLISH", "ch", "own") + encode("UNSUBSCRIBE", "ch") + encode("EXEC"))
	for _, want := range []string{"OK", "QUEUED", "QUEUED", `>["message" "ch" "own"]`,
		`[(int) 1 >["unsubscribe" "ch" (int) 0]]`} {
		c.next(want)
	}
	other.want("PUBLISH ch late", "(int) 0")
	c.quiet()
	if s.messaging.subs.Any() {
		t.Error("there are subscriptions left")
	}
}
