package transport

import (
	"syscall"
	"time"
	"unsafe"

	"github.com/vigildb/vigil/structures"
)

// ready handles the events of a client's socket. It reports false if the loop has
// another owner by now.
func (o *loopOwner) ready(c *loopConn, events uint32) bool {
	if c.inLongTurn {
		return true // the kernel reports it again when it is back
	}
	broken := events&(syscall.EPOLLHUP|syscall.EPOLLERR) != 0
	if c.waits() && !c.outputFull() && !broken {
		// Its next commands wait for the replies to the last ones: the input is
		// left to the kernel, which must not report it again meanwhile.
		c.inputPaused = true
		c.listen(0)
		return true
	}
	c.unread = c.tls == nil
	c.ended = events&(syscall.EPOLLRDHUP|syscall.EPOLLHUP|syscall.EPOLLERR) != 0
	return o.turn(c, reported)
}

// listen chooses the events that the kernel reports, and has it report those that
// there are already. A socket that cannot be polled has ended, which its next read
// or write finds.
func (c *loopConn) listen(events uint32) {
	_ = c.l.control(syscall.EPOLL_CTL_MOD, c.fd, c.asked(events))
}

// asked returns what to ask the kernel for to get reports of events. An event is
// reported once: a socket that stays on the kernel's list until it is found empty is
// looked at twice for each command of a client that waits for its reply. Encrypted
// connections stay on the list, as a part of their input is left to the kernel often.
func (c *loopConn) asked(events uint32) uint32 {
	if c.tls != nil {
		return events
	}
	if events == syscall.EPOLLIN {
		events |= syscall.EPOLLRDHUP // a short read does not tell that the input has ended behind it
	}
	return events | edgeTriggered
}

// edgeTriggered is EPOLLET, which package syscall has as a negative number.
const edgeTriggered = 1 << 31

// read receives input and lets the session run it. A client with nothing
// unread is read into the loop's buffer, so that idle clients hold no memory.
func (c *loopConn) read(buf []byte) error {
	if c.tls != nil {
		return c.readTLS(buf)
	}
	for taken := 0; taken < maxTurnRead; {
		n, full, err := c.readOnce(buf)
		if taken += n; err != nil || !full || c.s.Unread() < taken || c.s.Closing() || c.outputFull() || c.waits() {
			return err // or calls have run, and others have their turn
		}
	}
	return nil
}

// maxTurnRead is the most that is read in a turn of a client whose call is not
// complete: one of megabytes needs fewer rounds of the loop then.
const maxTurnRead = 1 << 20

// readOnce is one read; n is what it received, and full reports that there may be
// more.
func (c *loopConn) readOnce(buf []byte) (n int, full bool, err error) {
	s := c.s
	if s.Unread() == 0 {
		if n, err = c.receive(buf); n > 0 {
			err = s.FeedBorrowed(buf[:n])
		}
		return n, n == len(buf), err
	}
	space := s.Space()
	if n, err = c.receive(space); n > 0 {
		err = s.Feed(n)
	}
	return n, n == len(space), err
}

// receive reads without blocking; 0 and nil mean that there is nothing to read.
func (c *loopConn) receive(b []byte) (int, error) {
	if c.tls != nil {
		return c.tls.receive(b)
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(c.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	switch {
	case errno == syscall.EAGAIN:
		c.unread = false
		return 0, nil
	case errno == syscall.EINTR:
		return 0, nil
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, c.s.InputEnded()
	}
	c.unread = int(n) == len(b) || c.ended
	return int(n), nil
}

// finish does what is left to do after a turn. It ends the client if this was the
// last one.
func (c *loopConn) finish(err error) {
	switch {
	case c.isOver(err):
		c.end()
		return
	case c.awaitingSync && !c.listed:
		c.listed = true
		c.l.awaitingSync = append(c.l.awaitingSync, c)
	case (c.inputPaused || c.unread) && !c.waits() && !c.outputFull():
		c.inputPaused, c.unread = false, false
		c.listen(syscall.EPOLLIN)
	}
	if c.mayReadOn() {
		c.Wake()
	}
}

// isOver reports whether the client has had its last turn, which ended with err.
func (c *loopConn) isOver(err error) bool {
	return err != nil || c.s.Closing() && !c.outputFull() && !c.waits()
}

// Write sends a reply, if it is short when the turn is over or later.
func (c *loopConn) Write(b []byte) (kept bool, err error) {
	if c.hold(b) {
		return false, nil
	}
	if err := c.sendOwn(); err != nil {
		return false, err
	}
	return c.write(b)
}

// write sends b now. The part that the socket does not take is kept, and sent
// when it is ready again. Until then the session is not run.
func (c *loopConn) write(b []byte) (kept bool, err error) {
	n := 0
	if !c.outputFull() {
		if n, err = c.send(b); err != nil || n == len(b) && !c.outputFull() {
			return false, err
		}
		// Input is left to the kernel until the client has read.
		c.listen(syscall.EPOLLOUT)
		if n == len(b) {
			return false, nil // encrypted, and not sent
		}
	}
	c.unsent = append(c.unsent, b)
	if n > 0 {
		c.dropSent(n)
	}
	c.unsentBytes += len(b) - n
	return true, nil
}

// dropSent drops n bytes from the first of the unsent replies. It is copied each
// time that half of it is sent, so that a reply which is not read holds little more
// memory than it is long.
func (c *loopConn) dropSent(n int) {
	b := c.unsent[0][n:]
	if c.firstSent += n; c.firstSent > len(b) {
		b, c.firstSent = structures.Clone(b), 0
	}
	c.unsent[0] = b
}

// Unsent is the number of bytes that the socket did not take yet.
func (c *loopConn) Unsent() int {
	if c.tls != nil {
		return c.unsentBytes + len(c.tls.out)
	}
	return c.unsentBytes
}

// maxTurnSend is the most that is sent in a turn, so that a client that reads as
// fast as the loop writes does not keep the others waiting.
const maxTurnSend = 1 << 20

func (c *loopConn) send(b []byte) (sent int, err error) {
	sent, err = c.put(b[:min(len(b), maxTurnSend-c.turnSent)])
	c.turnSent += sent
	return sent, err
}

// put sends as much as the socket takes.
func (c *loopConn) put(b []byte) (sent int, err error) {
	if c.tls != nil {
		return c.tls.put(b)
	}
	return c.putRaw(b)
}

// putRaw writes as much as the socket takes.
func (c *loopConn) putRaw(b []byte) (sent int, err error) {
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
	if c.tls != nil {
		if err := c.tls.flush(); err != nil {
			return err
		}
	}
	for len(c.unsent) > 0 {
		n, err := c.send(c.unsent[0])
		if err != nil {
			return err
		}
		c.unsentBytes -= n
		if n < len(c.unsent[0]) {
			c.dropSent(n)
			break
		}
		c.unsent[0] = nil
		c.unsent, c.firstSent = c.unsent[1:], 0
	}
	if !c.outputFull() {
		c.unsent = nil
		c.listen(syscall.EPOLLIN)
	} else if c.turnSent == maxTurnSend {
		c.listen(syscall.EPOLLOUT) // the socket takes more, perhaps, and that was reported
	}
	return c.s.Sent()
}

// outputFull reports whether the client has to read before more is written.
func (c *loopConn) outputFull() bool {
	return c.unsentBytes > 0 || c.tls != nil && len(c.tls.out) > 0
}

// Durable reports whether the device has the journal up to lsn. If not, the loop
// resumes the session when it has.
func (c *loopConn) Durable(lsn uint64) (bool, error) {
	c.awaitingSync = !c.l.host.Store.Confirmed(lsn)
	return !c.awaitingSync, nil
}

// waits reports that the session has stopped, and that its next commands wait for the
// replies to the last ones.
func (c *loopConn) waits() bool { return c.awaitingSync || c.paused }

// Pause makes the loop resume the session later.
func (c *loopConn) Pause(d time.Duration) (stops bool) {
	c.paused = true
	if c.pause == nil {
		c.pause = time.AfterFunc(d, c.Wake)
	} else {
		c.pause.Reset(d)
	}
	return true
}

// Throttle has the loop slow down before it polls again.
func (c *loopConn) Throttle() {
	if l := c.l; !l.wrote.Load() {
		l.wrote.Store(true)
	}
}

// Wake makes the loop resume the session. Any goroutine may call it.
func (c *loopConn) Wake() {
	l := c.l
	l.mu.Lock()
	if !c.queued {
		c.queued = true
		l.woken = append(l.woken, c)
		l.posted.Store(true)
	}
	l.mu.Unlock()
	l.wake()
}

// HangUp ends the connection, which the loop notices. Any goroutine may call it.
func (c *loopConn) HangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		syscall.Shutdown(c.fd, syscall.SHUT_RDWR)
	}
}

// end takes the client out of the loop and closes its socket.
func (c *loopConn) end() {
	c.l.conns.remove(c)
	c.held = false
	c.leave()
	if c.pause != nil {
		c.pause.Stop()
	}
	if c.tls != nil {
		c.tls.close()
	}
	c.mu.Lock()
	c.closed = true
	syscall.Close(c.fd)
	c.mu.Unlock()
	c.l.host.Workers.Done()
}

// leave takes the session out of the server, once.
func (c *loopConn) leave() {
	if !c.left {
		c.left = true
		c.s.Leave()
	}
}
