package server

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// attendant runs the calls of waiting clients again where no client's command does
// that: when the store has removed a key by itself, as it expired or was evicted,
// and when a call asked to be run again after some time.
type attendant struct {
	mu   sync.Mutex
	gone []readyKey // removed by the store while clients waited for them; guarded by mu

	running sync.Mutex // guards what follows
	s       *session   // of no client; nil before the first use
	stopped bool
}

// removed notes that the store has removed a key. The lock of its shard is held.
func (a *attendant) removed(w *waiting, db int, key []byte) {
	if !w.wanted(db, key) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = append(a.gone, readyKey{db, string(key)})
}

// serveRemoved serves the clients that wait for keys that the store has removed.
func (srv *Server) serveRemoved() {
	a := &srv.attendant
	a.mu.Lock()
	gone := a.gone
	a.gone = nil
	a.mu.Unlock()
	for _, k := range gone {
		srv.attend(k)
	}
}

// remind has the call of a waiter run again after so many ms, in place of the time
// that it was given before; 0 is never.
func (srv *Server) remind(w *waiter, millis int64) {
	if millis == 0 {
		return
	}
	stop := srv.clock.AfterFunc(time.Duration(millis)*time.Millisecond, func() {
		if srv.pause.active() {
			srv.remind(w, cronPeriod.Milliseconds())
			return
		}
		for _, key := range w.keys {
			if w.isDone() {
				return
			}
			srv.attend(readyKey{w.db, string(key)})
		}
	})
	srv.waiting.plan(w, stop)
}

// attend runs the calls that wait for a key again.
func (srv *Server) attend(k readyKey) {
	a := &srv.attendant
	a.running.Lock()
	defer a.running.Unlock()
	if a.stopped {
		return
	}
	if a.s == nil {
		a.s = &session{host: host{srv}, tx: srv.store.NewTx()}
		a.s.in.argv = make([][]byte, 1)
	}
	s := a.s
	s.turn.start(srv.clock.Now())
	s.ctx.Now = s.turn.millis()
	s.in.argv[0] = []byte(k.key)
	s.keys = append(s.keys[:0], commands.KeyRef{})
	s.shards = persistence.Shards{}
	s.shards.Add(s.tx.Expect(s.in.argv[0]))
	if s.locked = s.lockToServe(); !s.locked { // a script has run for too long
		srv.clock.AfterFunc(cronPeriod, func() { srv.attend(k) })
		return
	}
	defer s.release()
	switch waits, gone := srv.mayChange(s.in.argv[0]); {
	case waits:
		srv.clock.AfterFunc(cronPeriod, func() { srv.attend(k) })
		return
	case gone: // the clients are being sent to another server
		return
	}
	if !s.tx.Writable() { // the clients that wait are being disconnected
		return
	}
	s.tx.OnChange = s.changed
	s.ready = append(s.ready[:0], k)
	s.commit()
}

// stop runs no more calls. One that is running ends first.
func (a *attendant) stop() {
	a.running.Lock()
	defer a.running.Unlock()
	a.stopped = true
}
