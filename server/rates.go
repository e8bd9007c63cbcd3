package server

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/server/transport"
)

// rates are what the counters grow by, as INFO shows it: the mean of the last 16 rounds of
// the cron.
type rates struct {
	mu    sync.Mutex
	at    time.Time // of the last round; zero: the next one is the first; guarded by mu
	last  counted   // at that time; guarded by mu
	round int       // guarded by mu
	// By the second, but for the duration of a cycle. Guarded by mu.
	calls, input, output, cycles, duration meter
}

// counted are the counters that rates are made of.
type counted struct {
	calls, input, output int64
	cycles               transport.Cycles
}

func (srv *Server) counted() counted {
	st := &srv.stats
	return counted{st.processed(), st.inputBytes.Load(), st.outputBytes.Load(), srv.loops.Cycles()}
}

// meter keeps the latest samples of a rate.
type meter [16]float64

func (m *meter) mean() (v float64) {
	for _, s := range m {
		v += s
	}
	return v / float64(len(m))
}

// take takes a sample. What was reset since the last one, and a clock that went back, count
// as no growth.
func (r *rates) take(now time.Time, n counted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := now.Sub(r.at).Seconds()
	if !r.at.IsZero() && gone > 0 {
		second := func(now, then int64) float64 { return float64(max(0, now-then)) / gone }
		i := r.round % len(r.calls)
		r.round++
		r.calls[i], r.input[i], r.output[i] = second(n.calls, r.last.calls), second(n.input, r.last.input), second(n.output, r.last.output)
		r.cycles[i], r.duration[i] = second(n.cycles.Count, r.last.cycles.Count), 0
		if k := n.cycles.Count - r.last.cycles.Count; k > 0 {
			r.duration[i] = float64((n.cycles.Busy - r.last.cycles.Busy).Microseconds()) / float64(k)
		}
	}
	r.at, r.last = now, n
}

// reset forgets the samples: the counters begin anew.
func (r *rates) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.last = time.Time{}, counted{}
	r.calls, r.input, r.output, r.cycles, r.duration = meter{}, meter{}, meter{}, meter{}, meter{}
}

// shownRates are rates as INFO shows them.
type shownRates struct{ calls, input, output, cycles, duration float64 }

func (r *rates) shown() shownRates {
	r.mu.Lock()
	defer r.mu.Unlock()
	return shownRates{r.calls.mean(), r.input.mean(), r.output.mean(), r.cycles.mean(), r.duration.mean()}
}
