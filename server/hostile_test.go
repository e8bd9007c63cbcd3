package server

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// Both transports are tried: a goroutine for a client in the process, and an
// event loop, where there are any, for a socket.
func eachTransport(t *testing.T, test func(t *testing.T, r *rig, dial func() *testClient)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		r := newRig(t)
		test(t, r, r.dial)
	})
	t.Run("socket", func(t *testing.T) {
		r := newRig(t)
		addr := r.loopback()
		test(t, r, func() *testClient { return r.dialTCP(addr) })
	})
}

func TestProtocolErrorIsToldAndEndsTheConnection(t *testing.T) {
	tests := []struct{ name, input, want string }{
		{"largest length", "*1\r\n$9223372036854775807\r\n", "Protocol error: invalid bulk length"},
		{"length beyond 64 bits", "*1\r\n$92233720368547758070\r\n", "Protocol error: invalid bulk length"},
		{"negative length", "*1\r\n$-1\r\n", "Protocol error: invalid bulk length"},
		{"length over proto-max-bulk-len", "*1\r\n$536870913\r\n", "Protocol error: invalid bulk length"},
		{"huge count", "*9000000000000000000\r\n", "Protocol error: invalid multibulk length"},
		{"count is no number", "*x\r\n", "Protocol error: invalid multibulk length"},
		{"no dollar", "*1\r\n:1\r\n", "Protocol error: expected '$', got ':'"},
		{"open quote", "SET k \"v\r\n", "Protocol error: unbalanced quotes in request"},
		{"long count", "*" + strings.Repeat("1", 70000), "Protocol error: too big mbulk count string"},
		{"long line", strings.Repeat("a", 70000), "Protocol error: too big inline request"},
	}
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		for _, tt := range tests {
			c := dial()
			c.raw(tt.input)
			if got, want := c.reply(), "(error) ERR "+tt.want; got != want {
				t.Errorf("%s: got %s, want %s", tt.name, got, want)
			}
			c.ended()
		}
		dial().want("PING", "PONG")
	})
}

func TestCommandsBeforeAProtocolErrorAreAnswered(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c := dial()
		c.raw(encode("SET", "k", "v") + encode("GET", "k") + "*1\r\n$-5\r\n" + encode("DEL", "k"))
		c.next("OK")
		c.next(`"v"`)
		c.next("(error) ERR Protocol error: invalid bulk length")
		c.ended()
		dial().want("GET k", `"v"`)
	})
}

func TestEmptyRequestsAreIgnored(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c := dial()
		c.raw("*0\r\n*-1\r\n\r\n\n  \r\n*-9\r\nPING\r\n*0\r\n" + encode("ECHO", "x") + "*0\r\n")
		c.next("PONG")
		c.next(`"x"`)
		c.quiet()
	})
}

func TestCommandsMayComeByteByByte(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c := dial()
		value := strings.Repeat("v\r\n", 50)
		for _, b := range encode("SET", "k", value) + "GET 'k'\r\n" + encode("STRLEN", "k") {
			c.raw(string(b))
		}
		c.next("OK")
		c.next(fmt.Sprintf("%q", value))
		c.next("(int) 150")
	})
}

// A command in many pieces is scanned once: with the stack or the time growing
// with each piece this test would not end.
func TestACommandOfManyPiecesCostsNoMoreThanItsBytes(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	args := []string{"DEL"}
	for i := range 20000 {
		args = append(args, fmt.Sprintf("key:%d", i))
	}
	b := encode(args...)
	for len(b) > 0 {
		n := min(17, len(b))
		c.raw(b[:n])
		b = b[n:]
	}
	c.next("(int) 0")
}

// What is announced costs nothing until it is sent.
func TestAnnouncedLengthsCostNoMemory(t *testing.T) {
	r := newRig(t)
	var clients []*testClient
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 50 {
		c := r.dial()
		c.raw(encode("PING") + "*2147483647\r\n$536870912\r\nabc")
		c.next("PONG")
		clients = append(clients, c)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 10<<20 {
		t.Errorf("50 clients that announced 512 MiB: heap grew by %d bytes", grown)
	}
	runtime.KeepAlive(clients)
}

func TestLimitsAreSmallBeforeAuth(t *testing.T) {
	r := newRig(t)
	r.dial().want("CONFIG SET requirepass secret", "OK")
	tests := []struct{ name, input, want string }{
		{"eleven arguments", "*11\r\n", "(error) ERR Protocol error: unauthenticated multibulk length"},
		{"a long argument", "*1\r\n$16385\r\n", "(error) ERR Protocol error: unauthenticated bulk length"},
	}
	for _, tt := range tests {
		c := r.dial()
		c.raw(encode("GET", "k") + tt.input)
		c.next("(error) NOAUTH Authentication required.")
		if got := c.reply(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		c.ended()
	}
	// In one packet, the limits go with the outcome of AUTH.
	c := r.dial()
	c.raw(encode("AUTH", "secret") + encode("SET", "k", strings.Repeat("v", 20000)))
	c.next("OK")
	c.next("OK")
	c = r.dial()
	c.raw(encode("AUTH", "wrong") + "*2\r\n$16385\r\n")
	c.next("(error) WRONGPASS invalid username-password pair or user is disabled.")
	c.next("(error) ERR Protocol error: unauthenticated bulk length")
}

func TestClientFromBeforeThePasswordStaysIn(t *testing.T) {
	r := newRig(t)
	early := r.dial()
	r.dial().want("CONFIG SET requirepass secret", "OK")
	early.want("SET k v", "OK")
	late := r.dial()
	late.want("GET k", "(error) NOAUTH Authentication required.")
	early.want("CONFIG SET requirepass secret2", "OK")
	late.want("AUTH secret", "(error) WRONGPASS invalid username-password pair or user is disabled.")
	late.want("AUTH secret2", "OK")
	late.want("GET k", `"v"`)
	// Without a password everybody is in, with the limits of those who are.
	other := r.dial()
	early.raw(encode("CONFIG", "SET", "requirepass", ""))
	early.next("OK")
	other.want("PING", "PONG")
	other.send("SET", "k", strings.Repeat("v", 20000))
	other.next("OK")
}

func TestQueryBufferLimitEndsTheClient(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		dial().want("CONFIG SET client-query-buffer-limit 1mb", "OK")
		c := dial()
		c.raw("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3000000\r\n")
		go io.Copy(c.nc, strings.NewReader(strings.Repeat("x", 2<<20))) // ends with the connection
		if s, err := c.read(); err == nil {
			t.Errorf("got %s, want the end of the connection", s)
		}
		dial().want("EXISTS k", "(int) 0")
	})
}

func TestBlockedClientMaySendNoMoreThanTheQueryBuffer(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		dial().want("CONFIG SET client-query-buffer-limit 1mb", "OK")
		c := dial()
		c.send("BLPOP", "q", "0")
		r.blocked(1)
		go io.Copy(c.nc, strings.NewReader(strings.Repeat(encode("PING"), 1<<17))) // ends with the connection
		r.blocked(0)
		dial().want("RPUSH q a", "(int) 1")
		dial().want("LLEN q", "(int) 1")
	})
}

func TestMaxBulkHoldsForClientsThatAreThereAlready(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	r.dial().want("CONFIG SET proto-max-bulk-len 1mb", "OK")
	c.raw("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048577\r\n")
	c.next("(error) ERR Protocol error: invalid bulk length")
	c.ended()
}

func TestLongPipelineIsAnsweredInOrder(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c := dial()
		const n = 20000
		var b strings.Builder
		for i := range n {
			b.WriteString(encode("ECHO", fmt.Sprint(i)))
		}
		go io.WriteString(c.nc, b.String()) // ends when all is read
		for i := range n {
			c.next(fmt.Sprintf("%q", fmt.Sprint(i)))
		}
	})
}

// A client that asks for much and reads nothing holds no more than what one
// flush answers, and what the sockets hold.
func TestPipelineThatIsNotReadDoesNotPileUp(t *testing.T) {
	r := newRig(t)
	addr := r.loopback()
	r.dial().do("SET", "k", strings.Repeat("v", 100<<10))
	c := r.dialTCP(addr)
	s := r.session(c)
	sent := make(chan error, 1) // the one answer of the sender
	go func() {
		_, err := io.WriteString(c.nc, strings.Repeat(encode("GET", "k"), 1_000_000))
		sent <- err
	}()
	// 100 GB are asked for. The server stops when the socket is full: it takes
	// no more input, so that the sender is stuck too.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	other := r.dialTCP(addr)
	for same, last := 0, int64(-1); same < 100; same++ {
		other.quiet()
		now := r.srv.stats.calls("get")
		if now != last {
			same, last = 0, now
		}
		if now > 1000 {
			t.Fatalf("%d replies of 100 KB were made for a client that reads nothing", now)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("heap grew by %d bytes", grown)
	}
	s.conn.HangUp()
	c.nc.Close()
	<-sent
}

func TestTwoThousandCommandsInOneReadAreAnsweredInOneWrite(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.raw(strings.Repeat(encode("PING"), 2000))
	// Nothing was lost: 2000 replies of 7 bytes.
	if _, err := io.ReadFull(c.r, make([]byte, 14000)); err != nil {
		t.Fatal(err)
	}
	c.quiet()
}

func TestBuffersOfALargeArgumentAreGivenBack(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		c := dial()
		c.do("ECHO", "x")
		c.send("PUBLISH", "ch", strings.Repeat("m", 20<<20))
		c.next("(int) 0")
		c.quiet()
		r.session(c)
		var m runtime.MemStats
		r.until("the buffer is collected", func() bool {
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc < 15<<20
		})
	})
}
