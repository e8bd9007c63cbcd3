package hold

import (
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/server/internal/clock"
)

// Pause holds commands of some or all clients back: by CLIENT PAUSE until a time, and while the server hands its leadership over.
type Pause struct {
	gate
	clock clock.Clock
	mode  atomic.Int32 // conn.PauseMode, that of both; read without mu, changed under it

	client  conn.PauseMode // that of CLIENT PAUSE; guarded by mu
	until   int64          // unix milliseconds; guarded by mu
	settles int            // for how many changes of the leader; guarded by mu
	stop    func()         // the timer's; guarded by mu
}

// Open is called once, before the first pause.
func (p *Pause) Open(c clock.Clock) { p.clock = c }

// Mode is which commands are held back.
func (p *Pause) Mode() conn.PauseMode { return conn.PauseMode(p.mode.Load()) }

// Hold registers a client whose call is held back, to be woken later. It returns false if there is no pause any more.
func (p *Pause) Hold(c Client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Mode() == conn.PauseNone {
		return false
	}
	p.addLocked(c)
	return true
}

// Set holds commands back until a time, or ends the pause.
func (p *Pause) Set(mode conn.PauseMode, until int64) {
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
	now := p.clock.Now().UnixMilli()
	if p.client != conn.PauseNone && p.until > now {
		mode, until = max(mode, p.client), max(until, p.until)
	}
	p.client, p.until = mode, until
	p.applyLocked()
	p.stop = p.clock.AfterFunc(max(0, time.Duration(until-now)*time.Millisecond), func() { p.end(until) })
}

func (p *Pause) end(until int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == until {
		p.endLocked()
	}
}

func (p *Pause) endLocked() {
	p.client, p.until = conn.PauseNone, 0
	p.applyLocked()
}

// Settle begins or ends, by 1 or -1, a time in which calls that write are held back.
func (p *Pause) Settle(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settles += by
	p.applyLocked()
}

// applyLocked makes the mode the stricter one of both pauses.
func (p *Pause) applyLocked() {
	mode := p.client
	if p.settles > 0 {
		mode = max(mode, conn.PauseWrite)
	}
	if before := p.mode.Swap(int32(mode)); int32(mode) < before {
		p.wakeLocked()
	}
}

// State is what INFO shows of a pause: why, which calls, and for how many more ms if that is known.
func (p *Pause) State() (reason, actions string, left int64) {
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
		reason, left = "client_pause", max(0, p.until-p.clock.Now().UnixMilli())
	case p.settles > 0:
		reason = "failover_in_progress"
	}
	return reason, actions, left
}

// Active reports whether commands are held back, for background work that has
// to pause too (expiry, eviction).
func (p *Pause) Active() bool { return p.mode.Load() != int32(conn.PauseNone) }
