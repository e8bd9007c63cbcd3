package server

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/persistence"

	"github.com/vigildb/vigil/server/internal/door"
)

// historyLength is how many samples are kept: those of an hour, some 12 KB.
const historyLength = 360

// totals are the counters that samples are the differences of, and figures that
// a sample takes as they are.
type totals struct {
	calls, nanos, input, output, hits, misses int64
	memory, keys, clients                     int64
}

func (srv *Server) totals(f persistence.Stats) totals {
	st := &srv.stats
	t := totals{input: st.inputBytes.Load(), output: st.outputBytes.Load(), hits: st.hits.Load(), misses: st.misses.Load(),
		memory: f.Memory, keys: f.Keys(), clients: int64(srv.clients.count())}
	calls, took := st.ran()
	t.calls, t.nanos = calls, int64(took)
	return t
}

// history is the last hour. The cron takes the samples.
type history struct {
	mu   sync.Mutex
	ring [historyLength]door.Sample // guarded by mu
	n    int                        // samples ever taken; guarded by mu
	at   time.Time                  // of the last sample; guarded by mu
	last totals                     // at that time; guarded by mu
}

// take adds a sample if it is time for one. After CONFIG RESETSTAT, or a suspend
// of the machine, a sample covers what was counted since.
func (h *history) take(now time.Time, t totals) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := now.Sub(h.at)
	if h.at.IsZero() || gone < 0 {
		h.at, h.last = now, t
		return
	}
	if gone < door.HistoryStep {
		return
	}
	grown := func(now, then int64) float32 {
		if now < then {
			then = 0 // the counters were reset
		}
		return float32(now - then)
	}
	seconds := float32(gone.Seconds())
	calls := grown(t.calls, h.last.calls)
	s := door.Sample{Ops: calls / seconds, HitRatio: -1,
		Input: grown(t.input, h.last.input) / seconds, Output: grown(t.output, h.last.output) / seconds,
		Memory: float32(t.memory), Keys: float32(t.keys), Clients: float32(t.clients)}
	if calls > 0 {
		s.Micros = grown(t.nanos, h.last.nanos) / calls / 1000
	}
	if hits, misses := grown(t.hits, h.last.hits), grown(t.misses, h.last.misses); hits+misses > 0 {
		s.HitRatio = hits / (hits + misses)
	}
	h.ring[h.n%historyLength] = s
	h.n++
	h.at, h.last = now, t
}

// History implements [door.Server].
func (d insider) History() ([]door.Sample, time.Time) {
	h := &d.srv.history
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(h.n, historyLength)
	out := make([]door.Sample, n)
	for i := range out {
		out[i] = h.ring[(h.n-n+i)%historyLength]
	}
	return out, h.at
}
