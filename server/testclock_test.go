package server

import (
	"sync"
	"time"
)

// testClock is a clock that moves only when a test moves it.
type testClock struct {
	mu     sync.Mutex
	now    time.Time    // guarded by mu
	timers []*testTimer // guarded by mu; in no order
}

type testTimer struct {
	at time.Time
	f  func()
}

func newTestClock() *testClock {
	return &testClock{now: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)}
}

// Now is the time that the test has reached.
func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since is the time that the test has moved on from t.
func (c *testClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// AfterFunc plans a call, which advance makes.
func (c *testClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &testTimer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, t)
	return func() { c.remove(t) }
}

func (c *testClock) remove(t *testTimer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.timers {
		if x == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

// advance moves the clock and makes the calls that become due, one after the
// other and each at its time.
func (c *testClock) advance(d time.Duration) {
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

// stall moves the clock and makes no calls, as a machine does that stands still.
func (c *testClock) stall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// due takes the earliest call planned up to end and moves the clock there.
func (c *testClock) due(end time.Time) *testTimer {
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
