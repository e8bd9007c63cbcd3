package server

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/commands/script"
)

// pause holds commands of some or all clients back: by CLIENT PAUSE until a time, and while the server hands its leadership over.
type pause struct {
	mode atomic.Int32 // conn.PauseMode, that of both; read without mu

	mu      sync.Mutex
	client  conn.PauseMode // that of CLIENT PAUSE; guarded by mu
	until   int64          // unix milliseconds; guarded by mu
	settles int            // for how many changes of the leader; guarded by mu
	held    held           // guarded by mu
	stop    func()         // the timer's; guarded by mu
}

// held are clients whose calls are held back, the bytes of which stay in their input. A mutex of the owner guards it.
type held map[*session]struct{}

func (h *held) add(s *session) {
	if *h == nil {
		*h = held{}
	}
	(*h)[s] = struct{}{}
}

// wake has all of them try again, after which none is held.
func (h *held) wake() {
	for s := range *h {
		s.kick()
	}
	*h = nil
}

// holds reports whether the call has to wait, and registers the session to be
// woken later.
func (p *pause) holds(cmd *commands.Command, argv [][]byte, s *session) bool {
	mode := conn.PauseMode(p.mode.Load())
	if mode == conn.PauseNone || s.observer || s.applies || s.writesNothing(cmd, argv, mode) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode.Load() == int32(conn.PauseNone) {
		return false
	}
	p.held.add(s)
	return true
}

// forget removes a client that leaves.
func (p *pause) forget(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, s)
}

// count is the number of clients whose commands are held back.
func (p *pause) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.held)
}

// writesNothing reports that a pause of writes lets the call through: neither
// it nor, for EXEC, any queued call has effects.
func (s *session) writesNothing(cmd *commands.Command, argv [][]byte, mode conn.PauseMode) bool {
	if mode == conn.PauseAll {
		return false
	}
	if s.Has(commands.ClientMulti) && !cmd.Is(commands.LocksQueue) {
		return true
	}
	if !cmd.Is(commands.LocksQueue) {
		return s.quiet(cmd, argv)
	}
	for _, q := range s.txn.queue {
		if !s.quiet(q.cmd, q.argv) {
			return false
		}
	}
	return true
}

// quiet reports whether a call has no effects.
func (s *session) quiet(cmd *commands.Command, argv [][]byte) bool {
	return cmd.Flags&(commands.Write|commands.MayReplicate) == 0 ||
		cmd.Is(commands.RunsScripts) && script.Quiet(s.srv.scripts.engine, cmd, argv)
}

// ClientPause holds commands back until a time, or ends the pause.
func (h host) ClientPause(mode conn.PauseMode, until int64) { h.srv.setPause(mode, until) }

func (srv *Server) setPause(mode conn.PauseMode, until int64) {
	p := &srv.pause
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	if mode == conn.PauseNone {
		p.endLocked()
		return
	}
	// The stricter mode and the later end apply until both pauses are over.
	if now := srv.clock.Now().UnixMilli(); p.client != conn.PauseNone && p.until > now {
		mode, until = max(mode, p.client), max(until, p.until)
	}
	p.client, p.until = mode, until
	p.applyLocked()
	wait := srv.millisUntil(until)
	p.stop = srv.clock.AfterFunc(wait, func() { srv.endPause(until) })
}

func (srv *Server) endPause(until int64) {
	p := &srv.pause
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == until {
		p.endLocked()
	}
}

func (p *pause) endLocked() {
	p.client, p.until = conn.PauseNone, 0
	p.applyLocked()
}

// settle begins or ends, by 1 or -1, a time in which calls that write are held back.
func (p *pause) settle(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settles += by
	p.applyLocked()
}

// applyLocked makes the mode the stricter one of both pauses.
func (p *pause) applyLocked() {
	mode := p.client
	if p.settles > 0 {
		mode = max(mode, conn.PauseWrite)
	}
	if before := p.mode.Swap(int32(mode)); int32(mode) < before {
		p.held.wake()
	}
}

// state is what INFO shows of a pause: why, which calls, and for how many more ms if that is known.
func (p *pause) state(now int64) (reason, actions string, left int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	reason, actions = "none", "none"
	switch conn.PauseMode(p.mode.Load()) {
	case conn.PauseWrite:
		actions = "write"
	case conn.PauseAll:
		actions = "all"
	}
	switch {
	case p.client != conn.PauseNone:
		reason, left = "client_pause", max(0, p.until-now)
	case p.settles > 0:
		reason = "failover_in_progress"
	}
	return reason, actions, left
}

// active reports whether commands are held back, for background work that has
// to pause too (expiry, eviction).
func (p *pause) active() bool { return p.mode.Load() != int32(conn.PauseNone) }
