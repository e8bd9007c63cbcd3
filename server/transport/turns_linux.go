package transport

import (
	"cmp"
	"io"
	"syscall"
	"time"
)

// Turns. The owner of a loop gives its clients turns, one after the other. Most
// take microseconds. One that takes long (a call that works on a million elements,
// a reply of megabytes, a key that is read from a slow disk) must not hold the
// others up, and it is not known beforehand which calls these are. So a watcher
// looks at the clock, as the Go runtime does for system calls. When a turn lasts
// longer than turnLimit, the watcher gives the loop another owner, a new goroutine.
// The old one finishes the turn, gives the client back to the loop, and ends.
//
// One atomic counter decides which of them owns the loop: the goroutine that ends a
// turn and the watcher both try to make it even, and one succeeds. A client in a
// long turn is taken out of epoll and left alone; messages and input for it wait in
// its session and in the kernel.
//
// A client that had a long turn is likely to have another. Its next turns begin
// as long turns, outside the loop, until one is short.

const (
	// turnLimit is how long a turn may keep the loop. The watcher notices within
	// twice that time.
	turnLimit = 5 * time.Millisecond
	// shortTurn is the longest turn after which the next runs on the loop again.
	shortTurn = time.Millisecond
	// turnlessTicks is the number of ticks without a turn after which the watcher
	// sleeps until there is one.
	turnlessTicks = 20
)

// turnCause is why a client has a turn.
type turnCause uint8

const (
	reported turnCause = iota // the kernel reports its socket
	resumed                   // it was woken
)

// turn runs the session of a client. It reports false if the loop has another
// owner by now: the caller ends.
func (o *loopOwner) turn(c *loopConn, why turnCause) bool {
	l := o.loop
	if c.held {
		o.sendHeld() // in order, and in time
	}
	switch {
	case c.inLongTurn:
		return true // rejoin resumes it
	case c.lastTurnLong:
		c.beginLongTurn()
		l.host.Workers.Add(1)
		// Ends with the turn.
		go func() {
			defer l.host.Workers.Done()
			c.longTurn(why)
		}()
		return true
	}
	l.current = c
	n := l.beginTurn()
	o.holds(c)
	err := c.run(why, o.buf)
	if !l.turns.CompareAndSwap(n, n+1) {
		c.endLongTurn(cmp.Or(err, c.sendOwn()))
		return false
	}
	if why == reported {
		l.waited <<= 1
		if c.awaitingSync && c.tls == nil { // with TLS a loop does more than wait
			l.waited |= 1
		}
	}
	o.keepHeld(c)
	c.finish(err)
	return true
}

// beginTurn makes the watcher look at a turn that begins, and returns its number.
func (l *loop) beginTurn() (n uint64) {
	n = l.turns.Add(1)
	if !l.watched.Load() {
		l.wakeWatcher()
	}
	return n
}

// run is the part of a turn that touches the session.
func (c *loopConn) run(why turnCause, buf []byte) (err error) {
	c.turnSent, c.paused = 0, false
	switch {
	case c.s.Killed():
		err = io.EOF // its connection is cut: input that is left is not run
	case why == reported && c.outputFull():
		if err = c.push(); err == nil && !c.outputFull() {
			err = c.resume(buf)
		}
	case why == reported:
		err = c.read(buf)
	case !c.outputFull():
		err = c.resume(buf)
	}
	if err != nil || c.s.Closing() {
		err = cmp.Or(err, c.sendOwn())
	}
	if c.isOver(err) {
		c.leave() // which takes long if it watched or subscribed to much
	}
	return err
}

// resume continues a session that has stopped.
func (c *loopConn) resume(buf []byte) error {
	if err := c.s.Resume(); err != nil || !c.mayReadOn() {
		return err
	}
	return c.readTLS(buf)
}

// longTurn is a turn outside the loop, with a buffer of its own.
func (c *loopConn) longTurn(why turnCause) {
	began := time.Now()
	err := c.run(why, make([]byte, loopRead))
	c.lastTurnLong = time.Since(began) > shortTurn
	c.endLongTurn(err)
}

// beginLongTurn takes a client out of the loop for a long turn.
func (c *loopConn) beginLongTurn() {
	c.inLongTurn, c.lastTurnLong = true, true
	// A socket that is hung up would be reported regardless of the events asked
	// for. If it cannot be removed, the reports are ignored.
	_ = c.l.control(syscall.EPOLL_CTL_DEL, c.fd, 0)
}

// endLongTurn gives a client whose long turn is over to the owner of its loop.
func (c *loopConn) endLongTurn(err error) {
	l := c.l
	c.err = err
	l.mu.Lock()
	l.rejoining = append(l.rejoining, c)
	l.posted.Store(true)
	l.mu.Unlock()
	l.wake()
}

// rejoin continues a client after a long turn. It is resumed, as a wake during
// the turn had no effect.
func (c *loopConn) rejoin() {
	c.inLongTurn = false
	if c.isOver(c.err) {
		c.end()
		return
	}
	events := uint32(syscall.EPOLLIN)
	if c.inputPaused = c.waits() && !c.outputFull(); c.inputPaused {
		events = 0
	} else if c.outputFull() {
		events = syscall.EPOLLOUT
	}
	if err := c.l.control(syscall.EPOLL_CTL_ADD, c.fd, c.asked(events)); err != nil {
		c.end()
		return
	}
	c.unread = false // there are new reports
	c.finish(nil)
	c.l.resuming = append(c.l.resuming, c)
}

// watch gives the loop another owner when a turn takes long. It ends with the
// loop.
func (l *loop) watch() {
	tick := time.NewTicker(turnLimit)
	defer tick.Stop()
	tick.Stop() // until the first turn
	last, idle := uint64(0), 0
	for {
		select {
		case <-l.finished:
			return
		case <-l.watchAgain:
			tick.Reset(turnLimit)
			idle = 0
		case <-tick.C:
		}
		n := l.turns.Load()
		switch {
		case n != last:
			last, idle = n, 0
		case n%2 == 1 && l.turns.CompareAndSwap(n, n+1):
			l.changeOwner()
		case n%2 == 0:
			idle++
		}
		if idle == turnlessTicks && l.watched.CompareAndSwap(true, false) {
			if tick.Stop(); l.turns.Load() != last {
				l.wakeWatcher()
			}
		}
	}
}

// wakeWatcher makes the watcher watch turns again.
func (l *loop) wakeWatcher() {
	if l.watched.CompareAndSwap(false, true) {
		l.watchAgain <- struct{}{}
	}
}

// changeOwner starts a new owner. The old one is in the turn of a client, and keeps
// only that client, or at the end of a round.
func (l *loop) changeOwner() {
	if l.current != nil {
		l.current.beginLongTurn()
	}
	l.host.Workers.Add(1)
	// Ends as the first one does, see Loops.Start.
	go func() {
		defer l.host.Workers.Done()
		l.run()
	}()
}
