package transport

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// goroutineConn is the transport of a client that no event loop can serve: a
// goroutine that reads, lets the session run, and writes. It is the only one that
// touches the session. Others wake it by ending its read with a deadline in the
// past, so that a client costs one goroutine, whether it is idle, subscribed or
// blocked.
type goroutineConn struct {
	host Host
	nc   net.Conn
	s    Session

	cycles *cycles // of all such clients

	once sync.Once
}

func (c *goroutineConn) Wake() { c.nc.SetReadDeadline(longAgo) }

func (c *goroutineConn) HangUp() { c.once.Do(func() { cut(c.nc) }) }

func (c *goroutineConn) Write(b []byte) (kept bool, err error) {
	_, err = c.nc.Write(b)
	return false, err
}

// Unsent is 0: a write takes everything, or blocks.
func (c *goroutineConn) Unsent() int { return 0 }

// Durable blocks.
func (c *goroutineConn) Durable(lsn uint64) (bool, error) {
	err := c.host.Store.WaitDurable(lsn)
	return err == nil, err
}

// Pause blocks, unless the server closes.
func (c *goroutineConn) Pause(d time.Duration) (stops bool) {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-c.host.Closed.Done():
	}
	return false
}

func (c *goroutineConn) Throttle() { c.host.Store.Throttle() }

// serve runs the client until it ends.
func (c *goroutineConn) serve() {
	s := c.s
	defer func() {
		s.Leave()
		c.nc.Close()
		c.HangUp()
	}()
	for !s.Closing() {
		n, err := c.nc.Read(s.Space())
		began := sinceEpoch()
		goesOn := c.turn(n, err)
		c.cycles.done(began)
		if !goesOn {
			return
		}
	}
}

// turn lets the session run after a read. It reports false if the client has ended.
func (c *goroutineConn) turn(n int, err error) bool {
	if n > 0 && c.s.Feed(n) != nil {
		return false
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, os.ErrDeadlineExceeded):
		// The deadline is lifted before the session looks at what it was
		// given, so that a wake that comes after the look ends the next read.
		c.nc.SetReadDeadline(time.Time{})
		return c.s.Resume() == nil
	}
	return c.s.InputEnded() == nil
}
