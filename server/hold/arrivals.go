package hold

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/structures/slots"
)

const (
	// Patience is for how long calls are held back for slots that do not come. They usually come within a few ms.
	Patience = time.Second
	// ArrivalPeriod is how often the server looks whether slots have come, while calls are held back for them.
	ArrivalPeriod = 5 * time.Millisecond
)

// Arrivals holds calls back for slots that other groups have given to this one, which has not taken them yet: clients do not
// expect -TRYAGAIN for a call of one key, for which Redis does not send it, and some do not try again.
type Arrivals struct {
	gate
	done   context.Context
	clock  clock.Clock
	coming func() *slots.Set
	waits  atomic.Bool // whether of is not nil; changed under mu

	of    *slots.Set // that come, nil if no calls are held back for any; guarded by mu
	since time.Time  // when the first call was held back for them; guarded by mu
}

// Open is called once: coming are the slots that come now. Nothing is looked at when done has ended.
func (a *Arrivals) Open(done context.Context, c clock.Clock, coming func() *slots.Set) {
	a.done, a.clock, a.coming = done, c, coming
}

// Any reports whether calls are held back, or were lately.
func (a *Arrivals) Any() bool { return a.waits.Load() }

// Hold registers a client whose call is held back, to be woken when other slots come than now. It returns false if that
// takes too long.
func (a *Arrivals) Hold(c Client, coming *slots.Set) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of, a.since = coming, a.clock.Now()
		a.waits.Store(true)
		a.clock.AfterFunc(ArrivalPeriod, a.look)
	}
	if a.clock.Since(a.since) >= Patience {
		return false
	}
	a.addLocked(c)
	return true
}

// look wakes the clients whose calls are held back when other slots come than before, or after too long.
func (a *Arrivals) look() {
	if a.done.Err() != nil {
		return
	}
	coming := a.coming()
	a.mu.Lock()
	defer a.mu.Unlock()
	over := !coming.Equal(a.of)
	if over || a.clock.Since(a.since) >= Patience {
		a.wakeLocked()
	}
	if over {
		a.of = nil
		a.waits.Store(false)
		return
	}
	a.clock.AfterFunc(ArrivalPeriod, a.look)
}
