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
	// over. For a process that is over its budget it is tightOver, and one more for
	// each roundBytes in use, as those are what a collection costs.
	burstOver, tightOver, roundBytes = 10, 2, 256 << 20
	// worthReleasing is how many bytes, and worthPart which part of the heap in use,
	// an extra collection must free: its cost is proportional to the memory in use.
	worthReleasing, worthPart = 16 << 20, 4
	// busyBytes is the growth of the heap in a round during a burst.
	busyBytes = 1 << 20
)

const (
	// fixedMemory is what the process may take in addition to maxmemory and a
	// quarter: the program, Pebble's buffers, the journal's, garbage.
	fixedMemory = 64 << 20
	// usualPercent and leastPercent bound how far the heap grows between two
	// collections. The least bounds what the collector costs, however short memory is:
	// a third more than usual.
	usualPercent, leastPercent = 100, 75
	// leastGarbage is how much garbage a collection is worth: with a small heap a
	// percentage would mean dozens of them a second.
	leastGarbage = 16 << 20
	// worthSetting is by how much the percentage must change: setting it stops all
	// goroutines for a moment.
	worthSetting = 10
)

// memory makes the process follow maxmemory, and returns to the system what a
// burst of work has left.
//
// Keys and values are counted by the store. Beside them there is garbage, up to as
// much as the heap that is in use. With a maxmemory the collector runs earlier when
// the process nears its budget. That is done by percentage, not by a limit for the
// heap: a collector that keeps to a limit runs without end when what is in use
// reaches it.
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
		"/gc/cycles/total:gc-cycles", "/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes",
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
	held        int64 // of the system's memory, in use or not
}

func (m *memory) read() heap {
	metrics.Read(m.samples)
	h := heap{collections: m.samples[0].Value.Uint64(), live: int64(m.samples[1].Value.Uint64())}
	for _, s := range m.samples[2:] {
		h.held += int64(s.Value.Uint64())
	}
	return h
}

// look adapts the collector, and collects when no collection has been for some rounds
// and enough can be given back: a burst of work is over, or its garbage was too little
// for a collection of its own.
func (m *memory) look() (released bool) {
	h, bound, resident := m.read(), m.maxMemory(), m.resident()
	budget := bound + bound/4 + fixedMemory
	tight := bound > 0 && resident > budget
	m.adapt(percentFor(bound, budget, resident, h))
	if h.collections != m.collections {
		m.collections, m.held, m.rounds, m.least = h.collections, h.held, 0, h.live
		return false
	}
	grown := h.held - m.held
	m.held = h.held
	wait := burstOver
	if tight {
		wait = min(tightOver+int(h.live/roundBytes), burstOver)
	} else if grown >= busyBytes {
		m.rounds = 0
		return false
	}
	m.rounds++
	if m.rounds < wait || h.held-m.least < max(worthReleasing, h.live/worthPart) {
		return false
	}
	runtime.GC() // a pool gives things back at the second collection
	debug.FreeOSMemory()
	h = m.read()
	m.collections, m.held, m.rounds, m.least = h.collections, h.held, 0, h.held
	return true
}

// percentFor returns by how many percent the heap may grow between collections.
func percentFor(bound, budget, resident int64, h heap) int {
	if bound == 0 || resident == 0 || h.live == 0 {
		return usualPercent
	}
	outside := max(resident-h.held, 0)
	garbage := max(budget-outside-h.live, leastGarbage)
	return int(min(max(100*garbage/h.live, leastPercent), usualPercent))
}

func (m *memory) adapt(percent int) {
	change := max(percent-m.percent, m.percent-percent)
	if m.percent != 0 && change >= worthSetting {
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
