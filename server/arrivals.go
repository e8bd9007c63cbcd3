package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

const (
	// arrivalPatience is for how long calls are held back for slots that do not come. They usually come within a few ms.
	arrivalPatience = time.Second
	// arrivalPeriod is how often the server looks whether slots have come, while calls are held back for them.
	arrivalPeriod = 5 * time.Millisecond
)

// arrivals holds calls back for slots that other groups have given to this one, which has not taken them yet: clients do not
// expect -TRYAGAIN for a call of one key, for which Redis does not send it, and some do not try again.
type arrivals struct {
	waits atomic.Bool // whether of is not nil; changed under mu

	mu    sync.Mutex
	of    *slots.Set // that come, nil if no calls are held back for any; guarded by mu
	since time.Time  // when the first call was held back for them; guarded by mu
	held  held       // guarded by mu
}

// holds registers a client whose call is held back, to be woken when other slots come than now. It returns false if that
// takes too long.
func (a *arrivals) holds(s *session, coming *slots.Set) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	clock := s.srv.clock
	if a.of == nil {
		a.of, a.since = coming, clock.Now()
		a.waits.Store(true)
		clock.AfterFunc(arrivalPeriod, s.srv.lookForArrivals)
	}
	if clock.Since(a.since) >= arrivalPatience {
		return false
	}
	a.held.add(s)
	return true
}

// lookForArrivals wakes the clients whose calls are held back when other slots come than before, or after too long.
func (srv *Server) lookForArrivals() {
	if srv.done.Err() != nil {
		return
	}
	coming, _, _ := srv.opts.Group.Passing()
	a := &srv.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	over := !coming.Equal(a.of)
	if over || srv.clock.Since(a.since) >= arrivalPatience {
		a.held.wake()
	}
	if over {
		a.of = nil
		a.waits.Store(false)
		return
	}
	srv.clock.AfterFunc(arrivalPeriod, srv.lookForArrivals)
}

// forget removes a client that leaves.
func (a *arrivals) forget(s *session) {
	if !a.waits.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.held, s)
}
