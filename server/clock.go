package server

import (
	"time"

	"github.com/vigildb/vigil/server/internal/clock"
)

// Clock is where the server takes its time from. Everything below the server
// gets the time as an argument; only a Clock reads it.
type Clock interface {
	Now() time.Time
	// Since is the time that has passed since t, a result of Now. It costs
	// less than Now, and is asked after every command.
	Since(t time.Time) time.Duration
	// AfterFunc calls f once, in a goroutine of its own, when d has passed.
	// Stopping it is best effort: f may be running already.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// SystemClock is the machine's clock.
type SystemClock struct{ clock.System }

// stopwatch is the time within one turn of a session. It reads the time of day
// once, and after each command only the time passed since; the time of a command
// is computed from both when it is needed.
type stopwatch struct {
	began   time.Time
	micros  int64         // began in unix microseconds
	elapsed time.Duration // from began to the end of the last command
}

func (w *stopwatch) start(now time.Time) { *w = stopwatch{began: now, micros: now.UnixMicro()} }

// millis is the end of the last command in unix milliseconds.
func (w *stopwatch) millis() int64 { return (w.micros + w.elapsed.Microseconds()) / 1000 }

// at is the time of a moment in the turn.
func (w *stopwatch) at(elapsed time.Duration) time.Time { return w.began.Add(elapsed) }
