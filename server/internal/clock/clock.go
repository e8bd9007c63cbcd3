// Package clock is the time as rooms of the server have it, and waits in that time.
package clock

import (
	"context"
	"fmt"
	"time"
)

// Clock tells the time.
type Clock interface {
	Now() time.Time
	Since(t time.Time) time.Duration
	// AfterFunc calls f once, in a goroutine of its own, when d has passed.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// Within returns a context that ends after a time, or with ctx.
func Within(ctx context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	return WithinCause(ctx, c, d, fmt.Errorf("it took longer than %v", d))
}

// WithinCause is Within with a cause of its own when the time has passed.
func WithinCause(ctx context.Context, c Clock, d time.Duration, late error) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancelCause(ctx)
	stop := c.AfterFunc(d, func() { cancel(late) })
	return limited, func() { stop(); cancel(nil) }
}

// Rest waits for a time, or until ctx ends, whose error it returns.
func Rest(ctx context.Context, c Clock, d time.Duration) error {
	limited, cancel := Within(ctx, c, d)
	defer cancel()
	<-limited.Done()
	return ctx.Err()
}

// After returns a channel that is closed when d has passed.
func After(c Clock, d time.Duration) <-chan struct{} {
	passed := make(chan struct{})
	c.AfterFunc(d, func() { close(passed) })
	return passed
}
