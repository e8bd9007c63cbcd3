package info

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// Store is the store whose figures are gathered.
type Store interface {
	Stats() persistence.Stats
	DiskStats() persistence.DiskStats
	Sizes() []*persistence.Sizes
}

// Server is what figures are gathered of besides.
type Server interface {
	// Loading reports whether data is being loaded: until it is, the figures are zero.
	Loading() bool
	// Databases is how many databases are shown.
	Databases() int
	// LargestBuffers are the sizes of the largest input and output of a client.
	LargestBuffers() (in, out int)
	Now() time.Time
	// Resident is the physical memory of the process, 0 if it is unknown.
	Resident() int64
}

// Figures are numbers as they were gathered last.
type Figures struct {
	store  Store
	server Server

	peak     atomic.Int64         // most bytes of keys and values that were seen
	peakTime atomic.Int64         // when that was, in unix seconds
	resident atomic.Int64         // bytes of the process, as Measure has read them; 0: not yet
	slow     atomic.Pointer[Slow] // nil before the first

	mu    sync.Mutex
	stats persistence.Stats    // guarded by mu
	sizes []*persistence.Sizes // guarded by mu
}

// Open is called once.
func (f *Figures) Open(store Store, server Server) { f.store, f.server = store, server }

// Gather refreshes the figures of the store.
func (f *Figures) Gather() persistence.Stats {
	if f.server.Loading() {
		return persistence.Stats{}
	}
	st := f.store.Stats()
	st.Databases = st.Databases[:min(len(st.Databases), f.server.Databases())]
	f.notePeak(st.Memory)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats = st
	return st
}

// Last returns what was gathered last.
func (f *Figures) Last() persistence.Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Stats returns the figures of the store: those gathered last, which are at most a second
// old, for a call that holds shards.
func (f *Figures) Stats(holdsShards bool) persistence.Stats {
	if holdsShards {
		return f.Last()
	}
	return f.Gather()
}

// Sizes counts the sizes of values of each database; likewise.
func (f *Figures) Sizes(holdsShards bool) []*persistence.Sizes {
	var sizes []*persistence.Sizes
	fresh := !holdsShards && !f.server.Loading()
	if fresh {
		sizes = f.store.Sizes()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if fresh {
		f.sizes = sizes
	}
	return f.sizes
}

// SlowAge is how old Slow may be.
const SlowAge = 100 * time.Millisecond

// Slow are the figures that take longer to gather than the rest of INFO.
type Slow struct {
	at   time.Time
	Disk persistence.DiskStats // all zero while data is loaded
	Heap Heap
	// The largest buffers of clients, in bytes.
	LargestIn, LargestOut int
}

// Slowly returns figures that were gathered now or lately.
func (f *Figures) Slowly() *Slow {
	now := f.server.Now()
	if s := f.slow.Load(); s != nil {
		if age := now.Sub(s.at); age >= 0 && age < SlowAge {
			return s
		}
	}
	s := &Slow{at: now, Heap: readHeap()}
	if !f.server.Loading() {
		s.Disk = f.store.DiskStats()
	}
	s.LargestIn, s.LargestOut = f.server.LargestBuffers()
	f.slow.Store(s)
	return s
}

func (f *Figures) notePeak(memory int64) {
	for {
		peak := f.peak.Load()
		if memory <= peak {
			return
		}
		if f.peak.CompareAndSwap(peak, memory) {
			f.peakTime.Store(f.server.Now().Unix())
			return
		}
	}
}

// PeakTime is when most bytes of keys and values were seen, in unix seconds.
func (f *Figures) PeakTime() int64 { return f.peakTime.Load() }

// Measure reads what the process has in memory, for later.
func (f *Figures) Measure() { f.resident.Store(f.server.Resident()) }

// Memory is what INFO memory and MEMORY STATS show.
type Memory struct {
	Data, Peak, Process int64
	Heap                Heap
}

// Memory returns the figures of memory.
func (f *Figures) Memory(st *persistence.Stats) Memory {
	m := Memory{Data: st.Memory, Process: f.resident.Load(), Heap: f.Slowly().Heap}
	if m.Process == 0 {
		m.Process = f.server.Resident()
	}
	if m.Process == 0 {
		m.Process = m.Heap.All
	}
	m.Peak = max(f.peak.Load(), m.Data)
	return m
}

// Heap are the Go runtime's. They are read without stopping other goroutines.
type Heap struct {
	Objects int64   // bytes of objects, with those that are yet to be collected
	InUse   int64   // bytes of the pages with objects
	Held    int64   // bytes obtained from the system and not given back
	All     int64   // of everything in the runtime, as obtained from the system
	Cycles  uint64  // of the collector
	Seconds float64 // of processors that it took, as the runtime estimates it
}

// heapSamples are the requests of readHeap, which are kept since the runtime writes into them.
var heapSamples = sync.Pool{New: func() any {
	return &[...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
		// What it takes while processors have nothing else to do is left out.
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/pause:cpu-seconds"}}
}}

func readHeap() Heap {
	s := heapSamples.Get().(*[8]metrics.Sample)
	defer heapSamples.Put(s)
	metrics.Read(s[:])
	f := Heap{Objects: int64(s[0].Value.Uint64()), All: int64(s[3].Value.Uint64()), Cycles: s[4].Value.Uint64()}
	f.InUse = f.Objects + int64(s[1].Value.Uint64())
	f.Held = f.InUse + int64(s[2].Value.Uint64())
	for _, part := range s[5:] {
		f.Seconds += part.Value.Float64()
	}
	return f
}
