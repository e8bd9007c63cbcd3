package sim

import (
	"sync"
	"time"
)

// clock is the time of one life of the server. It stands still until the
// simulation moves it, which also makes the calls that become due.
type clock struct {
	mu     sync.Mutex
	now    time.Time // guarded by mu
	timers []*timer  // guarded by mu; in the order of their planning
}

type timer struct {
	at time.Time
	f  func()
}

// epoch is when every simulation begins.
var epoch = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// Now is the time that the simulation has reached.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since is the time that the simulation has moved on from t.
func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// AfterFunc plans a call.
func (c *clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return func() { c.remove(t) }
}

func (c *clock) remove(t *timer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.timers {
		if x == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

// move sets the clock forward. What becomes due is called by due.
func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// due takes the call that has been due for longest, nil if there is none.
func (c *clock) due() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := -1
	for i, t := range c.timers {
		if !t.at.After(c.now) && (first < 0 || t.at.Before(c.timers[first].at)) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	f := c.timers[first].f
	c.timers = append(c.timers[:first], c.timers[first+1:]...)
	return f
}
