package rig

import (
	"sync/atomic"
	"time"
)

// Clock is the machine's, moved on by what a test says; timers run by the
// machine's. It is a server.Clock.
type Clock struct{ ahead atomic.Int64 }

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// Now is the time that the test has reached.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// Since is the time that has passed since t.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// AfterFunc is time.AfterFunc.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
