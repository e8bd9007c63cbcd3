package main

import (
	"context"
	"sync"
	"time"
)

// testClock is the clock of server, site and workers. It moves when a test moves
// it, or when all workers sleep: then to the time at which the first wakes up.
// So a worker that waits for a host lets the others finish first, as if they
// took no time.
type testClock struct {
	mu      sync.Mutex
	now     time.Time           // guarded by mu
	timers  map[*testTimer]bool // guarded by mu
	workers int                 // guarded by mu: that do not sleep
	asleep  []*testTimer        // guarded by mu
}

type testTimer struct {
	at time.Time
	f  func()
}

func newTestClock() *testClock {
	return &testClock{now: time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC), timers: make(map[*testTimer]bool)}
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *testClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &testTimer{c.now.Add(d), f}
	c.timers[t] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// enter and leave are called around the turn of a worker.
func (c *testClock) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers++
}

func (c *testClock) leave() {
	c.mu.Lock()
	c.workers--
	c.mu.Unlock()
	c.wake()
}

// wake wakes the first sleeper if nobody is awake.
func (c *testClock) wake() {
	c.mu.Lock()
	if c.workers > 0 || len(c.asleep) == 0 {
		c.mu.Unlock()
		return
	}
	first := 0
	for i, s := range c.asleep {
		if s.at.Before(c.asleep[first].at) {
			first = i
		}
	}
	s := c.asleep[first]
	c.asleep = append(c.asleep[:first], c.asleep[first+1:]...)
	c.workers++
	c.mu.Unlock()
	c.reach(s.at)
	s.f()
}

// Sleep is called in a turn.
func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	awake := make(chan struct{})
	c.mu.Lock()
	c.workers--
	c.asleep = append(c.asleep, &testTimer{c.now.Add(d), func() { close(awake) }})
	c.mu.Unlock()
	c.wake()
	<-awake
	return ctx.Err()
}

// reach moves the clock to a time, unless it is past it, and makes the calls
// that became due.
func (c *testClock) reach(end time.Time) {
	c.mu.Lock()
	if c.now.Before(end) {
		c.now = end
	}
	var due []func()
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}
