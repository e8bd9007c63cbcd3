package server

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lua"
)

// Scripts run in the turn of their client, one at a time: a call that runs one enters a
// gate before it locks anything. While a script has run for too long, every other call is
// refused with a BUSY error, and so are those that wait for the gate or for keys that the
// script holds (persistence/long.go). A timer looks every few milliseconds while scripts
// are in use, so that a script that is over in microseconds pays for no clock.

// scriptWatch is how often a running script is looked at. It bounds how long scripts go on
// that take memory.
const scriptWatch = 2 * time.Millisecond

// scriptGrace is how often a script is looked at before it is cut, when the server is
// closed: half a second if the machine keeps time. Time that passes without looks does not
// count, as a machine that stalls would cut short scripts. One that is cut has done half of
// its work, and a transaction around it goes on without the rest.
const scriptGrace = 250

// scriptRows is how many rows are kept for scripts, which repeat a few commands.
const scriptRows = 8

// lookup returns the row of a command that a script calls.
func (q *scripts) lookup(table *commands.Table, argv [][]byte) (cmd *commands.Command, sub bool) {
	slot := len(argv[0])
	if slot > 0 {
		slot += int(argv[0][0]) + int(argv[0][slot-1])
	}
	return q.rows[slot%scriptRows].lookup(table, argv)
}

// scripts is the scripts of a server.
type scripts struct {
	srv    *Server
	engine *lua.Engine
	busy   atomic.Bool // the running script has run for too long
	debug  atomic.Bool // scripts may call some of DEBUG, for tests
	giving atomic.Bool // memory is given back

	// Used inside the gate.
	reply commands.Reply       // to the commands of a script
	rows  [scriptRows]rowCache // of the commands that scripts called, by their names

	mu      sync.Mutex
	free    sync.Cond // the gate is free, or the script is busy; its L is &mu
	running bool      // a call is inside the gate; guarded by mu
	waits   int       // for free; guarded by mu
	run     uint64    // number of the call; guarded by mu
	watched bool      // the timer runs; guarded by mu
	late    *lua.Run  // what made the scripts busy, or nil; guarded by mu

	// Used by the timer only.
	seen      uint64 // call that it saw last
	seenSince time.Time
	closing   *lua.Run // what ran at the last look since Close
	looks     int      // at closing
}

func (q *scripts) open(clock Clock) {
	q.engine = lua.New(processorTime(clock))
	q.free.L = &q.mu
}

// processorTime returns what os.clock asks: the time that the process has spent computing,
// or where that is not known the time since now.
func processorTime(clock Clock) func() time.Duration {
	if user, system := cpuTimes(); user+system == 0 {
		began := clock.Now()
		return func() time.Duration { return clock.Since(began) }
	}
	return func() time.Duration {
		user, system := cpuTimes()
		return user + system
	}
}

// enter waits until no other script runs. It returns a BUSY error if that takes too
// long.
func (q *scripts) enter() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.running {
		if q.busy.Load() {
			return q.busyError()
		}
		q.waits++
		q.free.Wait()
		q.waits--
	}
	q.running = true
	q.run++
	if !q.watched {
		q.watched = true
		q.srv.clock.AfterFunc(scriptWatch, q.watch)
	}
	return nil
}

func (q *scripts) leave() {
	q.mu.Lock()
	q.running, q.late = false, nil
	q.busy.Store(false)
	if q.waits > 0 {
		q.free.Signal()
	}
	q.mu.Unlock()
}

// busyError is the error of a call that a long script keeps from running.
func (q *scripts) busyError() error {
	if q.engine.RunsFunction() {
		return lua.ErrBusyFunction
	}
	return lua.ErrBusyScript
}

// watch looks at the running script, and once more later if scripts are in use.
func (q *scripts) watch() {
	srv := q.srv
	q.mu.Lock()
	defer q.mu.Unlock()
	now := srv.clock.Now()
	q.engine.Watch(now, srv.settings().conf.LuaMemoryLimit)
	if (!q.running || q.seen != q.run) && q.engine.TookMuch() {
		q.giveBack()
	}
	if !q.running && (q.seen == q.run || srv.done.Err() != nil) {
		q.watched = false
		return
	}
	if srv.done.Err() != nil {
		q.lookAtClosing()
	}
	switch {
	case q.seen != q.run:
		q.seen, q.seenSince = q.run, now
	case q.running:
		limit := time.Duration(srv.settings().conf.BusyReplyThreshold) * time.Millisecond
		if limit > 0 && now.Sub(q.seenSince) >= limit && !q.busy.Load() {
			q.busy.Store(true)
			q.late = q.engine.Current()
			srv.logf(logWarning, "Slow script detected: still in execution after %d milliseconds. You can try killing the script using the SCRIPT KILL or FUNCTION KILL command.",
				now.Sub(q.seenSince).Milliseconds())
			srv.store.Overdue()
			q.free.Broadcast()
		}
	}
	srv.clock.AfterFunc(scriptWatch, q.watch)
}

// lookAtClosing cuts a script that goes on although the server is closed.
func (q *scripts) lookAtClosing() {
	if r := q.engine.Current(); r != q.closing {
		q.closing, q.looks = r, 0
	}
	if q.looks++; q.closing != nil && q.looks > scriptGrace {
		q.closing.End(lua.Shutdown)
	}
}

// endLate cuts the script that has run for too long, if there is one. Those that follow it
// in a transaction are not.
func (q *scripts) endLate() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.late != nil {
		q.late.End(lua.Shutdown)
	}
}

// giveBack gives memory back to the operating system which a script has used that is over.
// Go itself does so in the course of minutes, and collects garbage only when there is twice
// as much.
func (q *scripts) giveBack() {
	if q.giving.CompareAndSwap(false, true) {
		q.srv.clock.AfterFunc(0, func() {
			debug.FreeOSMemory()
			q.giving.Store(false)
		})
	}
}

// Engine returns the engine of the server.
func (h host) Engine() *lua.Engine { return h.srv.scripts.engine }

// KillScript ends the script that runs.
func (h host) KillScript(function bool) error { return h.srv.scripts.engine.Kill(function) }

// ShowRunning calls show with the script that runs, which does not end meanwhile, or with
// nil if there is none.
func (h host) ShowRunning(show func(*lua.Run)) {
	q := &h.srv.scripts
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.engine.Current(); q.running && r != nil {
		show(r)
		return
	}
	show(nil)
}

// checkBusy refuses calls while a script has run for too long.
func (a *admission) checkBusy(cmd *commands.Command) error {
	if !a.s.srv.scripts.busy.Load() || cmd.Is(commands.AllowBusy) {
		return nil
	}
	return a.s.srv.scripts.busyError()
}
