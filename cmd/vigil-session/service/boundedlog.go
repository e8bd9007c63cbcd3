package service

import (
	"log/slog"
	"sync"

	"golang.org/x/time/rate"
)

// linesPerSecond is how many warnings of a kind are worth reading.
const linesPerSecond = 1

// boundedLog logs warnings about requests: regardless of what clients send, it
// writes few lines of each kind, and says how many it left out.
type boundedLog struct {
	log   *slog.Logger
	mu    sync.Mutex // guards kinds
	kinds map[string]*kind
}

type kind struct {
	limit *rate.Limiter
	left  int // warnings left out since the last one
}

func newBoundedLog(log *slog.Logger) *boundedLog {
	return &boundedLog{log: log, kinds: map[string]*kind{}}
}

func (b *boundedLog) warn(name, text string, args ...any) {
	b.mu.Lock()
	k := b.kinds[name]
	if k == nil {
		k = &kind{limit: rate.NewLimiter(linesPerSecond, 5)}
		b.kinds[name] = k
	}
	if !k.limit.Allow() {
		k.left++
		b.mu.Unlock()
		return
	}
	left := k.left
	k.left = 0
	b.mu.Unlock()
	if left > 0 {
		args = append(args, "left_out", left)
	}
	b.log.Warn(text, args...)
}

// clip shortens what a client sent for the log.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
