package server

import (
	"syscall"
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// ready handles what the kernel reports of a client's socket. It reports false
// if the loop has another owner by now.
func (o *loopOwner) ready(c *loopConn, events uint32) bool {
	broken := events&(syscall.EPOLLHUP|syscall.EPOLLERR) != 0
	if c.unsure && !c.full() && !broken {
		// What it says next waits until it is answered: its bytes are left to
		// the kernel, which must not report them again meanwhile.
		c.deaf = true
		c.listen(0)
		return true
	}
	return o.turn(c, reported)
}

// listen chooses the events that the kernel reports. A socket that cannot be
// polled has ended, which its next read or write finds.
func (c *loopConn) listen(events uint32) { _ = c.l.control(syscall.EPOLL_CTL_MOD, c.fd, events) }

// read takes what has come and lets the session run it. A client with nothing
// unread is read into the loop's buffer, so that idle clients hold no memory.
func (c *loopConn) read(buf []byte) error {
	s := c.s
	if s.unread() == 0 {
		n, err := c.receive(buf)
		if n <= 0 {
			return err
		}
		return s.feedBorrowed(buf[:n])
	}
	n, err := c.receive(s.space())
	if n <= 0 {
		return err
	}
	return s.feed(n)
}

// receive reads without blocking; 0 and nil mean that there is nothing.
func (c *loopConn) receive(b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(c.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	switch {
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		return 0, nil
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, c.s.inputEnded()
	}
	return int(n), nil
}

// finish does what is left to do after a turn, and ends the client after an
// error, or when it was told the last word.
func (c *loopConn) finish(err error) {
	switch {
	case c.over(err):
		c.end()
		return
	case c.unsure && !c.listed:
		c.listed = true
		c.l.unsure = append(c.l.unsure, c)
	case c.deaf && !c.unsure && !c.full():
		c.deaf = false
		c.listen(syscall.EPOLLIN)
	}
}

// over reports that the client has had its last turn.
func (c *loopConn) over(err error) bool {
	return err != nil || c.s.closing && !c.full() && !c.unsure
}

// write sends a reply; what the socket does not take is kept and sent when it
// is ready again. Until then the session is not run.
func (c *loopConn) write(b []byte) (kept bool, err error) {
	n := 0
	if !c.full() {
		if n, err = c.send(b); err != nil || n == len(b) {
			return false, err
		}
		// Input is left to the kernel until the client has read.
		c.listen(syscall.EPOLLOUT)
	}
	c.behind = append(c.behind, b)
	if n > 0 {
		c.passed(n)
	}
	c.owing += len(b) - n
	return true, nil
}

// passed drops n bytes from the first of the replies that are behind. It is copied
// each time that half of it has gone: what a client does not read holds little more
// memory than it is long.
func (c *loopConn) passed(n int) {
	b := c.behind[0][n:]
	if c.gone += n; c.gone > len(b) {
		b, c.gone = structures.Clone(b), 0
	}
	c.behind[0] = b
}

// unsent is how much of the replies the socket did not take yet.
func (c *loopConn) unsent() int { return c.owing }

// sendSize is the most that is sent in a turn: a client that reads as fast as we
// write does not keep the others waiting.
const sendSize = 1 << 20

func (c *loopConn) send(b []byte) (sent int, err error) {
	sent, err = c.put(b[:min(len(b), sendSize-c.burst)])
	c.burst += sent
	return sent, err
}

// put writes what the socket takes.
func (c *loopConn) put(b []byte) (sent int, err error) {
	for sent < len(b) {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(c.fd), uintptr(unsafe.Pointer(&b[sent])), uintptr(len(b)-sent))
		switch {
		case errno == syscall.EAGAIN:
			return sent, nil
		case errno == syscall.EINTR:
		case errno != 0:
			return sent, errno
		default:
			sent += int(n)
		}
	}
	return sent, nil
}

// push sends what is left of earlier replies.
func (c *loopConn) push() error {
	for len(c.behind) > 0 {
		n, err := c.send(c.behind[0])
		if err != nil {
			return err
		}
		c.owing -= n
		if n < len(c.behind[0]) {
			c.passed(n)
			break
		}
		c.behind[0] = nil
		c.behind, c.gone = c.behind[1:], 0
	}
	if !c.full() {
		c.behind = nil
		c.listen(syscall.EPOLLIN)
	}
	if c.s.sent() {
		return errOutput
	}
	return nil
}

// full reports that the client has to read before it is answered further.
func (c *loopConn) full() bool { return c.owing > 0 }

// durable reports whether the journal has come so far. If not, the loop lets
// the session go on when it has.
func (c *loopConn) durable(lsn uint64) (bool, error) {
	c.unsure = c.l.srv.store.Synced() < lsn
	return !c.unsure, nil
}

// wake makes the loop look at the client's outbox. Any goroutine may call it.
func (c *loopConn) wake() {
	l := c.l
	l.mu.Lock()
	if !c.queued {
		c.queued = true
		l.woken = append(l.woken, c)
	}
	l.mu.Unlock()
	l.rouse()
}

// hangUp ends the connection; the loop sees its end. Any goroutine may call it.
func (c *loopConn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		syscall.Shutdown(c.fd, syscall.SHUT_RDWR)
	}
}

// end takes the client out of the loop and closes its socket.
func (c *loopConn) end() {
	delete(c.l.conns, int32(c.fd))
	c.leave()
	c.mu.Lock()
	c.closed = true
	syscall.Close(c.fd)
	c.mu.Unlock()
	c.l.srv.workers.Done()
}

// leave takes the session out of the server, once.
func (c *loopConn) leave() {
	if !c.left {
		c.left = true
		c.s.leave()
	}
}
