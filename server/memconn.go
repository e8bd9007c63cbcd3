package server

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memPipe is one direction of an in-process connection: a buffer without bound
// on which reads wait and writes do not, so that a client may write a long
// pipeline before it reads the first reply, as on a socket.
type memPipe struct {
	mu       sync.Mutex
	ready    *sync.Cond // content, end or deadline; guarded by mu
	buf      []byte     // what was not read yet
	room     []byte     // empty, at the start of the memory of buf
	closed   bool
	expired  bool        // the read deadline has passed
	deadline *time.Timer // guarded by mu
}

func newMemPipe() *memPipe {
	p := &memPipe{}
	p.ready = sync.NewCond(&p.mu)
	return p
}

func (p *memPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 && !p.closed && !p.expired {
		p.ready.Wait()
	}
	switch {
	case p.expired:
		return 0, os.ErrDeadlineExceeded
	case len(p.buf) == 0:
		return 0, io.EOF
	}
	n := copy(b, p.buf)
	if p.buf = p.buf[n:]; len(p.buf) == 0 {
		if cap(p.room) > keepBuffer {
			p.room = nil
		}
		p.buf = p.room
	}
	return n, nil
}

func (p *memPipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	if len(b) == 0 {
		return 0, nil
	}
	grown := append(p.buf, b...)
	if len(p.buf) == 0 || &p.buf[0] != &grown[0] {
		p.room = grown[:0]
	}
	p.buf = grown
	p.ready.Broadcast()
	return len(b), nil
}

func (p *memPipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.deadline != nil {
		p.deadline.Stop()
	}
	p.ready.Broadcast()
}

func (p *memPipe) setDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deadline != nil {
		p.deadline.Stop()
		p.deadline = nil
	}
	p.expired = false
	if t.IsZero() {
		return
	}
	if d := time.Until(t); d > 0 {
		p.deadline = time.AfterFunc(d, p.expire)
		return
	}
	p.expired = true
	p.ready.Broadcast()
}

func (p *memPipe) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired = true
	p.ready.Broadcast()
}

// memConn is one end of an in-process connection.
type memConn struct{ in, out *memPipe }

func newMemConns() (a, b net.Conn) {
	x, y := newMemPipe(), newMemPipe()
	return &memConn{x, y}, &memConn{y, x}
}

func (c *memConn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *memConn) Write(b []byte) (int, error) { return c.out.write(b) }

func (c *memConn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

func (c *memConn) LocalAddr() net.Addr                { return memAddr{} }
func (c *memConn) RemoteAddr() net.Addr               { return memAddr{} }
func (c *memConn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *memConn) SetWriteDeadline(t time.Time) error { return nil }

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "127.0.0.1:0" }
