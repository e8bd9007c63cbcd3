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
	// ImportPeriod is how often the server looks whether slots have come, while calls are held back for them.
	ImportPeriod = 5 * time.Millisecond
)

// Importing holds calls back for slots that other groups have given to this one, which has not taken them yet: clients do not
// expect -TRYAGAIN for a call of one key, for which Redis does not send it, and some do not try again.
type Importing struct {
	gate
	done   context.Context
	clock  clock.Clock
	coming func() *slots.Set
	waits  atomic.Bool // whether of is not nil; changed under mu

	of    *slots.Set // that come, nil if no calls are held back for any; guarded by mu
	since time.Time  // when the first call was held back for them; guarded by mu
}

// Open is called once: coming are the slots that come now. Nothing is looked at when done has ended.
func (i *Importing) Open(done context.Context, c clock.Clock, coming func() *slots.Set) {
	i.done, i.clock, i.coming = done, c, coming
}

// Any reports whether calls are held back, or were lately.
func (i *Importing) Any() bool { return i.waits.Load() }

// Hold registers a client whose call is held back, to be woken when other slots come than now. It returns false if that
// takes too long.
func (i *Importing) Hold(c Client, coming *slots.Set) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil {
		i.of, i.since = coming, i.clock.Now()
		i.waits.Store(true)
		i.clock.AfterFunc(ImportPeriod, i.look)
	}
	if i.clock.Since(i.since) >= Patience {
		return false
	}
	i.addLocked(c)
	return true
}

// look wakes the clients whose calls are held back when other slots come than before, or after too long.
func (i *Importing) look() {
	if i.done.Err() != nil {
		return
	}
	coming := i.coming()
	i.mu.Lock()
	defer i.mu.Unlock()
	over := !coming.Equal(i.of)
	if over || i.clock.Since(i.since) >= Patience {
		i.wakeLocked()
	}
	if over {
		i.of = nil
		i.waits.Store(false)
		return
	}
	i.clock.AfterFunc(ImportPeriod, i.look)
}
