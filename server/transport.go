package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// conn is the transport of a client that no event loop can serve: a goroutine
// that reads, lets the session run, and writes. It is the only one that touches
// the session. Others wake it by ending its read with a deadline in the past, so
// a client costs one goroutine, whether it is idle, subscribed or blocked.
type conn struct {
	nc net.Conn
	s  *session

	once sync.Once
}

// longAgo is a read deadline that ends a read at once.
var longAgo = time.Unix(1, 0)

func (c *conn) wake() { c.nc.SetReadDeadline(longAgo) }

func (c *conn) hangUp() { c.once.Do(func() { c.nc.Close() }) }

func (c *conn) write(b []byte) (kept bool, err error) {
	_, err = c.nc.Write(b)
	return false, err
}

// unsent is 0: a write takes everything, or blocks.
func (c *conn) unsent() int { return 0 }

// durable waits.
func (c *conn) durable(lsn uint64) (bool, error) {
	err := c.s.srv.store.WaitDurable(lsn)
	return err == nil, err
}

// goroutineTransport makes the transport, and what starts it.
func (srv *Server) goroutineTransport(nc net.Conn) (endpoint, func(*session)) {
	c := &conn{nc: nc}
	return c, func(s *session) {
		c.s = s
		// Ends when the client leaves or Close hangs up.
		go func() {
			defer srv.workers.Done()
			c.serve()
		}()
	}
}

// serve runs the client until it ends.
func (c *conn) serve() {
	s := c.s
	defer func() {
		s.leave()
		c.hangUp()
	}()
	for !s.closing {
		n, err := c.nc.Read(s.space())
		if n > 0 {
			if s.feed(n) != nil {
				return
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			// The deadline is lifted before the outbox is looked at, so that a
			// wake that comes after the look ends the next read.
			c.nc.SetReadDeadline(time.Time{})
			if s.resume() != nil {
				return
			}
		case s.inputEnded() != nil:
			return
		}
	}
}
