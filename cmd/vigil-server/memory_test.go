package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// quietMemory returns a memory that has seen the last collection, with a heap in which
// nothing is to be given back.
func quietMemory(t *testing.T, maxMemory, resident int64) *memory {
	t.Helper()
	percent := debug.SetGCPercent(-1) // no collections but those of look
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	m := newMemory(func() int64 { return maxMemory })
	m.percent = 0 // and none are set
	m.resident = func() int64 { return resident }
	debug.FreeOSMemory()
	m.look()
	m.least = m.read().held
	return m
}

func TestMemoryIsReleasedOnceAfterABurst(t *testing.T) {
	m := quietMemory(t, 0, 0)
	for burst := range 2 {
		big := make([]byte, 3*worthReleasing) // too little for a collection, with a larger heap
		big[0] = 1
		if m.look() {
			t.Fatalf("burst %d: released at once", burst)
		}
		runtime.KeepAlive(big)
		big = nil
		for range burstOver - 1 {
			if m.look() {
				t.Fatalf("burst %d: released while it may go on", burst)
			}
		}
		if !m.look() {
			t.Fatalf("burst %d: not released %d rounds after it", burst, burstOver)
		}
		for range 2 * burstOver {
			if m.look() {
				t.Errorf("burst %d: released twice", burst)
			}
		}
	}
}

func TestMemoryIsReleasedSoonerBeyondTheBudget(t *testing.T) {
	m := quietMemory(t, 64<<20, 300<<20)
	big := make([]byte, 3*worthReleasing)
	big[0] = 1
	runtime.KeepAlive(big)
	m.rounds = 0
	for range burstOver - 1 {
		if m.look() {
			t.Error("released at once")
		}
	}
	if !m.look() {
		t.Errorf("not released after %d rounds", burstOver)
	}
}

func TestCollectorRunsByWhatItScansAndEarlierNearTheBudget(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name                        string
		bound, resident, live, scan int64
		garbage                     int64 // between two collections
	}{
		{"a small heap", 0, 60 * mb, 20 * mb, 10 * mb, 20 * mb},
		{"large pages", 0, 4000 * mb, 1000 * mb, 15 * mb, usualGarbage},
		{"many pointers", 0, 4000 * mb, 1000 * mb, 200 * mb, 400 * mb},
		{"nothing but pointers", 0, 4000 * mb, 1000 * mb, 1000 * mb, 1000 * mb},
		{"far below the budget", 1000 * mb, 500 * mb, 320 * mb, 10 * mb, usualGarbage},
		{"little room", 400 * mb, 565 * mb, 420 * mb, 10 * mb, 25 * mb},
		{"no room", 64 * mb, 600 * mb, 300 * mb, 3 * mb, leastGarbage},
		{"no room and many pointers", 64 * mb, 600 * mb, 300 * mb, 50 * mb, 100 * mb},
		{"the system does not tell what the process takes", 64 * mb, 0, 60 * mb, 0, usualGarbage},
	} {
		h := heap{live: c.live, held: min(c.live+c.live/16, c.resident), scan: c.scan}
		got := int64(percentFor(c.bound, c.bound+c.bound/4+fixedMemory, c.resident, h))
		if off := got*c.live/100 - c.garbage; off > c.live/100 || off < -c.live/50 {
			t.Errorf("%s: %d %% of %d MB, want %d MB", c.name, got, c.live/mb, c.garbage/mb)
		}
	}
}

// What a Go program holds as bytes must not put off collections, pointers have to.
func TestHeapThatIsReadHasPointersApart(t *testing.T) {
	m := quietMemory(t, 0, 0)
	before := m.read()
	pages := make([][]byte, 32)
	for i := range pages {
		pages[i] = make([]byte, mbyte)
	}
	chain := make([]*[]byte, 2*mbyte/8)
	runtime.GC()
	h := m.read()
	if h.live-before.live < 32*mbyte || h.scan-before.scan < mbyte || h.scan-before.scan > 8*mbyte {
		t.Errorf("32 MB of bytes and 2 MB of pointers grew the heap by %d, and what is scanned by %d", h.live-before.live, h.scan-before.scan)
	}
	runtime.KeepAlive(pages)
	runtime.KeepAlive(chain)
}

const mbyte = 1 << 20
