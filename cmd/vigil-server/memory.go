package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/vigildb/vigil/server"
)

const (
	// memoryRound is how often the heap is looked at.
	memoryRound = time.Second
	// loadingRound is that while data is loaded.
	loadingRound = 20 * time.Millisecond
	// burstOver is after how many rounds without a collection a burst of work is
	// over, and one more for each roundBytes that a collection has to scan, to mostOver.
	burstOver, mostOver, roundBytes = 2, 10, 32 << 20
	// worthReleasing is how many bytes, and worthPart which part of what it has to scan,
	// an extra collection must free. After mostOver rounds it is worthAtRest.
	worthReleasing, worthAtRest, worthPart = 16 << 20, 4 << 20, 4
	// busyBytes is the growth of the heap in a round during a burst.
	busyBytes = 1 << 20
)

const (
	// fixedMemory is what the process may take in addition to maxmemory and a
	// quarter: the program, Pebble's buffers, the journal's, garbage.
	fixedMemory = 64 << 20
	// programBytes is about what the program itself takes of that, where it is not known what
	// the process takes.
	programBytes = 24 << 20
	// usualPercent bounds how far the heap grows between two collections.
	usualPercent = 100
	// mostGarbage is how much garbage a collection is worth: with a small heap a
	// percentage would mean dozens a second. With a maxmemory it is a part of that, and
	// leastGarbage at least, as the process has to keep to it.
	mostGarbage, leastGarbage, garbagePart = 16 << 20, 4 << 20, 8
	// burstGarbage is that when garbage comes so fast that there would be more than burstCollections in a
	// round, as when values of some KB are written over: what is scanned is the same each time.
	burstGarbage, burstCollections = 64 << 20, 2
	// scanned is how many times what it has to scan a collection may find as garbage
	// at least. A collection costs what it scans: pointers, and no bytes of keys and values.
	// So the collector costs half of what it does in a usual Go program at most, whose
	// heap is all pointers.
	scanned = 2
	// beyondLimit is by how much the heap may exceed Go's limit for a moment: what is asked for
	// while a collection runs, in pieces of megabytes when values are large.
	beyondLimit = 16 << 20
	// worthSetting is which part of the percentage must change: setting it stops all
	// goroutines for a moment.
	worthSetting = 8
)

// memory makes the process follow maxmemory, and returns to the system what a
// burst of work has left.
//
// Keys and values are counted by the store. Beside them there is garbage. Go lets it
// grow to as much as the heap that is in use, most of it pages of large values here,
// that cost a collection nothing. So it runs by what it has to scan. That is done by a
// percentage, which is as of the last look. What comes between two looks, when values are
// loaded above all, is bounded by Go's memory limit: what maxmemory and a quarter leave for
// the heap beside the memory outside it. A collector that keeps to a limit runs without
// end when what is in use reaches it, so the limit is raised in time: garbage is always
// allowed for.
//
// Go collects garbage as memory is asked for, and every two minutes: after a
// big value is deleted, or a client that read nothing is gone, an idle server would
// keep gigabytes for long.
type memory struct {
	maxMemory func() int64 // directive maxmemory as it is now
	resident  func() int64 // what the process takes; 0 if that is not known

	collections uint64 // at the last look
	held        int64  // at the last look
	rounds      int    // without a collection and, unless memory is short, without a burst
	since       int    // rounds since free memory was returned
	least       int64  // what the heap held after the last collection, free bytes left out
	worth       int64  // how much garbage a collection is worth, without a maxmemory
	last        heap   // at the last call of burst
	percent     int    // as it was set; 0: it is not ours to set
	limit       int64  // the same
	samples     []metrics.Sample

	loaded, closed chan struct{}
	ended          sync.WaitGroup
}

func newMemory(maxMemory func() int64) *memory {
	m := &memory{maxMemory: maxMemory, resident: server.ResidentBytes, worth: mostGarbage, loaded: make(chan struct{}), closed: make(chan struct{})}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		m.percent, m.limit = usualPercent, math.MaxInt64
	}
	for _, name := range []string{
		"/gc/cycles/total:gc-cycles", "/gc/heap/live:bytes", "/gc/scan/heap:bytes", "/memory/classes/heap/objects:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes",
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/gc/heap/allocs:bytes",
	} {
		m.samples = append(m.samples, metrics.Sample{Name: name})
	}
	return m
}

// heap is what the Go runtime reports.
type heap struct {
	collections uint64
	live        int64 // found by the last collection
	scan        int64 // what a collection has to scan
	allocated   int64 // since the start
	free        int64 // of the system's memory, not in use
	held        int64 // of the system's memory, in use or not
	unused      int64 // of that, between objects
	all         int64 // of the system's memory for the whole runtime
}

func (m *memory) read() heap {
	metrics.Read(m.samples)
	h := heap{collections: m.samples[0].Value.Uint64(), live: int64(m.samples[1].Value.Uint64()), scan: int64(m.samples[2].Value.Uint64())}
	for _, s := range m.samples[3:6] {
		h.held += int64(s.Value.Uint64())
	}
	h.free, h.unused = int64(m.samples[4].Value.Uint64()), int64(m.samples[5].Value.Uint64())
	h.all = int64(m.samples[6].Value.Uint64() - m.samples[7].Value.Uint64())
	h.allocated = int64(m.samples[8].Value.Uint64())
	return h
}

// look adapts the collector, and collects when no collection has been for some rounds
// and enough can be given back: a burst of work is over, or its garbage was too little
// for a collection of its own. A process that takes more than maxmemory and a quarter
// returns what is free every few rounds, amid a burst too: values larger than memory are
// written for minutes.
func (m *memory) look() (released bool) {
	h, bound, resident := m.read(), m.maxMemory(), m.resident()
	tight := bound > 0 && resident > bound+bound/4+fixedMemory
	m.burst(h)
	m.adapt(h, bound, resident)
	m.since++
	if bound > 0 && resident > bound+bound/4 && h.free >= worthReleasing && m.since > burstOver+int(h.scan/roundBytes) {
		return m.release()
	}
	if h.collections != m.collections {
		m.collections, m.held, m.rounds, m.least = h.collections, h.held, 0, h.live
		return false
	}
	grown := h.held - m.held
	m.held = h.held
	if grown >= busyBytes && !tight {
		m.rounds = 0
		return false
	}
	m.rounds++
	least := int64(worthReleasing)
	if m.rounds >= mostOver {
		least = worthAtRest
	}
	if m.rounds < min(burstOver+int(h.scan/roundBytes), mostOver) || h.held-m.least < max(least, h.scan/worthPart) {
		return false
	}
	runtime.GC() // a pool gives things back at the second collection
	return m.release()
}

// release returns what is free to the system. Go keeps a tenth of the heap, and more for
// a while, for a burst that goes on.
func (m *memory) release() bool {
	debug.FreeOSMemory()
	h := m.read()
	m.collections, m.held, m.rounds, m.least, m.since = h.collections, h.held, 0, h.held, 0
	return true
}

// burst follows how much garbage came since the last round. The more there was, the more a collection is worth.
func (m *memory) burst(h heap) {
	garbage := h.allocated - m.last.allocated - max(h.live-m.last.live, 0)
	m.last = h
	m.worth = min(max(garbage/burstCollections, m.worth/2, mostGarbage), burstGarbage)
}

// percentFor returns by how many percent the heap may grow between collections, if a collection is worth so much garbage, for a
// maxmemory of bound (0: none).
func percentFor(h heap, worth, bound int64) int {
	if h.live == 0 {
		return usualPercent
	}
	if bound > 0 {
		worth = min(max(bound/garbagePart, leastGarbage), worth)
	}
	return int(min(max(100*max(worth, scanned*h.scan)/h.live, 1), usualPercent))
}

// limitFor returns Go's memory limit for a maxmemory of bound (0: none), when the process
// is to take most bytes, and takes resident.
func limitFor(h heap, bound, most, resident int64) int64 {
	if bound == 0 {
		return math.MaxInt64
	}
	outside := int64(programBytes)
	if resident > 0 {
		outside = max(resident-h.all, 0)
	}
	// With less room for garbage than this the collector would take more and more of the
	// processors.
	least := h.live + h.unused + (h.all - h.held) + max(leastGarbage, h.scan/scanned)
	return max(most-outside, least)
}

// adapt sets the percentage and the limit of the collector.
func (m *memory) adapt(h heap, bound, resident int64) {
	if m.percent == 0 {
		return
	}
	most := loadedBudget(bound)
	select {
	case <-m.loaded:
	default:
		most = budget(bound) - beyondLimit
	}
	percent, limit := percentFor(h, m.worth, bound), limitFor(h, bound, most, resident)
	if change := max(percent-m.percent, m.percent-percent); change > m.percent/worthSetting {
		m.percent = percent
		debug.SetGCPercent(percent)
	}
	if change := max(limit-m.limit, m.limit-limit); change > leastGarbage/worthSetting {
		m.limit = limit
		debug.SetMemoryLimit(limit)
	}
}

// watch follows maxmemory until close. While data is loaded, which makes a heap in tenths of a
// second, it looks often, and leaves what is free to the loading.
func (m *memory) watch() {
	m.adapt(m.read(), m.maxMemory(), m.resident())
	m.ended.Go(func() {
		if !m.every(loadingRound, m.loaded, func() { m.adapt(m.read(), m.maxMemory(), m.resident()) }) {
			return
		}
		m.every(memoryRound, nil, func() { m.look() })
	})
}

// every calls f each period until done is closed, for which it returns true, or the memory is.
func (m *memory) every(period time.Duration, done <-chan struct{}, f func()) bool {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-done:
			return true
		case <-m.closed:
			return false
		}
	}
}

// ready says that the data is loaded.
func (m *memory) ready() { close(m.loaded) }

func (m *memory) close() {
	close(m.closed)
	m.ended.Wait()
}
