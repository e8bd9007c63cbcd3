package clusters

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipe is one direction of a connection: bytes come in order, after a while, and not while the network keeps
// them back.
type pipe struct {
	n        *network
	from, to string
	changed  chan struct{} // has room for one; readers look again
	room     chan struct{} // likewise, for writers

	mu     sync.Mutex
	queue  []segment // guarded by mu
	bytes  int       // of the queue; guarded by mu
	last   time.Time // when the last segment comes; guarded by mu
	ended  error     // io.EOF behind the queue, or at once what broke it; guarded by mu
	reads  time.Time // deadline of readers, zero for none; guarded by mu
	writes time.Time // deadline of writers; guarded by mu
}

type segment struct {
	bytes []byte
	comes time.Time
}

func newPipe(n *network, from, to string) *pipe {
	return &pipe{n: n, from: from, to: to, changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// look makes readers and writers look again.
func (p *pipe) look() {
	signal(p.changed)
	signal(p.room)
}

// end ends the pipe: with io.EOF readers get what is on its way first.
func (p *pipe) end(why error) {
	p.mu.Lock()
	if p.ended == nil || why != io.EOF {
		p.ended = why
	}
	p.mu.Unlock()
	p.n.mu.Lock()
	if why != io.EOF {
		delete(p.n.pipes, p)
	}
	p.n.mu.Unlock()
	p.look()
}

// expire sets a deadline of the pipe.
func (p *pipe) expire(deadline *time.Time, at time.Time) {
	p.mu.Lock()
	*deadline = at
	p.mu.Unlock()
	p.look()
}

func (p *pipe) read(b []byte) (int, error) {
	for {
		n, wait, err := p.tryRead(b)
		if n > 0 || err != nil {
			return n, err
		}
		await(p.changed, wait)
	}
}

// tryRead reads what has come. Otherwise it says how long to wait for what comes next, 0 for an unknown time.
func (p *pipe) tryRead(b []byte) (n int, wait time.Duration, err error) {
	kept := p.n.separated(p.from, p.to)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case p.ended != nil && p.ended != io.EOF:
		return 0, 0, p.ended
	case !p.reads.IsZero() && !now.Before(p.reads):
		return 0, 0, os.ErrDeadlineExceeded
	case len(p.queue) > 0 && !kept && !p.queue[0].comes.After(now):
		first := &p.queue[0]
		n = copy(b, first.bytes)
		p.bytes -= n
		if first.bytes = first.bytes[n:]; len(first.bytes) == 0 {
			p.queue = p.queue[1:]
		}
		signal(p.room)
		return n, 0, nil
	case len(p.queue) == 0 && p.ended != nil && !kept:
		return 0, 0, io.EOF
	}
	if len(p.queue) > 0 && !kept {
		wait = p.queue[0].comes.Sub(now)
	}
	return 0, sooner(wait, now, p.reads), nil
}

func (p *pipe) write(b []byte) (int, error) {
	delay := p.n.latency()
	p.n.passes(p, b)
	for {
		done, wait, err := p.tryWrite(b, delay)
		if err != nil {
			return 0, err
		}
		if done {
			signal(p.changed)
			return len(b), nil
		}
		await(p.room, wait)
	}
}

func (p *pipe) tryWrite(b []byte, delay time.Duration) (done bool, wait time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	switch {
	case p.ended == io.EOF:
		return false, 0, io.ErrClosedPipe
	case p.ended != nil:
		return false, 0, p.ended
	case !p.writes.IsZero() && !now.Before(p.writes):
		return false, 0, os.ErrDeadlineExceeded
	case p.bytes >= window:
		return false, sooner(0, now, p.writes), nil
	}
	comes := now.Add(delay)
	if comes.Before(p.last) {
		comes = p.last
	}
	p.last = comes
	p.bytes += len(b)
	p.queue = append(p.queue, segment{append([]byte(nil), b...), comes})
	return true, 0, nil
}

// sooner is how long to wait until something comes, 0 for an unknown time, but not beyond a deadline.
func sooner(wait time.Duration, now, deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return wait
	}
	if left := max(deadline.Sub(now), 1); wait == 0 || left < wait {
		return left
	}
	return wait
}

// await waits for a signal, or for some time.
func await(c chan struct{}, wait time.Duration) {
	if wait == 0 {
		<-c
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}

// conn is an end of a connection.
type conn struct{ in, out *pipe }

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close ends both directions: what this side has written still comes.
func (c *conn) Close() error {
	c.out.end(io.EOF)
	c.in.end(net.ErrClosed)
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return addressOf(c.out.from) }
func (c *conn) RemoteAddr() net.Addr { return addressOf(c.out.to) }

func (c *conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.expire(&c.in.reads, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.expire(&c.out.writes, t)
	return nil
}
