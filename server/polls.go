package server

import (
	"sync"
	"time"
)

// polls are the calls that wait for other members. They are looked at when the engine says that
// those have more, and now and then.
type polls struct {
	wake chan struct{} // has room for one: a wake that is not taken yet is enough

	mu  sync.Mutex
	all map[*poll]struct{} // guarded by mu
}

// poll is a call that waits until something is so.
type poll struct {
	w  *waiter
	so func() bool
}

func newPolls() *polls { return &polls{wake: make(chan struct{}, 1), all: map[*poll]struct{}{}} }

func (p *polls) enter(o *poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[o] = struct{}{}
}

func (p *polls) leave(o *poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, o)
}

// list returns the calls that wait.
func (p *polls) list() (all []*poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for o := range p.all {
		all = append(all, o)
	}
	return all
}

// again has all calls looked at soon. It waits for nothing.
func (p *polls) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// poll ends the wait of a waiter when something is so. Beside the looks that polls have it is looked at after so many
// ms, and then after twice as many each time, up to a round of the cron.
func (srv *Server) poll(w *waiter, so func() bool, millis int64) {
	o := &poll{w, so}
	stop := srv.clock.AfterFunc(time.Duration(millis)*time.Millisecond, func() {
		if !srv.look(o) {
			srv.poll(w, so, min(2*millis, cronPeriod.Milliseconds()))
		}
	})
	srv.polls.enter(o)
	srv.waiting.plan(w, func() {
		stop()
		srv.polls.leave(o)
	})
	srv.polls.again() // what came while the call was not there yet has woken nobody for it
}

// look ends the wait of a call if it is over, and reports whether it is.
func (srv *Server) look(o *poll) bool {
	if !o.w.isDone() && o.so() {
		srv.endWait(o.w, o.w.expire)
	}
	return o.w.isDone()
}

// runPolls looks at the calls that wait when others have more. It ends with the server.
func (srv *Server) runPolls() {
	for {
		select {
		case <-srv.done.Done():
			return
		case <-srv.polls.wake:
		}
		for _, o := range srv.polls.list() {
			srv.look(o)
		}
	}
}
