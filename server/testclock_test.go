package server

import (
	"time"

	"github.com/vigildb/vigil/server/internal/clock/clocktest"
)

// testClock is a clock that moves only when a test moves it.
type testClock struct{ *clocktest.Clock }

func newTestClock() *testClock { return &testClock{clocktest.New()} }

func (c *testClock) advance(d time.Duration) { c.Advance(d) }

func (c *testClock) stall(d time.Duration) { c.Stall(d) }
