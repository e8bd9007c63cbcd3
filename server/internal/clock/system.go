package clock

import "time"

// System is the machine's clock.
type System struct{}

// Now is the time of day with its monotonic part.
func (System) Now() time.Time { return time.Now() }

// Since reads only the monotonic clock.
func (System) Since(t time.Time) time.Duration { return time.Since(t) }

// AfterFunc is time.AfterFunc.
func (System) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
