package server

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
)

// internalClient runs the calls of waiting clients again where no client's command does
// that: when the store has removed a key by itself, as it expired or was evicted,
// and when a call asked to be run again after some time. It is the [blocking.Host].
type internalClient struct {
	srv *Server

	running sync.Mutex // guards what follows
	s       *session   // of no client; nil before the first use
	stopped bool
}

func (i *internalClient) AfterFunc(d time.Duration, f func()) (stop func()) {
	return i.srv.clock.AfterFunc(d, f)
}

func (i *internalClient) Paused() bool { return i.srv.pause.Active() }

// Outage says which waits end while slots of other groups are down and a call for any slot is refused for that reason
// (cluster-require-full-coverage): the clients get what a call gets, as in Redis. They would learn nothing otherwise, and those
// that could add to the keys are refused.
func (i *internalClient) Outage() func(*blocking.Call) error {
	if i.srv.done.Err() != nil {
		return nil
	}
	if own, covered := i.srv.opts.Group.Shard(); own == nil || covered {
		return nil
	}
	return func(c *blocking.Call) error {
		if len(c.Keys) > 0 && i.srv.refusesUncovered(c.Command.Flags) {
			return errClusterDown
		}
		return nil
	}
}

func (i *internalClient) Ended(c *blocking.Call, took time.Duration, failed bool) {
	i.srv.stats.called(c.Command, took, failed)
}

// Attend runs the calls that wait for a key again.
func (i *internalClient) Attend(k blocking.Key) {
	srv := i.srv
	i.running.Lock()
	defer i.running.Unlock()
	if i.stopped {
		return
	}
	if i.s == nil {
		i.s = makeSession(srv, srv.store.NewTx())
		i.s.in.argv = make([][]byte, 1)
	}
	s := i.s
	s.turn.start(srv.clock.Now())
	s.ctx.Now = s.turn.millis()
	s.in.argv[0] = []byte(k.Name)
	s.keys = append(s.keys[:0], commands.KeyRef{})
	s.shards = persistence.Shards{}
	s.shards.Add(s.tx.Expect(s.in.argv[0]))
	if s.locked = s.lockToServe(); !s.locked { // a script has run for too long
		srv.clock.AfterFunc(cronPeriod, func() { i.Attend(k) })
		return
	}
	defer s.release()
	switch waits, gone := srv.mayChange(s.in.argv[0]); {
	case waits:
		srv.clock.AfterFunc(cronPeriod, func() { i.Attend(k) })
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
func (i *internalClient) stop() {
	i.running.Lock()
	defer i.running.Unlock()
	i.stopped = true
}
