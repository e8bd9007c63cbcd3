package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test waits before it fails.
const patience = time.Minute

// until waits for other goroutines to bring something about.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// testStore is a journal whose device moves when a test moves it.
type testStore struct {
	mu        sync.Mutex
	moved     *sync.Cond // of mu
	synced    uint64     // guarded by mu
	err       error      // guarded by mu
	throttles atomic.Int64
	rounds    atomic.Int64 // that have begun and not ended
	end       atomic.Pointer[func()]
	idle      atomic.Bool // was the loop at the end of the last round
}

func newTestStore() *testStore {
	s := &testStore{}
	s.moved = sync.NewCond(&s.mu)
	return s
}

func (s *testStore) Throttle() { s.throttles.Add(1) }

func (s *testStore) Confirmed(lsn uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced >= lsn
}

func (s *testStore) WaitDurable(lsn uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.synced < lsn && s.err == nil {
		s.moved.Wait()
	}
	return s.err
}

func (s *testStore) NotifyDurable(lsn uint64, f func(error)) { go func() { f(s.WaitDurable(lsn)) }() }

// atEnd makes EndRound call f.
func (s *testStore) atEnd(f func()) { s.end.Store(&f) }

func (s *testStore) BeginRound() { s.rounds.Add(1) }

func (s *testStore) EndRound(idle bool) {
	s.idle.Store(idle)
	if end := s.end.Load(); end != nil {
		(*end)()
	}
	s.rounds.Add(-1)
}

func (s *testStore) sync(lsn uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced, s.err = max(s.synced, lsn), err
	s.moved.Broadcast()
}

// rig is one loop, where there are loops, and its clients.
type rig struct {
	t       *testing.T
	store   *testStore
	loops   *Loops
	workers sync.WaitGroup
	close   context.CancelFunc
	// call runs one line of a client.
	call func(s *lineSession, line string)
}

func newRig(t *testing.T, call func(s *lineSession, line string)) *rig {
	r := &rig{t: t, store: newTestStore(), call: call}
	ctx, cancel := context.WithCancel(t.Context())
	r.loops = NewLoops(Host{Store: r.store, Closed: ctx, Workers: &r.workers})
	r.close = cancel
	if err := r.loops.Start(1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.close()
		r.store.sync(0, errors.New("closed"))
		r.loops.End()
		r.workers.Wait() // or the test hangs
	})
	return r
}

// lineSession runs lines, and replies when the journal is synced up to lsn.
type lineSession struct {
	r    *rig
	conn Conn

	in      []byte
	out     []byte
	lsn     uint64
	pause   time.Duration // before what is written next
	paused  bool
	closing bool
	fed     atomic.Int64 // lines
	resumes atomic.Int64
	sent    atomic.Int64
	left    atomic.Int64
	failed  atomic.Int64 // calls of SyncFailed
	goesOn  bool         // though the device has failed
	killed  atomic.Bool
	message string // sent when it is resumed
}

func (s *lineSession) Unread() int { return len(s.in) }

func (s *lineSession) Space() []byte {
	s.in = append(make([]byte, 0, 2*len(s.in)+16), s.in...)
	return s.in[len(s.in):cap(s.in)]
}

func (s *lineSession) FeedBorrowed(b []byte) error {
	s.in = append([]byte(nil), b...)
	return s.run()
}

func (s *lineSession) Feed(n int) error {
	s.in = s.in[:len(s.in)+n]
	return s.run()
}

func (s *lineSession) run() error {
	for !s.closing && s.lsn == 0 && !s.paused && s.conn.Unsent() == 0 {
		line, rest, ok := strings.Cut(string(s.in), "\n")
		if !ok {
			break
		}
		s.in = []byte(rest)
		s.fed.Add(1)
		s.r.call(s, line)
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.flush()
}

func (s *lineSession) flush() error {
	if s.lsn > 0 {
		if ok, err := s.conn.Durable(s.lsn); !ok {
			return err
		}
		s.lsn = 0
		s.conn.Throttle()
	}
	if d := s.pause; d > 0 {
		s.pause, s.paused = 0, s.conn.Pause(d)
	}
	if s.paused || len(s.out) == 0 {
		return nil
	}
	b := s.out
	s.out = nil
	_, err := s.conn.Write(b)
	return err
}

func (s *lineSession) Resume() error {
	s.resumes.Add(1)
	s.paused = false
	s.out, s.message = append(s.out, s.message...), ""
	if err := s.flush(); err != nil || s.lsn > 0 {
		return err
	}
	return s.run()
}

func (s *lineSession) InputEnded() error { return io.EOF }
func (s *lineSession) Sent() error       { s.sent.Add(1); return nil }
func (s *lineSession) Closing() bool     { return s.closing }
func (s *lineSession) Killed() bool      { return s.killed.Load() }
func (s *lineSession) Leave()            { s.left.Add(1) }
func (s *lineSession) Awaited() uint64   { return s.lsn }
func (s *lineSession) SyncFailed() bool  { s.failed.Add(1); return !s.goesOn }

// client is the other end of a session.
type client struct {
	t  *testing.T
	nc net.Conn
	r  *bufio.Reader
}

// open serves a connection and returns its client's end.
func (r *rig) open(own, other net.Conn) (*lineSession, *client) {
	r.t.Helper()
	r.workers.Add(1)
	conn, start := r.loops.Open(own)
	s := &lineSession{r: r, conn: conn}
	start(s)
	r.t.Cleanup(func() { other.Close() })
	return s, &client{r.t, other, bufio.NewReader(other)}
}

func (r *rig) pipe() (*lineSession, *client) {
	own, other := Pipe()
	return r.open(own, other)
}

func (r *rig) socket() (*lineSession, *client) {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	other, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	own, err := l.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	return r.open(own, other)
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.nc, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) want(line string) {
	c.t.Helper()
	c.nc.SetReadDeadline(time.Now().Add(patience))
	if got, err := c.r.ReadString('\n'); got != line+"\n" {
		c.t.Fatalf("got %.60q, %v, want %.60q", got, err, line)
	}
}

// ended checks that the connection is closed without another word.
func (c *client) ended() {
	c.t.Helper()
	c.nc.SetReadDeadline(time.Now().Add(patience))
	if b, err := c.r.ReadByte(); !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		c.t.Fatalf("got %q, %v, want the end of the connection", b, err)
	}
}
