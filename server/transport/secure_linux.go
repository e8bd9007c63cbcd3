package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"unsafe"
)

// loopTLS is the TLS of a loop's client, and the socket under it: crypto/tls reads
// and writes here what goes over the network. A read that finds nothing returns a
// temporary error, after which crypto/tls continues where it was. A write takes
// everything, as crypto/tls cannot continue a write: what the socket does not take
// is kept, and nothing else is encrypted until it is sent. That bounds it to about
// one record.
//
// Two things differ from a plain socket. Bytes that were received and not decrypted
// yet are known to crypto/tls and not to epoll: a turn reads until there is nothing
// more, and if it has to stop before, it notes that in more. And a read may write: a
// client that changes its key may ask for a change of ours.
type loopTLS struct {
	c    *loopConn
	conn *tls.Conn

	out     []byte // encrypted, and the socket did not take it yet
	more    bool   // there may be input that epoll does not report
	drained bool   // the socket has nothing more in this turn
	budget  int    // bytes to be read from the socket in this turn, at most
}

const (
	// turnReceive is the most that a turn reads from a socket with TLS, so that a
	// client that sends as fast as the loop reads does not keep others waiting.
	turnReceive = 256 << 10
	// sealAtOnce is how much is encrypted before the socket must take it: one
	// record.
	sealAtOnce = 16 << 10
)

// errAgain is the temporary error of a read that finds nothing.
var errAgain net.Error = again{}

type again struct{}

func (again) Error() string   { return "nothing to read" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

// adoptTLS takes over a connection whose handshake is done.
func (l *loop) adoptTLS(conn *tls.Conn) (*loopConn, bool) {
	w, ok := conn.NetConn().(*wire)
	if !ok {
		return nil, false
	}
	c, ok := l.adopt(w.Conn)
	if !ok {
		return nil, false
	}
	// Commands may have come with the end of the handshake.
	c.tls = &loopTLS{c: c, conn: conn, more: true}
	w.loop = c.tls
	return c, true
}

// Read reads from the socket, for crypto/tls.
func (t *loopTLS) Read(b []byte) (int, error) {
	if t.drained || len(t.out) > 0 || t.budget <= 0 {
		return 0, errAgain // epoll reports what is left
	}
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(t.c.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			t.drained = true
			return 0, errAgain
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		default:
			t.drained = int(n) < len(b)
			t.budget -= int(n)
			return int(n), nil
		}
	}
}

// Write takes all of b, for crypto/tls.
func (t *loopTLS) Write(b []byte) (int, error) {
	n := 0
	if len(t.out) == 0 {
		var err error
		if n, err = t.c.putRaw(b); err != nil {
			return n, err
		}
	}
	t.out = append(t.out, b[n:]...)
	return len(b), nil
}

// flush sends what the socket did not take before.
func (t *loopTLS) flush() error {
	if len(t.out) == 0 {
		return nil
	}
	n, err := t.c.putRaw(t.out)
	if t.out = t.out[n:]; len(t.out) == 0 {
		t.out = nil
	}
	return err
}

// receive decrypts input; 0 and nil mean that there is none.
func (t *loopTLS) receive(b []byte) (int, error) {
	n, err := t.conn.Read(b)
	switch {
	case n > 0:
		return n, nil // an error comes again
	case err == error(errAgain) || err == nil:
		return 0, nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return 0, t.c.s.InputEnded()
	}
	return 0, err
}

// put encrypts as much of b as the socket takes, and at most a record more.
func (t *loopTLS) put(b []byte) (sent int, err error) {
	if err := t.flush(); err != nil {
		return 0, err
	}
	for sent < len(b) && len(t.out) == 0 {
		n, err := t.conn.Write(b[sent:min(len(b), sent+sealAtOnce)])
		if sent += n; err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// readTLS reads until there is nothing more, the client has to wait, or the turn
// has read enough.
func (c *loopConn) readTLS(buf []byte) error {
	t := c.tls
	t.more, t.drained, t.budget = false, false, turnReceive
	for {
		if c.outputFull() || c.waits() || c.s.Closing() {
			t.more = true
			break
		}
		if n, _, err := c.readOnce(buf); err != nil {
			return err
		} else if n == 0 {
			break
		}
	}
	if len(t.out) > 0 {
		c.listen(syscall.EPOLLOUT) // the answer to a change of keys
	}
	return nil
}

// mayReadOn reports whether there may be input that epoll does not report, and the
// client does not have to wait before it is read.
func (c *loopConn) mayReadOn() bool {
	return c.tls != nil && c.tls.more && !c.outputFull() && !c.waits()
}

// close tells the client that nothing more will come, if the socket takes it.
func (t *loopTLS) close() {
	if t.flush() == nil && len(t.out) == 0 {
		_ = t.conn.CloseWrite()
	}
}
