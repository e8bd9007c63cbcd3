package transport

import (
	"sync/atomic"
	"time"
)

// Cycles are what the transports of a server have done between their waits for clients: the
// rounds of loops, and the turns of clients that have a goroutine.
type Cycles struct {
	Count int64
	Busy  time.Duration // how long they took together
}

// cycles counts them.
type cycles struct{ count, nanos atomic.Int64 }

// done counts one that began at a time since epoch.
func (c *cycles) done(began time.Duration) {
	c.count.Add(1)
	c.nanos.Add(int64(sinceEpoch() - began))
}

func (c *cycles) addTo(sum *Cycles) {
	sum.Count += c.count.Load()
	sum.Busy += time.Duration(c.nanos.Load())
}

var epoch = time.Now()

// sinceEpoch reads the monotonic clock alone, which costs half of time.Now.
func sinceEpoch() time.Duration { return time.Since(epoch) }
