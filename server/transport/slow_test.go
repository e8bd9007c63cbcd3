package transport

import (
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// watchedConn counts the deadlines that are set, and tells when it has read a byte.
type watchedConn struct {
	net.Conn
	deadlines atomic.Int32
	read      chan struct{}
}

func (c *watchedConn) SetDeadline(t time.Time) error {
	c.deadlines.Add(1)
	return c.Conn.SetDeadline(t)
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(1, len(b))])
	if n > 0 {
		c.read <- struct{}{}
	}
	return n, err
}

// A client that sends its handshake a byte at a time does not get more time than others.
func TestSlowHandshakesGetNoMoreTime(t *testing.T) {
	own, other := dialled(t)
	h := NewHandshakes()
	defer h.Close()
	h.time = 300 * time.Millisecond
	c := &watchedConn{Conn: own, read: make(chan struct{})}
	ended := make(chan error, 1)
	if err := h.Begin(c, testTLS(t), func(_ net.Conn, err error) { ended <- err }); err != nil {
		t.Fatal(err)
	}
	// A record of a handshake message of 64 KiB, which never ends.
	for _, b := range append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, make([]byte, 100)...) {
		if _, err := other.Write([]byte{b}); err != nil {
			break // the time is over
		}
		select {
		case <-c.read:
			continue
		case err := <-ended:
			ended <- err
		}
		break
	}
	if err := <-ended; !os.IsTimeout(err) {
		t.Errorf("the handshake ended with %v, want a timeout", err)
	}
	if n := c.deadlines.Load(); n != 1 {
		t.Errorf("%d deadlines were set, want 1", n)
	}
	if h.Count() != 0 {
		t.Errorf("%d handshakes are open", h.Count())
	}
	other.SetReadDeadline(time.Now().Add(patience))
	if _, err := other.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the client reads %v, want the end", err)
	}
}
