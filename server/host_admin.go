package server

import (
	"runtime/debug"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
)

// UnixMicros is the time of the call, for a script the time at which it began.
func (s *session) UnixMicros() int64 {
	if s.scripting.inside {
		return s.turn.at(s.scripting.began).UnixMicro()
	}
	return s.turn.at(s.turn.elapsed).UnixMicro()
}

// Synced reports whether all that the client wrote is on the device; with wait
// it is forced there first.
func (d *durability) Synced(_ *commands.Ctx, wait bool) bool {
	lsn := d.last()
	if wait {
		if err := d.s.srv.journal.WaitDurable(lsn); err != nil {
			d.s.srv.logf(logWarning, "WAITAOF: %v", err)
			return false
		}
	}
	return d.s.srv.journal.Confirmed(lsn)
}

// Rewrite stores all changed keys under their own names, in the background. A
// second call during that time is refused: what changes meanwhile need not be stored by it.
func (h host) Rewrite() error {
	srv := h.srv
	if !srv.rewrites.begin(srv.clock.Now()) {
		return commands.ErrRewriteInProgress
	}
	srv.workers.Add(1)
	// Ends when all is stored, or when Close cancels the context; Close waits.
	go func() {
		defer srv.workers.Done()
		err := srv.store.Passes().Materialise(srv.done)
		if err != nil && srv.done.Err() == nil {
			srv.logf(logWarning, "store all keys: %v", err)
		}
		srv.rewrites.end(srv.clock.Now(), err)
	}()
	return nil
}

// Shutdown asks the owner of the server to close it. The client gets no reply:
// its connection ends. With save a snapshot is written first; if that fails,
// the server keeps running unless force is set. While data is loaded there is
// nothing to save. While a script runs for too long, only a call with NOSAVE ends it.
func (s *session) Shutdown(c *commands.Ctx, o admin.ShutdownOptions) error {
	if !o.NoSave && s.srv.scripts.busy.Load() {
		return s.srv.scripts.busyError()
	}
	if o.Safe && !o.Force && !s.srv.mayLeave() {
		s.srv.logf(logWarning, "not shut down: %s", whyStay)
		return commands.ErrShutdownFailed
	}
	if o.Save && !s.srv.loading.Load() {
		if err := s.srv.Snapshot(); err != nil {
			s.srv.logf(logWarning, "%v", err)
			if !o.Force {
				return commands.ErrShutdownFailed
			}
		}
	}
	s.srv.logf(logNotice, "client %d requested a shutdown", s.ID)
	s.srv.stopListening() // before the client notices
	c.CloseAfter = true
	s.srv.downOnce.Do(func() { close(s.srv.shutdown) })
	return nil
}

// Sleep stops the caller, and with it every client that needs a key that the
// caller has locked.
func (h host) Sleep(millis int64) {
	wake := make(chan struct{}) // closed by the timer
	stop := h.srv.clock.AfterFunc(time.Duration(millis)*time.Millisecond, func() { close(wake) })
	defer stop()
	select {
	case <-wake:
	case <-h.srv.done.Done():
	}
}

// Reload stores everything, forgets memory and reads back.
func (h host) Reload() error { return h.srv.store.Passes().Reload() }

// Switch turns a part of the server on or off, for tests.
func (h host) Switch(part admin.DebugSwitch, on bool) {
	switch part {
	case admin.ActiveExpire:
		h.srv.activeExpire.Store(on)
	case admin.Cron:
		h.srv.cron.paused.Store(!on)
	case admin.DebugInScripts:
		h.srv.scripts.debug.Store(on)
	}
}

// FreeMemory collects garbage and gives free pages back to the system.
func (h host) FreeMemory() { debug.FreeOSMemory() }
