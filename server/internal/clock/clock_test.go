package clock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vigildb/vigil/server/internal/clock"
	"github.com/vigildb/vigil/server/internal/clock/clocktest"
)

// A pause ends when the clock says so, and before that with its context, whose error it returns.
func TestPausesEndWithTheClockOrTheContext(t *testing.T) {
	c := clocktest.New()
	rested := make(chan error, 1)
	rest := func(ctx context.Context) { rested <- clock.Rest(ctx, c, time.Hour) }
	go rest(t.Context())
	for c.Planned() == 0 {
		select {
		case err := <-rested:
			t.Fatalf("it rests for no time: %v", err)
		default:
		}
	}
	c.Advance(time.Hour)
	if err := <-rested; err != nil {
		t.Errorf("after an hour: %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if rest(ctx); !errors.Is(<-rested, context.Canceled) || c.Planned() != 0 {
		t.Errorf("the end of the context ends no pause: %d are planned", c.Planned())
	}
	passed := clock.After(c, time.Minute)
	c.Advance(time.Minute - 1)
	select {
	case <-passed:
		t.Error("a minute has passed too early")
	default:
	}
	c.Advance(1)
	<-passed
}
