package server

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLatencyKeepsTheLongestEventOfASecond(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	l := &r.srv.latency
	at := func(seconds, millis int64) {
		l.add("command", time.Unix(seconds, 999_999_999), time.Duration(millis)*time.Millisecond)
	}
	at(100, 30)
	at(100, 50)
	at(100, 40)
	at(102, 20)
	l.add("expire-cycle", time.Unix(101, 0), 70*time.Millisecond)
	c.want("LATENCY HISTORY command", "[[(int) 100 (int) 50] [(int) 102 (int) 20]]")
	c.want("LATENCY LATEST", `[["command" (int) 102 (int) 20 (int) 50] ["expire-cycle" (int) 101 (int) 70 (int) 70]]`)
	if got := c.do("LATENCY", "GRAPH", "command"); !strings.Contains(got, "command - high 50 ms, low 20 ms (all time high 50 ms)") ||
		!strings.Contains(got, "# \n# \n# \n##\n") && !strings.Contains(got, `# \n# \n# \n##`) {
		t.Errorf("graph: %s", got)
	}
	if got := c.do("LATENCY", "DOCTOR"); !strings.Contains(got, "command: 2 latency spikes, 35 ms on average, in 3 s; the longest ever took 50 ms.") {
		t.Errorf("doctor: %s", got)
	}
	c.want("LATENCY RESET nosuch command", "(int) 1")
	c.want("LATENCY RESET", "(int) 1")
	c.want("LATENCY LATEST", "[]")
}

func TestLatencyKeepsTheLatestSamples(t *testing.T) {
	var l latency
	for i := range int64(500) {
		l.add("command", time.Unix(i, 0), time.Duration(500-i)*time.Millisecond)
	}
	e := l.events[0]
	if len(e.Samples) != latencySamples || e.Samples[0].Seconds != 500-latencySamples || e.Max != 500 {
		t.Fatalf("%d samples from %d on, longest %d", len(e.Samples), e.Samples[0].Seconds, e.Max)
	}
}

func TestLatencyThreshold(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	l, clock := &r.srv.latency, r.clock
	work := func(took time.Duration) func() { return func() { clock.advance(took) } }
	l.watch(clock, "eviction-cycle", work(time.Second))
	c.want("CONFIG SET latency-monitor-threshold 100", "OK")
	l.watch(clock, "eviction-cycle", work(99*time.Millisecond))
	c.want("LATENCY LATEST", "[]")
	l.watch(clock, "eviction-cycle", work(100*time.Millisecond))
	if got := c.do("LATENCY", "HISTORY", "eviction-cycle"); !strings.Contains(got, "(int) 100]") {
		t.Errorf("got %s", got)
	}
	for name, want := range map[string]string{"GET": "fast-command", "KEYS": "command"} {
		if got := commandEvent(r.srv.table.Find(name)); got != want {
			t.Errorf("%s is a %s, want %s", name, got, want)
		}
	}
	if !l.wants(100*time.Millisecond) || l.wants(0) {
		t.Error(fmt.Sprint("threshold ", l.threshold.Load()))
	}
}
