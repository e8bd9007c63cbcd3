package server

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/server/info"
)

// latency keeps the events that took latency-monitor-threshold or longer.
type latency struct {
	threshold atomic.Int64 // ms; 0: nothing is kept

	mu     sync.Mutex
	events []admin.LatencyEvent // by name; guarded by mu
}

// latencySamples is how many of the latest samples of an event are kept.
const latencySamples = 160

func (l *latency) wants(took time.Duration) bool {
	limit := l.threshold.Load()
	return limit > 0 && took.Milliseconds() >= limit
}

// add keeps an event. Of those of a second the longest is kept.
func (l *latency) add(name string, at time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := slices.BinarySearchFunc(l.events, name, func(e admin.LatencyEvent, name string) int { return strings.Compare(e.Name, name) })
	if !ok {
		l.events = slices.Insert(l.events, i, admin.LatencyEvent{Name: name})
	}
	e := &l.events[i]
	sample := admin.LatencySample{Seconds: at.Unix(), Millis: took.Milliseconds()}
	e.Max = max(e.Max, sample.Millis)
	if n := len(e.Samples); n > 0 && e.Samples[n-1].Seconds == sample.Seconds {
		e.Samples[n-1].Millis = max(e.Samples[n-1].Millis, sample.Millis)
		return
	}
	if len(e.Samples) == latencySamples {
		e.Samples = e.Samples[:copy(e.Samples, e.Samples[1:])]
	}
	e.Samples = append(e.Samples, sample)
}

// watch runs a piece of background work, which is an event if it takes long.
func (l *latency) watch(clock Clock, name string, work func()) {
	if l.threshold.Load() == 0 {
		work()
		return
	}
	start := clock.Now()
	work()
	if took := clock.Since(start); l.wants(took) {
		l.add(name, start, took)
	}
}

// commandEvent is the event of a call that took long.
func commandEvent(cmd *commands.Command) string {
	if cmd.Is(commands.Fast) {
		return "fast-command"
	}
	return "command"
}

// LatencyThreshold is the ms from which on an event is kept; 0: none is.
func (h host) LatencyThreshold() int64 { return h.srv.latency.threshold.Load() }

// LatencyEvents copies the events in the order of their names.
func (h host) LatencyEvents() []admin.LatencyEvent {
	l := &h.srv.latency
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.events)
	for i := range list {
		list[i].Samples = slices.Clone(list[i].Samples)
	}
	return list
}

// ResetLatency forgets events by name, all of them if none is named, and returns how
// many there were.
func (h host) ResetLatency(names []string) int {
	l := &h.srv.latency
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.events)
	l.events = slices.DeleteFunc(l.events, func(e admin.LatencyEvent) bool {
		return len(names) == 0 || slices.Contains(names, e.Name)
	})
	return before - len(l.events)
}

// Latencies returns how long the calls of a command took; calls is 0 if that is not
// known.
func (h host) Latencies(cmd *commands.Command) (calls int64, list []admin.LatencyStep) {
	hist := h.srv.stats.histograms[cmd.ID()].Load()
	if hist == nil {
		return 0, nil
	}
	counts, calls := hist.snapshot()
	return calls, steps(counts)
}

// infoLatencyStats shows percentiles of the times that calls took.
func infoLatencyStats(t *info.Text, s *session) {
	wanted := s.srv.settings().conf.LatencyPercentiles
	sorted := slices.Sorted(slices.Values(wanted))
	for _, c := range s.srv.stats.table.All() {
		hist := s.srv.stats.histograms[c.ID()].Load()
		if hist == nil {
			continue
		}
		counts, total := hist.snapshot()
		if total == 0 {
			continue
		}
		times := percentiles(counts, total, sorted)
		var b []byte
		for _, p := range wanted {
			i, _ := slices.BinarySearch(sorted, p)
			b = appendPercentile(b, p, times[i])
		}
		info.Field(t, "latency_percentiles_usec_"+c.FullName(), string(b))
	}
}

// appendPercentile appends p99.9=12.345 with the us of a percentile.
func appendPercentile(b []byte, p float64, took time.Duration) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = strconv.AppendFloat(append(b, 'p'), p, 'f', -1, 64)
	return strconv.AppendFloat(append(b, '='), float64(took)/1000, 'f', 3, 64)
}
