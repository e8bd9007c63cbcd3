package report

import (
	"sync"
	"time"
)

// Cached is a value that is refreshed when it is older than TTL. Requests that
// come meanwhile wait for the one that refreshes it.
type Cached[T any] struct {
	TTL time.Duration

	mu    sync.Mutex
	at    time.Time // guarded by mu
	value T         // guarded by mu
}

// Get returns the value, gathered by load if need be. An error is not kept.
func (c *Cached[T]) Get(now time.Time, load func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := now.Sub(c.at); !c.at.IsZero() && age >= 0 && age < c.TTL {
		return c.value, nil
	}
	value, err := load()
	if err == nil {
		c.value, c.at = value, now
	}
	return value, err
}
