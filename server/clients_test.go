package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

func TestPauseHoldsWritesBack(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		admin, c, d := dial(), dial(), dial()
		admin.want("SET k v", "OK")
		admin.want("CLIENT PAUSE 1000 WRITE", "OK")
		c.raw(encode("GET", "k") + "SET k \"a b\"\r\n" + encode("GET", "k"))
		c.next(`"v"`)
		d.raw(encode("PUBLISH", "ch", "m") + encode("PING"))
		r.until("two clients are held", func() bool { return r.srv.pause.Count() == 2 })
		// What comes behind a held call waits with it, byte by byte too.
		for _, b := range encode("ECHO", "x") {
			c.raw(string(b))
		}
		admin.want("GET k", `"v"`)
		r.clock.advance(999 * time.Millisecond)
		admin.want("GET k", `"v"`)
		r.clock.advance(time.Millisecond)
		c.next("OK")
		c.next(`"a b"`)
		c.next(`"x"`)
		d.next("(int) 0")
		d.next("PONG")
	})
}

func TestPauseOfAllHoldsEverythingBack(t *testing.T) {
	r := newRig(t)
	admin, c := r.dial(), r.dial()
	admin.want("CLIENT PAUSE 1000", "OK")
	c.send("GET", "k")
	// As in Redis, not even UNPAUSE runs.
	admin.send("CLIENT", "UNPAUSE")
	r.until("both are held", func() bool { return r.srv.pause.Count() == 2 })
	r.clock.advance(time.Second)
	c.next("(nil)")
	admin.next("OK")
	// A client that leaves is not waited for, nor is what it wanted done.
	admin.want("CLIENT PAUSE 100000 WRITE", "OK")
	c.send("SET", "k", "v")
	r.until("the client is held", func() bool { return r.srv.pause.Count() == 1 })
	c.nc.Close()
	r.until("nobody is held", func() bool { return r.srv.pause.Count() == 0 })
	admin.want("CLIENT UNPAUSE", "OK")
	admin.want("EXISTS k", "(int) 0")
}

func TestPauseHoldsExecOnlyIfItWrites(t *testing.T) {
	r := newRig(t)
	admin, c, d := r.dial(), r.dial(), r.dial()
	admin.want("CLIENT PAUSE 100000 WRITE", "OK")
	if got := c.exec("GET k"); got != "[(nil)]" {
		t.Errorf("EXEC of a read: got %s", got)
	}
	d.raw(encode("MULTI") + encode("SET", "k", "v") + encode("EXEC"))
	d.next("OK")
	d.next("QUEUED")
	r.until("EXEC is held", func() bool { return r.srv.pause.Count() == 1 })
	admin.want("EXISTS k", "(int) 0")
	admin.want("CLIENT UNPAUSE", "OK")
	d.next("[OK]")
}

func TestPauseKeepsExpiredKeys(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("SET k v PX 10", "OK")
	admin.want("CLIENT PAUSE 2000 WRITE", "OK")
	r.clock.advance(time.Second)
	if n := r.srv.stats.expired.Load(); n != 0 {
		t.Errorf("expired in the background during the pause: got %d, want 0", n)
	}
	r.clock.advance(2 * time.Second)
	if n := r.srv.stats.expired.Load(); n != 1 {
		t.Errorf("expired in the background after the pause: got %d, want 1", n)
	}
}

func TestRepliesAreLeftOutAsAsked(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.raw(encode("CLIENT", "REPLY", "OFF") + encode("SET", "k", "1") + encode("NOSUCH") + encode("GET") +
		encode("CLIENT", "REPLY", "ON"))
	c.next("OK")
	c.raw(encode("CLIENT", "REPLY", "SKIP") + encode("INCR", "k") + encode("INCR", "k"))
	c.next("(int) 3")
	c.raw(encode("CLIENT", "REPLY", "SKIP") + encode("CLIENT", "REPLY", "SKIP") + encode("INCR", "k") + encode("ECHO", "x"))
	c.next(`"x"`)
	c.raw(encode("CLIENT", "REPLY", "OFF") + encode("MULTI") + encode("INCR", "k") + encode("EXEC") + encode("CLIENT", "REPLY", "ON"))
	c.next("OK")
	c.want("GET k", `"5"`)
}

func TestMessagesAreNoReplies(t *testing.T) {
	r := newRig(t)
	c, p := r.dial().hello3(), r.dial()
	c.raw(encode("CLIENT", "REPLY", "OFF") + encode("SUBSCRIBE", "ch"))
	c.next(`>["subscribe" "ch" (int) 1]`)
	p.want("PUBLISH ch m", "(int) 1")
	c.next(`>["message" "ch" "m"]`)
	c.raw(encode("PUBLISH", "ch", "own") + encode("UNSUBSCRIBE", "ch") + encode("CLIENT", "REPLY", "ON"))
	var got []string
	for range 3 {
		got = append(got, c.reply())
	}
	if all := strings.Join(got, " "); !strings.Contains(all, `>["message" "ch" "own"] >["unsubscribe" "ch" (int) 0]`) {
		t.Errorf("got %s", all)
	}
}

func TestClientOverTheLimitIsTurnedAway(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		a := dial()
		a.want("CONFIG SET maxclients 3", "OK")
		b, c := dial(), dial()
		b.quiet()
		c.quiet()
		d := dial()
		d.next("(error) ERR max number of clients reached")
		d.ended()
		a.quiet()
		c.nc.Close()
		r.connected(2)
		dial().quiet()
		if n := r.srv.stats.rejectedClients.Load(); n != 1 {
			t.Errorf("rejected: got %d, want 1", n)
		}
	})
}

func TestIdleClientIsDroppedUnlessItMayBeSilent(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		admin, idle, sub, mon, waits := dial(), dial(), dial(), dial(), dial()
		admin.want("CONFIG SET timeout 10", "OK")
		sub.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
		mon.want("MONITOR", "OK")
		waits.send("BLPOP", "q", "0")
		r.blocked(1)
		idle.quiet()
		r.clock.advance(9 * time.Second)
		admin.quiet()
		idle.quiet()
		r.clock.advance(9 * time.Second)
		admin.quiet()
		r.clock.advance(9 * time.Second)
		idle.ended()
		admin.want("RPUSH q a", "(int) 1")
		waits.next(`["q" "a"]`)
		r.connected(4)
	})
}

func TestKillReachesEveryKindOfClient(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		admin, idle, sub, multi := dial(), dial(), dial(), dial()
		idle.quiet()
		sub.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
		multi.want("WATCH k", "OK")
		multi.want("MULTI", "OK")
		admin.want("CLIENT KILL TYPE pubsub", "(int) 1")
		sub.ended()
		admin.want("CLIENT KILL SKIPME yes TYPE normal", "(int) 2")
		idle.ended()
		multi.ended()
		r.connected(1)
		admin.want("PUBLISH ch m", "(int) 0")
		r.until("nothing is watched", func() bool { return !r.srv.watches.any() })
		// The caller gets its answer first.
		admin.want("CLIENT KILL SKIPME no TYPE normal", "(int) 1")
		admin.ended()
	})
}

func TestQuitIsAnsweredAndWhatFollowsIsNot(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c := dial()
		c.raw(encode("SET", "k", "v") + encode("QUIT") + encode("DEL", "k"))
		c.next("OK")
		c.next("OK")
		c.ended()
		dial().want("GET k", `"v"`)
	})
}

// crash makes a command of this server panic after it did its work.
func (r *rig) crash(name string) {
	r.srv.mu.Lock() // accept takes it too: clients that come from now on see the change
	defer r.srv.mu.Unlock()
	cmd, _ := r.srv.table.Lookup([][]byte{[]byte(name)})
	run := cmd.Run
	cmd.Run = func(c *commands.Ctx) error {
		err := run(c)
		if c.Parked() == nil {
			panic("handler of " + name)
		}
		return err
	}
}

func TestPanicCostsItsClientAlone(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		r.crash("LPUSH")
		r.crash("GET")
		other, waits := dial(), dial()
		waits.send("BLPOP", "q", "0")
		r.blocked(1)
		for _, call := range []string{"GET k", "LPUSH k a", "LPUSH q b"} {
			c := dial()
			c.raw(encode("ECHO", "before") + encode(strings.Fields(call)...) + encode("SET", "behind", "1"))
			c.next(`"before"`)
			c.next("(error) ERR internal error")
			c.ended()
			if !r.log.has("panic in client") {
				t.Errorf("%s: the panic is not logged", call)
			}
		}
		// Nothing is left of what it did, and its locks are free.
		other.want("DBSIZE", "(int) 0")
		other.want("RPUSH q c", "(int) 1")
		waits.next(`["q" "c"]`)
		r.connected(2)
	})
}

func TestPanicOfAParkedCallCostsTheClientThatWaits(t *testing.T) {
	r := newRig(t)
	waits, behind, p := r.dial(), r.dial(), r.dial()
	waits.send("BLPOP", "q", "0")
	r.blocked(1)
	behind.send("BRPOP", "q", "0")
	r.blocked(2)
	cmd, _ := r.srv.table.Lookup([][]byte{[]byte("BLPOP")})
	cmd.Run = func(*commands.Ctx) error { panic("handler of BLPOP") }
	p.want("RPUSH q a b", "(int) 2")
	waits.ended()
	behind.next(`["q" "b"]`)
	r.blocked(0)
	p.want("LRANGE q 0 -1", `["a"]`)
}

func TestCloseDropsClientsAndLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		clock := newTestClock()
		srv, err := Open(context.Background(), Options{InMemory: true, Seed: 1, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, srv: srv, clock: clock}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1) // the one answer of Serve
		go func() { served <- srv.Serve(l) }()
		var clients []*testClient
		for range 20 {
			clients = append(clients, r.dial(), r.dialTCP(l.Addr().String()))
		}
		for i, c := range clients {
			switch i / 10 {
			case 0:
				c.send("BLPOP", "q", "0")
			case 1:
				c.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
			case 2:
				c.quiet()
			}
		}
		r.blocked(10)
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		<-served
		for _, c := range clients {
			c.ended()
			c.nc.Close()
		}
		if _, err := srv.Dial(); err == nil {
			t.Error("Dial after Close: no error")
		}
	}
	end := time.Now().Add(patience)
	for n := runtime.NumGoroutine(); n > before; n = runtime.NumGoroutine() {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", n, before, buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

// Clients come while the server closes: Close ends all the same.
func TestCloseIsNotHeldUpByClientsThatCome(t *testing.T) {
	for range 50 {
		srv, err := Open(context.Background(), Options{InMemory: true, Seed: 1, Clock: newTestClock()})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{}) // closed when nobody is let in any more
		go func() {
			defer close(done)
			for {
				nc, err := srv.Dial()
				if err != nil {
					return
				}
				io.WriteString(nc, encode("PING"))
			}
		}()
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-done
	}
}

func TestSlowlogKeepsWhatWasSlow(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("CONFIG SET slowlog-log-slower-than 5000 slowlog-max-len 3", "OK")
	get, _ := r.srv.table.Lookup([][]byte{[]byte("GET")})
	run := get.Run
	get.Run = func(ctx *commands.Ctx) error {
		r.clock.advance(7 * time.Millisecond)
		return run(ctx)
	}
	c.want("CLIENT SETNAME me", "OK")
	at := r.clock.Now().Unix()
	c.want("SET k v", "OK")
	long := strings.Repeat("x", 200)
	c.do("GET", long)
	want := fmt.Sprintf(`[[(int) 0 (int) %d (int) 7000 ["GET" "%s... (72 more bytes)"] "127.0.0.1:0" "me"]]`, at, long[:128])
	c.want("SLOWLOG GET", want)
	if got := c.exec("SET k v", "GET k"); got != `[OK "v"]` {
		t.Errorf("EXEC: got %s", got)
	}
	c.want("SLOWLOG LEN", "(int) 2")
	for range 5 {
		c.want("GET k", `"v"`)
	}
	c.want("SLOWLOG LEN", "(int) 3")
	c.want("SLOWLOG RESET", "OK")
	c.want("SLOWLOG LEN", "(int) 0")
	c.want("CONFIG SET slowlog-log-slower-than -1", "OK")
	c.want("GET k", `"v"`)
	c.want("SLOWLOG LEN", "(int) 0")
}

func TestProtocol3IsSpokenFromItsOwnReplyOn(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("HSET h f v", "(int) 1")
	c.want("HGETALL h", `["f" "v"]`)
	c.want("HELLO 4", "(error) NOPROTO unsupported protocol version")
	c.want("GET none", "(nil)")
	c.raw(encode("HELLO", "3") + encode("HGETALL", "h") + encode("GET", "none") + encode("BLPOP", "q", "1") + encode("HELLO", "2") + encode("HGETALL", "h"))
	if got := c.reply(); !strings.Contains(got, `"proto": (int) 3`) {
		t.Errorf("HELLO 3: got %s", got)
	}
	c.next(`{"f": "v"}`)
	if line, _ := c.r.ReadString('\n'); line != "_\r\n" {
		t.Errorf("GET none: got %q, want the null of RESP3", line)
	}
	r.blocked(1)
	r.clock.advance(time.Second)
	if line, _ := c.r.ReadString('\n'); line != "_\r\n" {
		t.Errorf("BLPOP: got %q, want the null of RESP3", line)
	}
	if got := c.reply(); !strings.HasPrefix(got, `["server" "redis"`) {
		t.Errorf("HELLO 2: got %s", got)
	}
	c.next(`["f" "v"]`)
}
