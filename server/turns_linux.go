package server

import (
	"io"
	"syscall"
	"time"

	"github.com/vigildb/vigil/commands"
)

// Turns. The owner of a loop gives its clients turns, one after the other. Most
// take microseconds. One that takes long (a call that works on a million
// elements, a reply of megabytes, a key that is read from a slow disk) must not
// hold the others up, and nobody can tell beforehand which calls these are. So
// nothing is foretold: a watcher looks at the clock, as the Go runtime does for
// system calls. When a turn lasts longer than its patience, the watcher gives the
// loop another owner, a new goroutine. The one before goes on with the client it
// is at, gives that back to the loop when the turn is over, and ends.
//
// Whoever ends a turn and the watcher settle by one atomic counter whose the
// loop is: both want to make it even. A client in a long turn is taken out of
// epoll and left alone; what comes for it waits in its outbox and in the kernel.
//
// A client that had a long turn is likely to have another. Its next ones begin
// as long turns, beside the loop, until one is short.

const (
	// turnPatience is how long a turn may keep the loop, once or twice that
	// before the watcher notices.
	turnPatience = 5 * time.Millisecond
	// shortTurn is a turn that is no reason to run beside the loop.
	shortTurn = time.Millisecond
	// turnlessTicks is after how many looks without a turn between them the
	// watcher sleeps until there is one.
	turnlessTicks = 20
)

// turnCause is why a client has a turn.
type turnCause uint8

const (
	reported turnCause = iota // the kernel reports its socket
	resumed                   // somebody woke it
)

// turn runs the session of a client. It reports false if the loop has another
// owner by now: the caller ends.
func (o *loopOwner) turn(c *loopConn, why turnCause) bool {
	l := o.loop
	switch {
	case c.away:
		return true // it looks at everything when it comes back
	case c.heavy:
		c.sendAway()
		l.srv.workers.Add(1)
		// Ends with the turn.
		go func() {
			defer l.srv.workers.Done()
			c.longTurn(why)
		}()
		return true
	}
	l.current = c
	n := l.turns.Add(1)
	if !l.watched.Load() {
		l.rouseWatcher()
	}
	err := c.run(why, o.buf)
	if !l.turns.CompareAndSwap(n, n+1) {
		c.comeBack(err)
		return false
	}
	c.finish(err)
	return true
}

// run is the session's part of a turn.
func (c *loopConn) run(why turnCause, buf []byte) (err error) {
	c.burst = 0
	switch {
	case c.s.Has(commands.ClientCloseSoon):
		err = io.EOF // its connection is cut: what it still said is not looked at
	case why == reported && c.full():
		if err = c.push(); err == nil && !c.full() {
			err = c.s.resume()
		}
	case why == reported:
		err = c.read(buf)
	case !c.full():
		err = c.s.resume()
	}
	if c.over(err) {
		c.leave() // which takes long if it watched or subscribed to much
	}
	return err
}

// longTurn is a turn beside the loop, with a buffer of its own.
func (c *loopConn) longTurn(why turnCause) {
	began := time.Now()
	err := c.run(why, make([]byte, loopRead))
	c.heavy = time.Since(began) > shortTurn
	c.comeBack(err)
}

// sendAway takes a client out of the owner's hands for a long turn.
func (c *loopConn) sendAway() {
	c.away, c.heavy = true, true
	// Ends that are hung up are reported whatever is asked for. If the socket
	// cannot be taken out, it is reported for nothing.
	_ = c.l.control(syscall.EPOLL_CTL_DEL, c.fd, 0)
}

// comeBack gives a client whose long turn is over to the owner of its loop.
func (c *loopConn) comeBack(err error) {
	l := c.l
	c.err = err
	l.mu.Lock()
	l.back = append(l.back, c)
	l.mu.Unlock()
	l.rouse()
}

// takeBack goes on with a client after a long turn. It is woken, as others may
// have woken it in vain meanwhile.
func (c *loopConn) takeBack() {
	c.away = false
	if c.over(c.err) {
		c.end()
		return
	}
	events := uint32(syscall.EPOLLIN)
	if c.deaf = c.unsure && !c.full(); c.deaf {
		events = 0
	} else if c.full() {
		events = syscall.EPOLLOUT
	}
	if err := c.l.control(syscall.EPOLL_CTL_ADD, c.fd, events); err != nil {
		c.end()
		return
	}
	c.finish(nil)
	c.l.resuming = append(c.l.resuming, c)
}

// watch gives the loop another owner when a turn takes long. It ends with the
// loop.
func (l *loop) watch() {
	tick := time.NewTicker(turnPatience)
	defer tick.Stop()
	tick.Stop() // until the first turn
	last, idle := uint64(0), 0
	for {
		select {
		case <-l.gone:
			return
		case <-l.stir:
			tick.Reset(turnPatience)
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
				l.rouseWatcher()
			}
		}
	}
}

// rouseWatcher has turns watched again.
func (l *loop) rouseWatcher() {
	if l.watched.CompareAndSwap(false, true) {
		l.stir <- struct{}{}
	}
}

// changeOwner starts a new owner. The one before is in the turn of a client, and
// keeps nothing but that.
func (l *loop) changeOwner() {
	l.current.sendAway()
	l.srv.workers.Add(1)
	// Ends as the first one does, see startLoops.
	go func() {
		defer l.srv.workers.Done()
		l.run()
	}()
}
