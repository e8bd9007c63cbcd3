// Package clocktest is a clock for tests of the server and its rooms.
package clocktest

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when a test moves it.
type Clock struct {
	mu     sync.Mutex
	now    time.Time // guarded by mu
	timers []*timer  // guarded by mu; in no order
}

type timer struct {
	at time.Time
	f  func()
}

// New returns a clock that stands still at some moment.
func New() *Clock {
	return &Clock{now: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)}
}

// Now is the time that the test has reached.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since is the time that the test has moved on from t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// AfterFunc plans a call, which Advance makes.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, t)
	return func() { c.remove(t) }
}

func (c *Clock) remove(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.timers {
		if x == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

// Advance moves the clock and makes the calls that become due, one after the
// other and each at its time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	c.mu.Unlock()
	for t := c.due(end); t != nil; t = c.due(end) {
		t.f()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = end
}

// Stall moves the clock and makes no calls, as a machine does that stands still.
func (c *Clock) Stall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// due takes the earliest call planned up to end and moves the clock there.
func (c *Clock) due(end time.Time) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := -1
	for i, t := range c.timers {
		if !t.at.After(end) && (first < 0 || t.at.Before(c.timers[first].at)) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	t := c.timers[first]
	c.timers = append(c.timers[:first], c.timers[first+1:]...)
	if t.at.After(c.now) {
		c.now = t.at
	}
	return t
}

// Planned counts the calls that are planned.
func (c *Clock) Planned() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}
