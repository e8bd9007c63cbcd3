package server

import (
	"net"
	"runtime"
)

// pollingAPI is what INFO says of how clients are served.
const pollingAPI = "epoll"

// loops are the event loops of the sockets. A client stays with one of them.
type loops struct {
	all  []*loop // guarded by Server.mu until Close
	next int     // guarded by Server.mu
}

// startLoops starts n loops with the first listener, or as many as half the
// processors if n is 0: the other half is for the store's work and for the
// kernel's. A server without listeners has none. srv.mu is held.
func (srv *Server) startLoops(n int) error {
	if len(srv.loops.all) > 0 {
		return nil
	}
	if n <= 0 {
		n = max(1, runtime.GOMAXPROCS(0)/2)
	}
	for range n {
		l, err := newLoop(srv)
		if err != nil {
			return err
		}
		srv.loops.all = append(srv.loops.all, l)
		srv.workers.Add(3)
		// They end when the server is closed and the loop's clients are gone.
		go func() { defer srv.workers.Done(); l.run() }()
		go func() { defer srv.workers.Done(); l.wait() }()
		go func() { defer srv.workers.Done(); l.watch() }()
	}
	return nil
}

// endLoops lets the loops see that the server is closed.
func (srv *Server) endLoops() {
	for _, l := range srv.loops.all {
		l.rouse()
	}
}

// transport makes the transport of a connection: a place in an event loop for
// a socket, a goroutine of its own for anything else.
func (srv *Server) transport(nc net.Conn) (endpoint, func(*session)) {
	if l := srv.nextLoop(); l != nil {
		if c, ok := l.adopt(nc); ok {
			return c, func(s *session) { c.s, s.written = s, l.noteWrite; l.start(c) }
		}
	}
	return srv.goroutineTransport(nc)
}

// nextLoop is the loop for the next client, nil if there are none.
func (srv *Server) nextLoop() *loop {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if len(srv.loops.all) == 0 {
		return nil
	}
	l := srv.loops.all[srv.loops.next%len(srv.loops.all)]
	srv.loops.next++
	return l
}
