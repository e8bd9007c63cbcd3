package server

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/info"
)

// stats are the server's counters. Counters of commands are indexed by the
// row's id; all but the errors are read and written without a lock.
type stats struct {
	connections, rejectedClients      atomic.Int64
	outputLimitDrops, queryLimitDrops atomic.Int64
	evictedClients                    atomic.Int64
	inputBytes, outputBytes           atomic.Int64
	reads, writes                     atomic.Int64 // of clients: turns with input, and with replies
	expired, evicted, hits, misses    atomic.Int64
	errorReplies                      atomic.Int64
	slow                              slowCalls
	// Counters that others keep and that go on at a reset.
	leftBehind, expiredFields, expiryCapped, evictedScripts, cycles, busy continuing

	warn       func(text string) // writes to the log
	table      *commands.Table
	commands   []commandStats
	histograms []atomic.Pointer[histogram] // by the row's id; nil until the first call
	untracked  atomic.Bool                 // by latency-tracking no

	mu     sync.Mutex
	errors map[string]int64 // by first word; guarded by mu
	closed bool             // guarded by mu: there were too many of them
}

type commandStats struct {
	calls, nanos, rejected, failed atomic.Int64
	slow                           slowCalls
}

// slowCalls are calls that came into the slow log.
type slowCalls struct{ count, micros, longest atomic.Int64 }

func (c *slowCalls) add(took time.Duration) {
	c.count.Add(1)
	c.micros.Add(took.Microseconds())
	for {
		longest := c.longest.Load()
		if took.Microseconds() <= longest || c.longest.CompareAndSwap(longest, took.Microseconds()) {
			return
		}
	}
}

func (c *slowCalls) reset() {
	c.count.Store(0)
	c.micros.Store(0)
	c.longest.Store(0)
}

// continuing is the value at the last reset of a counter that is not reset itself.
type continuing struct{ atomic.Int64 }

// since is what the counter has grown by since. A value of the counter may be older than
// the reset.
func (c *continuing) since(now int64) int64 { return max(0, now-c.Load()) }

func (st *stats) open(t *commands.Table, warn func(text string)) {
	st.table, st.warn = t, warn
	st.commands = make([]commandStats, len(t.All()))
	st.histograms = make([]atomic.Pointer[histogram], len(t.All()))
	st.errors = map[string]int64{}
}

// took adds the time of a call to the histogram of its command.
func (st *stats) took(c *commands.Command, took time.Duration) {
	if st.untracked.Load() {
		return
	}
	h := st.histograms[c.ID()].Load()
	if h == nil {
		st.histograms[c.ID()].CompareAndSwap(nil, new(histogram))
		h = st.histograms[c.ID()].Load()
	}
	if h != nil { // else CONFIG RESETSTAT came between
		h.add(took)
	}
}

// called counts a call that ran.
func (st *stats) called(c *commands.Command, took time.Duration, failed bool) {
	n := callTotals{calls: 1, took: max(0, took)}
	if failed {
		n.failed = 1
	}
	st.add(c, n)
	st.took(c, took)
}

// callTotals are calls of one command.
type callTotals struct {
	calls, failed int64
	took          time.Duration
}

func (st *stats) add(c *commands.Command, t callTotals) {
	n := &st.commands[c.ID()]
	n.calls.Add(t.calls)
	n.nanos.Add(int64(t.took))
	if t.failed > 0 {
		n.failed.Add(t.failed)
	}
}

// rejected counts a call that did not run; nil is an unknown command.
func (st *stats) rejected(c *commands.Command) {
	if c != nil {
		st.commands[c.ID()].rejected.Add(1)
	}
}

// maxErrorKinds limits the number of first words counted separately, because
// scripts and users can invent their own. Beyond it errorsClosed is the only one, until
// CONFIG RESETSTAT.
const (
	maxErrorKinds = 128
	errorsClosed  = "ERRORSTATS_DISABLED"
	shownError    = 64 // bytes of a word that the log shows
)

// countError counts an error reply by its first word.
func (st *stats) countError(text string) {
	st.errorReplies.Add(1)
	word, _, _ := strings.Cut(text, " ")
	st.mu.Lock()
	defer st.mu.Unlock()
	switch _, known := st.errors[word]; {
	case st.closed:
	case known || len(st.errors) < maxErrorKinds:
		st.errors[word]++
	default:
		list := make([]string, 0, len(st.errors))
		for _, word := range slices.Sorted(maps.Keys(st.errors)) {
			list = append(list, info.SafeName(word[:min(len(word), shownError)]))
		}
		st.errors, st.closed = map[string]int64{errorsClosed: 1}, true
		st.warn("Errorstats stopped adding new errors because their number reached the limit: scripts may make too many of them. CONFIG RESETSTAT begins anew.")
		st.warn("Current errors code list: " + strings.Join(list, ", "))
	}
}

// errorCount is one line of INFO errorstats.
type errorCount struct {
	word string
	n    int64
}

func (st *stats) errorCounts() []errorCount {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := make([]errorCount, 0, len(st.errors))
	for w, n := range st.errors {
		out = append(out, errorCount{w, n})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].word < out[j].word })
	return out
}

// reset is CONFIG RESETSTAT.
func (st *stats) reset() {
	for _, n := range []*atomic.Int64{&st.connections, &st.rejectedClients, &st.outputLimitDrops, &st.queryLimitDrops, &st.evictedClients,
		&st.inputBytes, &st.outputBytes, &st.reads, &st.writes, &st.expired, &st.evicted, &st.hits, &st.misses, &st.errorReplies} {
		n.Store(0)
	}
	st.slow.reset()
	for i := range st.commands {
		c := &st.commands[i]
		c.calls.Store(0)
		c.nanos.Store(0)
		c.rejected.Store(0)
		c.failed.Store(0)
		c.slow.reset()
		st.histograms[i].Store(nil)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.errors, st.closed = map[string]int64{}, false
}

// looked takes the lookups of commands that read.
func (st *stats) looked(l *commands.Lookups) {
	if l.Hits > 0 {
		st.hits.Add(l.Hits)
	}
	if l.Misses > 0 {
		st.misses.Add(l.Misses)
	}
	*l = commands.Lookups{}
}

// processed is the number of commands that ran.
func (st *stats) processed() int64 {
	calls, _ := st.ran()
	return calls
}

// ran is the number of commands that ran, and the time that they took.
func (st *stats) ran() (calls int64, took time.Duration) {
	for i := range st.commands {
		calls += st.commands[i].calls.Load()
		took += time.Duration(st.commands[i].nanos.Load())
	}
	return calls, took
}
