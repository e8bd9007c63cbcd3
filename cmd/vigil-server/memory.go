package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// memoryRound is how often the heap is looked at.
	memoryRound = 10 * time.Second
	// worthReleasing is how many bytes the heap must hold, in use or free, for a
	// collection out of turn.
	worthReleasing = 128 << 20
)

// memory gives back what a burst of work has left. Go collects garbage as
// memory is asked for, and every two minutes: after a big value is deleted, or
// a client that read nothing is gone, an idle server would keep gigabytes for
// long.
type memory struct {
	collections uint64 // at the last look
	quiet       bool   // collected, and nothing has been since
	samples     []metrics.Sample
}

func newMemory() *memory {
	m := &memory{}
	for _, name := range []string{
		"/gc/cycles/total:gc-cycles", "/memory/classes/heap/objects:bytes",
		"/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes",
	} {
		m.samples = append(m.samples, metrics.Sample{Name: name})
	}
	return m
}

// look collects once when a round has passed without a collection: whoever
// needed memory does not any more.
func (m *memory) look() (released bool) {
	metrics.Read(m.samples)
	collections, held := m.samples[0].Value.Uint64(), uint64(0)
	for _, s := range m.samples[1:] {
		held += s.Value.Uint64()
	}
	switch {
	case collections != m.collections:
		m.collections, m.quiet = collections, false
		return false
	case m.quiet || held < worthReleasing:
		return false
	}
	debug.FreeOSMemory()
	metrics.Read(m.samples)
	m.collections, m.quiet = m.samples[0].Value.Uint64(), true
	return true
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
