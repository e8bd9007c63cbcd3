package logs

import (
	"sync"
	"time"
)

// Level is how important a line of the log is.
type Level int

// Levels, the least important one first.
const (
	Debug Level = iota
	Info
	Notice
	Warn
	Error
)

// Func writes a line.
type Func func(level Level, format string, args ...any)

// period is how long what was said is not said again: a member whose connections are refused tries every few seconds.
const period = time.Minute

// Sometimes remembers what was said. The zero value is ready for use.
type Sometimes struct {
	mu   sync.Mutex
	last map[string]time.Duration // guarded by mu
}

// Due reports whether something may be said at the time now of a monotonic clock, and notes that it is.
func (s *Sometimes) Due(what string, now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, known := s.last[what]; known && now-at < period {
		return false
	}
	if s.last == nil || len(s.last) > 1000 { // anything can connect
		s.last = map[string]time.Duration{}
	}
	s.last[what] = now
	return true
}
