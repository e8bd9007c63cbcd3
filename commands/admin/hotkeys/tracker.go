package hotkeys

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what a tracker looks at.
type Options struct {
	CPU, NET bool
	Keys     int           // how many a report has of each
	Duration time.Duration // after which it stops by itself; 0: it does not
	Sample   int           // of so many calls one is looked at
	Slots    []int         // those of the keys, in their order; none: all
}

// MaxKey is the length of the longest key that is counted: what a tracker takes is bounded.
const MaxKey = 1024

// spread is how many counters there are for each key of a report.
const spread = 16

// Tracker counts from Start to Stop. It is safe for concurrent use.
type Tracker struct {
	options Options
	began   time.Time
	running atomic.Bool
	calls   atomic.Uint64

	mu       sync.Mutex
	end      time.Time // guarded by mu, as all below; zero while it runs
	cpu      Processor // when it began, and then what it took
	time     counters  // of keys, in ns
	bytes    counters  // of keys
	all      Totals    // of all calls
	selected Totals    // of those with a key in the slots
	sampled  Totals    // and of those that were looked at
	mine     [][]byte  // keys of a call that count
	now      func() time.Time
	used     func() Processor
}

// Totals are sums over calls.
type Totals struct {
	Time  time.Duration
	Bytes int64
}

func (t *Totals) add(took time.Duration, bytes int64) {
	t.Time += took
	t.Bytes += bytes
}

// Processor is the time that a process took.
type Processor struct{ User, System time.Duration }

// Start returns a tracker that counts from now on. used is the time that the process took.
func Start(o Options, now func() time.Time, used func() Processor) *Tracker {
	t := &Tracker{options: o, began: now(), now: now, used: used, cpu: used()}
	t.time.most, t.bytes.most = spread*o.Keys, spread*o.Keys
	t.running.Store(true)
	return t
}

// Running reports whether the tracker counts. It stops here when its time has come.
func (t *Tracker) Running() bool {
	if !t.running.Load() {
		return false
	}
	if d := t.options.Duration; d > 0 && t.now().Sub(t.began) >= d {
		t.stop(t.began.Add(d))
	}
	return t.running.Load()
}

// Stop ends the counting, and reports whether it was under way.
func (t *Tracker) Stop() bool { return t.Running() && t.stop(t.now()) }

func (t *Tracker) stop(end time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.running.Load() {
		return false
	}
	t.running.Store(false)
	used := t.used()
	t.end, t.cpu = end, Processor{used.User - t.cpu.User, used.System - t.cpu.System}
	return true
}

// Call is what a tracker is told of one.
type Call struct {
	Keys  int                  // that it names
	Key   func(i int) []byte   // one of them
	Slot  func(key []byte) int // of a key; called only if slots were chosen
	Took  time.Duration
	Bytes int64 // of the request and the reply
}

// Add counts a call. What it took is shared by its keys.
func (t *Tracker) Add(c Call) {
	if !t.Running() {
		return
	}
	sampled := t.options.Sample <= 1 || t.calls.Add(1)%uint64(t.options.Sample) == 0
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.running.Load() {
		return
	}
	t.all.add(c.Took, c.Bytes)
	t.mine = t.mine[:0]
	for i := range c.Keys {
		key := c.Key(i)
		if t.options.Slots != nil {
			if _, chosen := slices.BinarySearch(t.options.Slots, c.Slot(key)); !chosen {
				continue
			}
		}
		t.mine = append(t.mine, key)
	}
	if len(t.mine) == 0 {
		return
	}
	t.selected.add(c.Took, c.Bytes)
	if !sampled {
		return
	}
	t.sampled.add(c.Took, c.Bytes)
	for _, key := range t.mine {
		if len(key) > MaxKey {
			continue
		}
		if t.options.CPU {
			t.time.add(key, int64(c.Took)/int64(c.Keys))
		}
		if t.options.NET {
			t.bytes.add(key, c.Bytes/int64(c.Keys))
		}
	}
	clear(t.mine)
}

// Amount is what a key took: microseconds or bytes.
type Amount struct {
	Key string
	N   int64
}

// Report is what a tracker has found.
type Report struct {
	Options
	Active                 bool
	Began                  time.Time
	Lasted                 time.Duration
	Processor              Processor // that the process took meanwhile
	All, Selected, Sampled Totals
	ByTime, ByBytes        []Amount // the largest first
}

// Report returns what was found so far.
func (t *Tracker) Report() Report {
	active := t.Running()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Report{Options: t.options, Active: active, Began: t.began, Lasted: t.end.Sub(t.began), Processor: t.cpu,
		All: t.all, Selected: t.selected, Sampled: t.sampled,
		ByTime: t.time.top(t.options.Keys), ByBytes: t.bytes.top(t.options.Keys)}
	if t.end.IsZero() {
		used := t.used()
		r.Lasted = t.now().Sub(t.began)
		r.Processor = Processor{used.User - t.cpu.User, used.System - t.cpu.System}
	}
	for i := range r.ByTime {
		r.ByTime[i].N /= int64(time.Microsecond)
	}
	return r
}
