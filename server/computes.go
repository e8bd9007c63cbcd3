package server

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
)

// Computations. A call that takes long and needs no lock (SCHED.SIMULATE) copies
// what it needs while its keys are locked, and is then parked like a call that
// waits for a key: a waiter without keys, which a worker ends. Whatever ends a
// wait before that (the client leaves, CLIENT KILL, CLIENT UNBLOCK) ends the
// context of the work too, as waiter.stop stops a timer.
//
// Workers are started when there is work and end when there is none. There are
// half as many as processors, so that commands always have some to run on. One that waits
// for another server (MIGRATE) does not count.

// maxComputes is how many computations may wait for a worker.
const maxComputes = 16

// maxComputeBytes is what running and waiting computations may hold together. A
// single one may hold more.
const maxComputeBytes = 256 << 20

// computes is the work that waits for a worker.
type computes struct {
	mu      sync.Mutex
	line    []compute // in order of arrival; guarded by mu
	workers int       // running; guarded by mu
	holds   int       // bytes, of those in line and those that run; guarded by mu
}

type compute struct {
	w    *waiter
	ctx  context.Context
	work commands.Work

	holds int // bytes
}

// MayCompute reports whether there is room for one more computation, which holds
// so many bytes.
func (h host) MayCompute(holds int) bool {
	q := &h.srv.computes
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.line) < maxComputes && (q.holds == 0 || q.holds+holds <= maxComputeBytes)
}

// abroad runs a part of a computation that waits for the network. Meanwhile another worker
// takes its place.
func (srv *Server) abroad(f func()) {
	q := &srv.computes
	q.mu.Lock()
	q.workers--
	srv.startWorker()
	q.mu.Unlock()
	f()
	q.mu.Lock()
	q.workers++
	q.mu.Unlock()
}

// startWorker starts a worker if there is work and few workers run. q.mu is held, and the
// caller counts as one of srv.workers.
func (srv *Server) startWorker() {
	q := &srv.computes
	if len(q.line) > 0 && q.workers < max(1, runtime.GOMAXPROCS(0)/2) {
		q.workers++
		srv.workers.Add(1)
		go srv.computeAll()
	}
}

// compute gives the work of a parked call to the workers. The client is still
// there and counts as one of srv.workers, so Close waits for a worker that is
// started here.
func (srv *Server) compute(w *waiter, work commands.Work, holds int) {
	ctx, cancel := context.WithCancel(srv.done)
	srv.waiting.arm(w, cancel)
	q := &srv.computes
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line = append(q.line, compute{w, ctx, work, holds})
	q.holds += holds
	srv.startWorker()
}

// computeAll is a worker. It ends when nothing is left; when the server is
// closed, the contexts have ended and what is left ends at once.
func (srv *Server) computeAll() {
	defer srv.workers.Done()
	for {
		c, ok := srv.computes.next()
		if !ok {
			return
		}
		srv.computeOne(c)
		srv.computes.done(c.holds)
	}
}

// next takes the work that has waited longest. If there is none, ok is false
// and the worker is no longer counted.
func (q *computes) next() (c compute, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.line) == 0 {
		q.line = nil
		q.workers--
		return c, false
	}
	c = q.line[0]
	q.line[0] = compute{}
	q.line = q.line[1:]
	return c, true
}

// done records the end of a computation.
func (q *computes) done(holds int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holds -= holds
}

// computeOne runs the work, and ends the wait with the result. A panic
// disconnects the waiting client only.
func (srv *Server) computeOne(c compute) {
	defer func() {
		if bug := recover(); bug != nil {
			srv.logf(LogWarning, "panic in the call of client %d: %v\n%s", c.w.s.ID, bug, debug.Stack())
			srv.waiting.cancel(c.w)
			c.w.s.conn.HangUp()
		}
	}()
	if c.ctx.Err() != nil {
		return // its client has left
	}
	start := srv.clock.Now()
	answer, err := c.work(c.ctx)
	if c.ctx.Err() != nil {
		return
	}
	if err != nil {
		text, known := commands.Text(err)
		if !known {
			srv.logf(LogWarning, "%s failed: %v", c.w.cmd.FullName(), err)
		}
		srv.stats.countError(string(text))
		answer = func(r *commands.Reply) { r.Error(text) }
	}
	took := srv.clock.Since(start)
	if srv.logs[admin.SlowCalls].wants(int64(took)) { // before the reply: its client may look at the log next
		srv.addSlow(c.w.s, c.w.cmd, srv.settings().abridge(c.w.cmd.Shown(c.w.argv)), start, took)
	}
	srv.endWaitAfter(c.w, took, err != nil, answer)
}
