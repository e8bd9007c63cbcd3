package server

import (
	"slices"
	"sync"
	"time"

	"github.com/vigildb/vigil/server/internal/door"
)

// historyLength is how many samples are kept: those of an hour, some 22 KB.
const historyLength = 360

// totals are the counters that samples are the differences of, and figures that
// a sample takes as they are.
type totals struct {
	calls, nanos, input, output, hits, misses int64
	errors, evicted                           int64
	processor                                 int64 // ns
	memory, keys, clients, free               int64
	times                                     []int64 // by bucket of a histogram, of all commands; nil: none was counted
}

func (srv *Server) totals() totals {
	st, f := &srv.stats, srv.lately()
	user, system := cpuTimes()
	free, _ := srv.store.Space()
	t := totals{input: st.inputBytes.Load(), output: st.outputBytes.Load(), hits: st.hits.Load(), misses: st.misses.Load(),
		errors: st.errorReplies.Load(), evicted: st.evicted.Load(), processor: int64(user + system),
		memory: f.Memory, keys: f.Keys(), clients: int64(srv.clients.count()), free: int64(free), times: st.times()}
	calls, took := st.ran()
	t.calls, t.nanos = calls, int64(took)
	return t
}

// times returns how many calls of all commands are in each bucket of a histogram, nil if none was counted.
func (st *stats) times() (counts []int64) {
	for i := range st.histograms {
		h := st.histograms[i].Load()
		if h == nil {
			continue
		}
		if counts == nil {
			counts = make([]int64, histogramSize)
		}
		for b := range counts {
			counts[b] += h.counts[b].Load()
		}
	}
	return counts
}

// history is the last hour. The cron takes the samples.
type history struct {
	mu   sync.Mutex
	ring [historyLength]door.Sample // guarded by mu
	n    int                        // samples ever taken; guarded by mu
	at   time.Time                  // of the last sample; guarded by mu
	last totals                     // at that time; guarded by mu
}

// take adds a sample if it is time for one, and counts only then. After CONFIG RESETSTAT, or a
// suspend of the machine, a sample covers what was counted since.
func (h *history) take(now time.Time, count func() totals) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := now.Sub(h.at)
	first := h.at.IsZero() || gone < 0
	if !first && gone < door.HistoryStep {
		return
	}
	t := count()
	if first {
		h.at, h.last = now, t
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
		Errors: grown(t.errors, h.last.errors) / seconds, Evicted: grown(t.evicted, h.last.evicted) / seconds,
		Processor: grown(t.processor, h.last.processor) / 1e9 / seconds,
		Memory:    float32(t.memory), Keys: float32(t.keys), Clients: float32(t.clients), DiskFree: float32(t.free)}
	s.P50, s.P99, s.P999 = timesSince(t.times, h.last.times)
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

// shownPercentiles are those of a sample.
var shownPercentiles = []float64{50, 99, 99.9}

// timesSince returns percentiles in us of what was counted in buckets of a histogram since then, 0 if that is nothing. If
// the counters were reset meanwhile it is what is there now.
func timesSince(now, then []int64) (p50, p99, p999 float32) {
	if now == nil {
		return 0, 0, 0
	}
	since, total := slices.Clone(now), int64(0)
	for i, n := range then {
		if since[i] -= n; since[i] < 0 { // the counters were reset
			copy(since, now)
			break
		}
	}
	for _, n := range since {
		total += n
	}
	if total == 0 {
		return 0, 0, 0
	}
	times := percentiles(since, total, shownPercentiles)
	micros := func(i int) float32 { return float32(times[i]) / 1000 }
	return micros(0), micros(1), micros(2)
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
