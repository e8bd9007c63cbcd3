// Package rig starts vigil servers inside tests.
package rig

import (
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// Server is a vigil server on a loopback port, with everything in memory.
type Server struct {
	Addr   string
	srv    *server.Server
	served chan error
}

// Start runs a server on any free port and stops it when the test ends.
func Start(t testing.TB, opts server.Options) *Server {
	t.Helper()
	return StartAt(t, "127.0.0.1:0", opts)
}

// StartAt is Start on an address: that of a server that was stopped.
func StartAt(t testing.TB, addr string, opts server.Options) *Server {
	t.Helper()
	opts.InMemory = true
	srv, err := server.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		srv.Close()
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), srv: srv, served: make(chan error, 1)}
	go func() { s.served <- srv.Serve(l) }()
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// Stop ends the server and its connections. Stopping twice does no harm.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.srv == nil {
		return
	}
	if err := s.srv.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-s.served; !errors.Is(err, server.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	s.srv = nil
}

// Client returns a client of the server that the test closes.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	return c
}
