package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/internal/door"
)

// Server is a server of a test. Its methods may be called by any goroutine of the test, except those that
// fail it: see [testing.TB.Fatal].
type Server struct {
	t     testing.TB
	srv   *server.Server
	clock *clock

	mu     sync.Mutex
	own    *client      // of the methods about keys, nil until one is called; guarded by mu
	socket net.Listener // nil until Addr is called; guarded by mu
}

// closeTime is how long the end of a server may take.
const closeTime = 30 * time.Second

// Run starts a server that ends with the test. Options may be changed before it starts: it has a password
// then, say, or evicts keys. Its clock begins with the time of the machine, in whole seconds.
func Run(t testing.TB, change ...func(*server.Options)) *Server {
	t.Helper()
	s, err := Start(change...)
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s.t = t
	t.Cleanup(s.Close)
	return s
}

// Start is Run without a test, for TestMain and for examples. The caller closes the server, and a method that
// cannot do its work panics.
func Start(change ...func(*server.Options)) (*Server, error) {
	s := &Server{t: noTest{}, clock: newClock(time.Now().Truncate(time.Second))}
	o := server.Options{InMemory: true, Clock: s.clock}
	for _, f := range change {
		f(&o)
	}
	if o.Clock != server.Clock(s.clock) {
		return nil, errors.New("the clock of a server is moved by FastForward: Options.Clock cannot be set")
	}
	srv, err := server.Open(context.Background(), o)
	if err != nil {
		return nil, err
	}
	s.srv = srv
	return s, nil
}

// Server is the server itself, for what this package has no method for.
func (s *Server) Server() *server.Server { return s.srv }

// Close ends the server before the test ends: connections are closed, and new ones are refused.
func (s *Server) Close() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := s.srv.Close(ctx); err != nil {
		s.fail("close the server: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own != nil {
		s.own.close()
	}
	if s.socket != nil {
		s.socket.Close() // which the server may not have seen yet
	}
}

// Addr is an address on the loopback interface, such as "127.0.0.1:39213", at which the server listens from
// the first call on.
func (s *Server) Addr() string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.socket == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.fail("listen: %v", err)
			return ""
		}
		s.socket = l
		go s.srv.Serve(l) // ends with the server, which closes l
	}
	return s.socket.Addr().String()
}

// Dial connects a client without a socket.
func (s *Server) Dial() (net.Conn, error) { return s.srv.Dial() }

// Dialer connects a client without a socket, for clients that let a program connect them, such as the Dialer of
// the options of go-redis. Network and address have no meaning.
func (s *Server) Dialer(ctx context.Context, _, _ string) (net.Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.srv.Dial()
}

// Time is the time of the server.
func (s *Server) Time() time.Time { return s.clock.Now() }

// FastForward moves the clock of the server by d. When it returns, keys are expired whose time is over,
// and the calls are answered whose timeout has passed; keyspace events of the former have been published.
func (s *Server) FastForward(d time.Duration) {
	s.t.Helper()
	if d < 0 {
		s.fail("FastForward(%v): the clock is not set back", d)
		return
	}
	s.clock.set(s.clock.Now().Add(d))
}

// AwaitBlocked waits until n clients wait in calls that block, such as BLPOP, or longer: to be sure of
// that before FastForward or a push ends the wait.
func (s *Server) AwaitBlocked(n int) {
	s.t.Helper()
	for end := time.Now().Add(answerTime); ; time.Sleep(time.Millisecond) {
		v := s.infoNumber("clients", "blocked_clients")
		if v >= n {
			return
		}
		if time.Now().After(end) {
			s.fail("%d clients wait in calls that block, not %d", v, n)
			return
		}
	}
}

func (s *Server) password() string { return door.Of(s.srv).Settings().RequirePass }

// fail fails the test and ends it.
func (s *Server) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("servertest: "+format, args...)
}

// noTest is in place of a test where there is none.
type noTest struct{ testing.TB }

func (noTest) Helper() {}

func (noTest) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (noTest) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
