package servertest

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// clock stands still until a test moves it. Its timers go off in the time of the machine, or when
// the clock passes them.
type clock struct {
	mu      sync.Mutex
	now     time.Time           // guarded by mu
	timers  map[*timer]struct{} // those that are to go off; guarded by mu
	planned int                 // timers so far; guarded by mu
}

type timer struct {
	at    time.Time
	order int
	f     func()
	real  *time.Timer
}

func newClock(now time.Time) *clock { return &clock{now: now, timers: map[*timer]struct{}{}} }

// Now implements [server.Clock].
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since implements [server.Clock].
func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// AfterFunc implements [server.Clock].
func (c *clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.planned++
	t := &timer{at: c.now.Add(d), order: c.planned, f: f}
	c.timers[t] = struct{}{}
	t.real = time.AfterFunc(d, func() {
		if c.take(t) {
			t.f()
		}
	})
	return func() {
		if c.take(t) {
			t.real.Stop()
		}
	}
}

// take removes a timer, and reports whether it had not gone off.
func (c *clock) take(t *timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waits := c.timers[t]
	delete(c.timers, t)
	return waits
}

// set moves the clock and lets the timers go off that it passes, in their order. Those that these begin are for
// another time: background work is done once, not for every 100 ms that are passed over.
func (c *clock) set(now time.Time) {
	c.mu.Lock()
	c.now = now
	var due []*timer
	for t := range c.timers {
		if !t.at.After(now) {
			due = append(due, t)
		}
	}
	c.mu.Unlock()
	slices.SortFunc(due, func(a, b *timer) int { return cmp.Or(a.at.Compare(b.at), a.order-b.order) })
	for _, t := range due {
		if c.take(t) {
			t.real.Stop()
			t.f()
		}
	}
}
