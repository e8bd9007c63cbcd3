// Package rig starts vigil servers inside tests.
package rig

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// Server is a vigil server on a socket, with everything in memory. Sockets in
// folders of their own cannot be taken by another process while the server is
// down, as ports can.
type Server struct {
	Addr   string
	srv    *server.Server
	served chan error
}

// Start runs a server and stops it when the test ends.
func Start(t testing.TB, opts server.Options) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "vigil") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Addr: filepath.Join(dir, "s")}
	s.Restart(t, opts)
	t.Cleanup(func() { s.Stop(t) })
	return s
}

// Restart runs a new, empty server in the place of one that was stopped.
func (s *Server) Restart(t testing.TB, opts server.Options) {
	t.Helper()
	opts.InMemory = true
	srv, err := server.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", s.Addr)
	if err != nil {
		srv.Close(context.Background())
		t.Fatal(err)
	}
	s.srv, s.served = srv, make(chan error, 1)
	go func() { s.served <- srv.Serve(l) }()
}

// Stop ends the server and its connections. Stopping twice does no harm.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.srv == nil {
		return
	}
	if err := s.srv.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-s.served; !errors.Is(err, server.ErrClosed) {
		t.Errorf("serve: %v", err)
	}
	s.srv = nil
	os.Remove(s.Addr)
}

// Client returns a client of the server that the test closes.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Addr, MaxRetries: -1})
	t.Cleanup(func() { c.Close() })
	return c
}
