package server

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
)

// attendant runs the calls of waiting clients again where no client's command does
// that: when the store has removed a key by itself, as it expired or was evicted,
// and when a call asked to be run again after some time. It is the [blocking.Host].
type attendant struct {
	srv *Server

	running sync.Mutex // guards what follows
	s       *session   // of no client; nil before the first use
	stopped bool
}

func (a *attendant) AfterFunc(d time.Duration, f func()) (stop func()) {
	return a.srv.clock.AfterFunc(d, f)
}

func (a *attendant) Paused() bool { return a.srv.pause.Active() }

// Outage says which waits end while slots of other groups are down and a call for any slot is refused for that reason
// (cluster-require-full-coverage): the clients get what a call gets, as in Redis. They would learn nothing otherwise, and those
// that could add to the keys are refused.
func (a *attendant) Outage() func(*blocking.Call) error {
	if a.srv.done.Err() != nil {
		return nil
	}
	if own, covered := a.srv.opts.Group.Shard(); own == nil || covered {
		return nil
	}
	return func(c *blocking.Call) error {
		if len(c.Keys) > 0 && a.srv.refusesUncovered(c.Command.Flags) {
			return errClusterDown
		}
		return nil
	}
}

func (a *attendant) Ended(c *blocking.Call, took time.Duration, failed bool) {
	a.srv.stats.called(c.Command, took, failed)
}

// Attend runs the calls that wait for a key again.
func (a *attendant) Attend(k blocking.Key) {
	srv := a.srv
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
	s.in.argv[0] = []byte(k.Name)
	s.keys = append(s.keys[:0], commands.KeyRef{})
	s.shards = persistence.Shards{}
	s.shards.Add(s.tx.Expect(s.in.argv[0]))
	if s.locked = s.lockToServe(); !s.locked { // a script has run for too long
		srv.clock.AfterFunc(cronPeriod, func() { a.Attend(k) })
		return
	}
	defer s.release()
	switch waits, gone := srv.mayChange(s.in.argv[0]); {
	case waits:
		srv.clock.AfterFunc(cronPeriod, func() { a.Attend(k) })
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
