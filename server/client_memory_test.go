package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/pubsub"
)

// config sets a directive.
func (r *rig) config(name, value string) {
	r.t.Helper()
	c := r.dial()
	if got := c.do("CONFIG", "SET", name, value); got != "OK" {
		r.t.Fatalf("CONFIG SET %s %s: got %s", name, value, got)
	}
	c.nc.Close()
}

// manyGets reads one key fifty times in one command.
func manyGets() string {
	return encode(append([]string{"MGET"}, strings.Fields(strings.Repeat("big ", 50))...)...)
}

// evicted waits until n clients have been evicted, rounds of the cron later.
func (r *rig) evicted(n int64) {
	r.t.Helper()
	r.until(fmt.Sprint(n, " clients are evicted"), func() bool {
		r.clock.advance(cronPeriod)
		return r.srv.stats.evictedClients.Load() >= n
	})
}

// A client is ended while its replies are built, before they exist; what its
// commands change is there all the same, as a whole.
func TestRepliesThatAreBuiltCountAgainstTheOutputLimit(t *testing.T) {
	tests := []struct{ name, input string }{
		{"one command", manyGets() + encode("INCR", "behind")},
		{"a transaction", encode("MULTI") + strings.Repeat(encode("GET", "big"), 50) + encode("INCR", "n") + encode("EXEC") + encode("INCR", "behind")},
	}
	for _, tt := range tests {
		eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
			r.dial().want("SET big "+strings.Repeat("v", 100_000), "OK")
			r.config("client-output-buffer-limit", "normal 1mb 0 0")
			c := dial()
			c.raw(tt.input)
			r.until("the client is closed", func() bool { return r.srv.stats.outputLimitDrops.Load() == 1 })
			r.connected(1)
			if strings.Contains(tt.input, "MULTI") {
				r.dial().want("GET n", `"1"`)
			}
			r.dial().want("GET behind", "(nil)")
		})
	}
}

// What the client has not read counts too, with the time that it stays over the
// soft limit.
func TestRepliesThatAreNotReadCountAgainstTheSoftLimit(t *testing.T) {
	r := newRig(t)
	r.config("client-output-buffer-limit", "normal 0 1mb 5")
	s, e := r.handSession()
	defer s.Leave()
	e.stuck = 2 << 20
	if err := s.feedText(encode("PING")); err != nil {
		t.Fatalf("on passing the soft limit: %v", err)
	}
	r.clock.advance(4 * time.Second)
	if e.hungUp {
		t.Fatal("closed within the time of the soft limit")
	}
	e.stuck = 0
	s.output.Sent()
	r.clock.advance(4 * time.Second)
	e.stuck = 2 << 20
	s.output.Sent()
	r.clock.advance(4 * time.Second)
	if e.hungUp {
		t.Fatal("the time before the client had read was counted")
	}
	r.clock.advance(4 * time.Second)
	if !e.hungUp || r.srv.stats.outputLimitDrops.Load() != 1 {
		t.Error("a client that read nothing for 8 s, with a soft limit of 5 s, is still there")
	}
}

// The clients that hold most go first, and no more of them than must.
func TestClientsThatHoldMostAreEvicted(t *testing.T) {
	holds := map[string]func(c *testClient, n int){
		"half a command": func(c *testClient, n int) { c.raw(fmt.Sprintf("*2\r\n$100000000\r\n%s", strings.Repeat("x", n))) },
		"a queue": func(c *testClient, n int) {
			c.want("MULTI", "OK")
			c.want("ECHO "+strings.Repeat("x", n), "QUEUED")
		},
		"watched keys": func(c *testClient, n int) {
			for i := 0; i < n; i += watchBytes + 1000 {
				c.want(fmt.Sprintf("WATCH %d%s", i, strings.Repeat("k", 1000)), "OK")
			}
		},
		"subscriptions": func(c *testClient, n int) {
			for i := 0; i < n; i += pubsub.SubscriptionBytes + 1000 {
				c.do("SUBSCRIBE", fmt.Sprint(i, strings.Repeat("c", 1000)))
			}
		},
		"a call that waits": func(c *testClient, n int) {
			call := []string{"BLPOP"}
			for ; n > 0; n -= 250_000 { // a key has 1 MiB at the most
				call = append(call, fmt.Sprint(n, strings.Repeat("k", min(n, 250_000))))
			}
			c.send(append(call, "0")...)
		},
		"a name": func(c *testClient, n int) { c.want("CLIENT SETNAME "+strings.Repeat("n", n), "OK") },
	}
	for name, hold := range holds {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config("maxmemory-clients", "4mb")
			var all []*testClient
			for i := range 6 {
				c := r.dial()
				hold(c, 500_000+i*1000)
				all = append(all, c)
			}
			r.settled(3_000_000)
			r.clock.advance(cronPeriod)
			if n := r.srv.stats.evictedClients.Load(); n != 0 {
				t.Fatalf("evicted with 3 of 4 MB: %d", n)
			}
			big := r.dial()
			hold(big, 2_000_000)
			r.evicted(1)
			big.ended()
			if n := r.srv.stats.evictedClients.Load(); n != 1 {
				t.Errorf("evicted clients: got %d, want 1", n)
			}
			r.connected(len(all))
			info := r.dial().do("INFO", "stats")
			if !strings.Contains(info, "evicted_clients:1") {
				t.Errorf("INFO does not tell of it: %s", info)
			}
		})
	}
}

// settled waits until the clients hold so much.
func (r *rig) settled(bytes int64) {
	r.t.Helper()
	r.until(fmt.Sprint(bytes, " bytes are held"), func() bool { return r.srv.memory.total.Load() >= bytes })
}

func TestClientsMayAskNotToBeEvicted(t *testing.T) {
	r := newRig(t)
	r.config("maxmemory-clients", "1mb")
	big, small := r.dial(), r.dial()
	big.want("CLIENT NO-EVICT on", "OK")
	big.raw("*2\r\n$100000000\r\n" + strings.Repeat("x", 900_000))
	small.raw("*2\r\n$100000000\r\n" + strings.Repeat("x", 200_000))
	r.evicted(1)
	small.ended()
	r.connected(1)
}

func TestReplyOfMoreThanAllClientsMayHoldEndsItsClient(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		r.dial().want("SET big "+strings.Repeat("v", 100_000), "OK")
		r.config("maxmemory-clients", "2mb")
		c := dial()
		c.raw(manyGets())
		r.until("the client is evicted", func() bool { return r.srv.stats.evictedClients.Load() == 1 })
		r.connected(1)
	})
}

// Whoever has the password gets in, however many come that have not.
func TestClientsThatOweAPasswordShareALittleMemory(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		admin := r.dial()
		admin.want("CONFIG SET requirepass secret", "OK")
		arg := "$16384\r\n" + strings.Repeat("x", 16384) + "\r\n"
		n := unauthBytes/(9*16384) + 20
		for range n {
			dial().raw("*10\r\n" + strings.Repeat(arg, 9))
		}
		r.until("some have gone", func() bool {
			r.clock.advance(cronPeriod)
			return r.srv.stats.rejectedClients.Load() > 0 && r.srv.memory.unauth.Load() <= unauthBytes
		})
		late := dial()
		late.want("AUTH secret", "OK")
		late.want("PING", "PONG")
		if got := r.srv.stats.rejectedClients.Load(); got < 1 || got > int64(n) {
			t.Errorf("rejected clients: got %d of %d", got, n)
		}
		if s := r.srv.clients.list(); len(s) < 2 || !s[0].Has(commands.ClientAuthenticated) {
			t.Error("a client that is known was rejected")
		}
	})
}

// The account returns to what connections take when everybody has gone, and a
// client that left nothing unread holds no more than its buffers.
func TestAccountOfClientsIsEmptyWhenTheyHaveLeft(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		for i := range 20 {
			c := dial()
			c.want("SET k "+strings.Repeat("v", 1+1000*i), "OK")
			c.do("SUBSCRIBE", "a", "b", "c")
			c.raw("*2\r\n$1000\r\n")
			c.nc.Close()
		}
		r.connected(0)
		r.until("the account is empty", func() bool { return r.srv.memory.total.Load() == 0 }) // after the last has left
		if n := r.srv.memory.unauth.Load(); n != 0 {
			t.Errorf("without clients: %d bytes of unauthenticated clients are counted", n)
		}
	})
}

func TestQueuedCallsCountAsInput(t *testing.T) {
	r := newRig(t)
	r.config("client-query-buffer-limit", "1mb")
	c := r.dial()
	c.want("MULTI", "OK")
	c.nc.Write([]byte(strings.Repeat(encode("ECHO", strings.Repeat("x", 200_000)), 10)))
	r.connected(0)
	if n := r.srv.stats.queryLimitDrops.Load(); n != 1 {
		t.Errorf("clients over their query buffer: got %d, want 1", n)
	}
}

// Nothing of a reply over the hard limit is sent, even if the client would read it, and
// the client is gone at once for others. Replies of 16 KiB are under every limit.
func TestReplyOverTheHardLimitIsNotSent(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		admin := r.dial()
		admin.want("SET big "+strings.Repeat("v", 40_000), "OK")
		admin.want("SET small "+strings.Repeat("v", 16_000), "OK")
		r.config("client-output-buffer-limit", "normal 10000 0 0")
		c := dial()
		c.want("CLIENT SETNAME reader", "OK")
		if got := c.do("GET", "small"); len(got) < 16_000 {
			t.Fatalf("GET small: got %.100s", got)
		}
		c.raw(encode("SET", "before", "1") + encode("GET", "big"))
		if rest, _ := io.ReadAll(c.r); len(rest) > 0 {
			t.Errorf("a client over its limit: got %d bytes, %.20q", len(rest), rest)
		}
		if got := admin.do("CLIENT", "LIST"); strings.Contains(got, "name=reader") {
			t.Errorf("CLIENT LIST shows it: %s", got)
		}
		admin.want("GET before", `"1"`)
	})
}

func TestClientListShowsBuffersAsTheyAre(t *testing.T) {
	r := newRig(t)
	admin, c := r.dial(), r.dial()
	c.want("CLIENT SETNAME reader", "OK")
	c.want("SET big "+strings.Repeat("v", 200_000), "OK")
	c.do("GET", "big")
	shows := func(field string) {
		t.Helper()
		line := ""
		r.until(field, func() bool {
			for l := range strings.Lines(admin.do("CLIENT", "LIST")) {
				if strings.Contains(l, "name=reader") {
					line = l
				}
			}
			return strings.Contains(line, " "+field+" ")
		})
	}
	shows("rbs=0")
	c.raw("*3\r\n$3\r\nSET\r\n$5\r\nabcde\r\n$100000\r\n" + strings.Repeat("x", 5000))
	shows("qbuf=5000")
}

// A call that is more than all clients may hold does not run.
func TestCallOfMoreThanAllClientsMayHoldDoesNotRun(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		r.config("maxmemory-clients", "1mb")
		dial().nc.Write([]byte(encode("SET", "k", strings.Repeat("v", 1_100_000))))
		r.until("the client is evicted", func() bool { return r.srv.stats.evictedClients.Load() == 1 })
		r.connected(0)
		r.dial().want("EXISTS k", "(int) 0")
	})
}

func TestLowerLimitHasEvictedWhenConfigSetReturns(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("CLIENT NO-EVICT on", "OK")
	for range 4 {
		c := r.dial()
		c.want("CLIENT SETNAME holder", "OK")
		c.raw("*2\r\n$1000000\r\n" + strings.Repeat("x", 500_000))
	}
	r.settled(2_000_000)
	admin.want("CONFIG SET maxmemory-clients 1200000", "OK")
	if got := strings.Count(admin.do("CLIENT", "LIST"), "name=holder"); got != 2 {
		t.Errorf("clients of 500 KB with a limit of 1.2 MB: got %d, want 2", got)
	}
}
