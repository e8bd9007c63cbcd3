package transport

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipeBuffer is one direction of an in-process connection: an unbounded buffer on
// which reads wait and writes do not, so that a client may write a long pipeline
// before it reads the first reply, as on a socket.
type pipeBuffer struct {
	mu       sync.Mutex
	ready    *sync.Cond  // content, end or deadline; guarded by mu
	buf      []byte      // content; guarded by mu
	room     []byte      // empty, at the start of the memory of buf; guarded by mu
	closed   bool        // guarded by mu
	expired  bool        // the read deadline has passed; guarded by mu
	deadline *time.Timer // guarded by mu
}

func newPipeBuffer() *pipeBuffer {
	p := &pipeBuffer{}
	p.ready = sync.NewCond(&p.mu)
	return p
}

func (p *pipeBuffer) read(b []byte) (int, error) {
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

func (p *pipeBuffer) write(b []byte) (int, error) {
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

func (p *pipeBuffer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.deadline != nil {
		p.deadline.Stop()
	}
	p.ready.Broadcast()
}

func (p *pipeBuffer) setDeadline(t time.Time) {
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

func (p *pipeBuffer) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expired = true
	p.ready.Broadcast()
}

// PipeEnd is one end of an in-process connection.
type PipeEnd struct{ in, out *pipeBuffer }

// Pipe returns the two ends of a connection inside the process. Unlike those of
// net.Pipe they buffer: a write never waits.
func Pipe() (a, b *PipeEnd) {
	x, y := newPipeBuffer(), newPipeBuffer()
	return &PipeEnd{x, y}, &PipeEnd{y, x}
}

// Read waits for content, the other end's Close or CloseWrite, or the deadline.
// Content comes before io.EOF, but not before os.ErrDeadlineExceeded.
func (c *PipeEnd) Read(b []byte) (int, error) { return c.in.read(b) }

// Write takes all of b at once. After either end was closed it returns
// io.ErrClosedPipe.
func (c *PipeEnd) Write(b []byte) (int, error) { return c.out.write(b) }

// Close ends both directions.
func (c *PipeEnd) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

// CloseWrite ends the direction to the other end, which may still write.
func (c *PipeEnd) CloseWrite() error {
	c.out.close()
	return nil
}

// Buffered is the number of bytes that can be read without waiting.
func (c *PipeEnd) Buffered() int {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	return len(c.in.buf)
}

// LocalAddr names no address in particular, of the machine itself.
func (c *PipeEnd) LocalAddr() net.Addr { return pipeAddr{} }

// RemoteAddr is the same as LocalAddr.
func (c *PipeEnd) RemoteAddr() net.Addr { return pipeAddr{} }

// SetDeadline is SetReadDeadline, as writes do not wait.
func (c *PipeEnd) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline has no effect.
func (c *PipeEnd) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline ends reads at a time; the zero time is none.
func (c *PipeEnd) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "mem" }
func (pipeAddr) String() string  { return "127.0.0.1:0" }
