package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/vigildb/vigil/server"
)

const (
	// memoryRound is how often the heap is looked at.
	memoryRound = time.Second
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
	// usualPercent bounds how far the heap grows between two collections.
	usualPercent = 100
	// mostGarbage is how much garbage a collection is worth: with a small heap a
	// percentage would mean dozens a second. With a maxmemory it is a part of that, and
	// leastGarbage at least, as the process has to keep to it.
	mostGarbage, leastGarbage, garbagePart = 16 << 20, 4 << 20, 8
	// scanned is how many times what it has to scan a collection may find as garbage
	// at least. A collection costs what it scans: pointers, and no bytes of keys and values.
	// So the collector costs half of what it does in a usual Go program at most, whose
	// heap is all pointers.
	scanned = 2
	// worthSetting is which part of the percentage must change: setting it stops all
	// goroutines for a moment.
	worthSetting = 8
)

// memory makes the process follow maxmemory, and returns to the system what a
// burst of work has left.
//
// Keys and values are counted by the store. Beside them there is garbage. Go lets it
// grow to as much as the heap that is in use, of which most is pages of large values here,
// that cost a collection nothing. So it runs by what it has to scan. That is done by
// percentage, not by a limit for the heap: a collector that keeps to a limit runs
// without end when what is in use reaches it.
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
	percent     int    // as it was set; 0: it is not ours to set
	samples     []metrics.Sample
}

func newMemory(maxMemory func() int64) *memory {
	m := &memory{maxMemory: maxMemory, resident: server.ResidentBytes}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		m.percent = usualPercent
	}
	for _, name := range []string{
		"/gc/cycles/total:gc-cycles", "/gc/heap/live:bytes", "/gc/scan/heap:bytes", "/memory/classes/heap/objects:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes",
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
	free        int64 // of the system's memory, not in use
	held        int64 // of the system's memory, in use or not
}

func (m *memory) read() heap {
	metrics.Read(m.samples)
	h := heap{collections: m.samples[0].Value.Uint64(), live: int64(m.samples[1].Value.Uint64()), scan: int64(m.samples[2].Value.Uint64())}
	for _, s := range m.samples[3:] {
		h.held += int64(s.Value.Uint64())
	}
	h.free = int64(m.samples[4].Value.Uint64())
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
	m.adapt(percentFor(h, bound))
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

// percentFor returns by how many percent the heap may grow between collections, for a
// maxmemory of bound (0: none).
func percentFor(h heap, bound int64) int {
	if h.live == 0 {
		return usualPercent
	}
	worth := int64(mostGarbage)
	if bound > 0 {
		worth = min(max(bound/garbagePart, leastGarbage), mostGarbage)
	}
	return int(min(max(100*max(worth, scanned*h.scan)/h.live, 1), usualPercent))
}

func (m *memory) adapt(percent int) {
	change := max(percent-m.percent, m.percent-percent)
	if m.percent != 0 && change > m.percent/worthSetting {
		m.percent = percent
		debug.SetGCPercent(percent)
	}
}

// watch looks every round until done is closed.
func (m *memory) watch(done <-chan struct{}) {
	tick := time.NewTicker(memoryRound)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.look()
		case <-done:
			return
		}
	}
}
