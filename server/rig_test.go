package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
)

// rig is a server in memory whose time stands still.
type rig struct {
	t     testing.TB
	srv   *Server
	clock *testClock
	log   *testLog
}

// onDisk is a change of newRig: the data is in a directory.
func onDisk(dir string) func(*Options) {
	return func(o *Options) { o.InMemory, o.Dir = false, dir }
}

// newRig opens one; change may set other options.
func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, clock: newTestClock(), log: &testLog{}}
	o := Options{Config: testConfig(t), InMemory: true, Seed: 1, Clock: r.clock, Log: slog.New(r.log)}
	for _, f := range change {
		f(&o)
	}
	srv, err := Open(context.Background(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	r.srv = srv
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// testConfig is the configuration of most tests: the defaults, and DEBUG for
// everybody. Arguments are those of a command line.
func testConfig(t testing.TB, args ...string) *conf.Config {
	t.Helper()
	config, err := conf.Load(append([]string{"--enable-debug-command", "yes"}, args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// testLog keeps what was logged.
type testLog struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (l *testLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *testLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *testLog) WithGroup(string) slog.Handler            { return l }

func (l *testLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Message)
	return nil
}

func (l *testLog) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line string) bool { return strings.Contains(line, part) })
}

// all is what there is now: Pebble logs from goroutines of its own.
func (l *testLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

func (l *testLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = nil
}

// loopback serves a TCP socket and returns its address.
func (r *rig) loopback() string {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	served := make(chan error, 1) // the one answer of Serve
	go func() { served <- r.srv.Serve(l) }()
	r.t.Cleanup(func() {
		l.Close()
		if err := <-served; !errors.Is(err, ErrClosed) {
			r.t.Errorf("Serve: got %v, want %v", err, ErrClosed)
		}
	})
	return l.Addr().String()
}

// testClient is one client, in the process or over a socket.
type testClient struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
}

// dial connects a client inside the process.
func (r *rig) dial() *testClient {
	r.t.Helper()
	nc, err := r.srv.Dial()
	if err != nil {
		r.t.Fatalf("Dial: %v", err)
	}
	return newTestClient(r.t, nc)
}

// dialTCP connects a client over a socket with small buffers, so that a stuck
// reader is noticed soon.
func (r *rig) dialTCP(addr string) *testClient {
	r.t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		r.t.Fatal(err)
	}
	nc.(*net.TCPConn).SetReadBuffer(16 << 10)
	return newTestClient(r.t, nc)
}

func newTestClient(t testing.TB, nc net.Conn) *testClient {
	t.Cleanup(func() { nc.Close() })
	return &testClient{t: t, nc: nc, r: bufio.NewReader(nc)}
}

// encode writes a call as an array of bulk strings.
func encode(args ...string) string {
	r := commands.NewReply(nil, 2)
	r.Array(len(args))
	for _, a := range args {
		r.BulkString(a)
	}
	return string(r.Encoded())
}

// send writes a call, one word for each argument.
func (c *testClient) send(args ...string) { c.raw(encode(args...)) }

// raw writes bytes as they are.
func (c *testClient) raw(b string) {
	c.t.Helper()
	if _, err := io.WriteString(c.nc, b); err != nil {
		c.t.Fatalf("write %.60q: %v", b, err)
	}
}

// reply reads one reply in the notation of the scripts.
func (c *testClient) reply() string {
	c.t.Helper()
	s, err := c.read()
	if err != nil {
		c.t.Fatalf("read a reply: %v", err)
	}
	return s
}

func (c *testClient) read() (string, error) {
	if c.r.Buffered() == 0 {
		c.nc.SetReadDeadline(time.Now().Add(patience))
	}
	n, err := readNode(c.r)
	if err != nil {
		return "", err
	}
	return n.String(), nil
}

// do makes a call and reads its reply.
func (c *testClient) do(args ...string) string {
	c.t.Helper()
	c.send(args...)
	return c.reply()
}

// want makes a call, whose words are separated by blanks, and compares.
func (c *testClient) want(call, want string) {
	c.t.Helper()
	if got := c.do(strings.Fields(call)...); got != want {
		c.t.Fatalf("%s: got %s, want %s", call, got, want)
	}
}

// next compares the next reply.
func (c *testClient) next(want string) {
	c.t.Helper()
	if got := c.reply(); got != want {
		c.t.Fatalf("got %s, want %s", got, want)
	}
}

// ended checks that the server closes the connection without another word.
func (c *testClient) ended() {
	c.t.Helper()
	if s, err := c.read(); err == nil {
		c.t.Fatalf("got %s, want the end of the connection", s)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatal("the connection is still open")
	}
}

// quiet checks that nothing more is to come: the next reply is PONG.
func (c *testClient) quiet() {
	c.t.Helper()
	c.want("PING", "PONG")
}

// id is the client's number.
func (c *testClient) id() string {
	c.t.Helper()
	var n int64
	if _, err := fmt.Sscanf(c.do("CLIENT", "ID"), "(int) %d", &n); err != nil {
		c.t.Fatalf("CLIENT ID: %v", err)
	}
	return fmt.Sprint(n)
}

// hello3 turns to RESP3.
func (c *testClient) hello3() *testClient {
	c.t.Helper()
	if got := c.do("HELLO", "3"); !strings.HasPrefix(got, "{") {
		c.t.Fatalf("HELLO 3: got %s, want a map", got)
	}
	return c
}

// until waits for other goroutines to bring something about.
func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain until %s", what)
		}
	}
}

// blocked waits until n clients wait.
func (r *rig) blocked(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d clients wait", n), func() bool { return r.srv.blocked.Count() == n })
	// Who parks sets the timer before it gives its locks back.
	var all persistence.Shards
	all.AddAll()
	tx := r.srv.store.NewTx()
	tx.Lock(&all, r.clock.Now().UnixMilli())
	tx.Unlock()
}

// connected waits until there are n clients.
func (r *rig) connected(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d clients are there", n), func() bool { return r.srv.clients.count() == n })
}

// session is the server's side of a client.
func (r *rig) session(c *testClient) *session {
	r.t.Helper()
	var id uint64
	fmt.Sscan(c.id(), &id)
	return r.srv.clients.find(id)
}

// closeWrite ends the client's sending and leaves it reading.
func (c *testClient) closeWrite() {
	c.nc.(interface{ CloseWrite() error }).CloseWrite()
}

// calls counts the calls of a command that ran.
func (st *stats) calls(name string) int64 {
	for _, c := range st.table.All() {
		if c.FullName() == name {
			return st.commands[c.ID()].calls.Load()
		}
	}
	return -1
}
