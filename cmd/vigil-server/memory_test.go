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

// What a collection frees is kept for the burst that goes on, unless the process takes
// more than maxmemory and a quarter.
func TestFreeMemoryIsReturnedAmidABurst(t *testing.T) {
	for _, c := range []struct {
		name      string
		maxMemory int64
		returned  bool
	}{{"no maxmemory", 0, false}, {"within it", 200 * mbyte, false}, {"beyond it", 100 * mbyte, true}} {
		m := quietMemory(t, c.maxMemory, 130*mbyte)
		m.since = 0
		returned := 0
		for round := range 3 * burstOver {
			big := make([]byte, 3*worthReleasing)
			big[0] = 1
			runtime.KeepAlive(big)
			big = nil
			runtime.GC() // as in a burst
			if m.look() {
				returned++
				if free := m.read().free; free >= worthReleasing {
					t.Errorf("%s: %d MB are free behind it", c.name, free/mbyte)
				}
				if round < burstOver {
					t.Errorf("%s: returned in round %d", c.name, round)
				}
			}
		}
		if want := map[bool]int{true: 2}[c.returned]; returned != want {
			t.Errorf("%s: returned %d times, want %d", c.name, returned, want)
		}
	}
}

func TestCollectorRunsByWhatItScans(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name                       string
		bound, live, scan, garbage int64 // garbage between two collections
	}{
		{"a small heap", 0, 10 * mb, 2 * mb, 10 * mb},
		{"large pages", 0, 1000 * mb, 7 * mb, mostGarbage},
		{"many pointers", 0, 1000 * mb, 200 * mb, 400 * mb},
		{"nothing but pointers", 0, 1000 * mb, 1000 * mb, 1000 * mb},
		{"more pages than a percentage can say", 0, 4000 * mb, 0, 40 * mb},
		{"a small maxmemory", 16 * mb, 40 * mb, 1 * mb, leastGarbage},
		{"a maxmemory", 64 * mb, 100 * mb, 1 * mb, 8 * mb},
		{"a large maxmemory", 1000 * mb, 100 * mb, 1 * mb, mostGarbage},
		{"a small maxmemory, and pointers", 32 * mb, 40 * mb, 10 * mb, 20 * mb},
	} {
		got := int64(percentFor(heap{live: c.live, scan: c.scan}, mostGarbage, c.bound))
		if off := got*c.live/100 - c.garbage; off > 0 || off < -c.live/50 {
			t.Errorf("%s: %d %% of %d MB, want %d MB", c.name, got, c.live/mb, c.garbage/mb)
		}
	}
	if got := percentFor(heap{}, mostGarbage, 0); got != usualPercent {
		t.Errorf("%d %% before the first collection", got)
	}
}

// Values that are written over make garbage as fast as they come: then a collection waits for more of it, and when the burst
// is over for as much as before. What stays is no garbage.
func TestCollectorWaitsForMoreInABurst(t *testing.T) {
	const mb = 1 << 20
	m := newMemory(func() int64 { return 0 })
	allocated, live := int64(0), int64(100*mb)
	m.burst(heap{live: live})
	for _, c := range []struct {
		name                   string
		allocated, grown, want int64 // in a round
	}{
		{"nothing", 0, 0, mostGarbage},
		{"little garbage", 30 * mb, 0, mostGarbage},
		{"what is loaded", 400 * mb, 380 * mb, mostGarbage},
		{"garbage", 80 * mb, 0, 40 * mb},
		{"a flood of it", 900 * mb, -50 * mb, burstGarbage},
		{"the first round behind", 1 * mb, 0, 32 * mb},
		{"the second", 0, 0, mostGarbage},
		{"what follows", 0, 0, mostGarbage},
	} {
		allocated, live = allocated+c.allocated, live+c.grown
		if m.burst(heap{live: live, allocated: allocated}); m.worth != c.want {
			t.Errorf("%s: a collection is worth %d MB, want %d MB", c.name, m.worth/mb, c.want/mb)
		}
	}
	for _, c := range []struct{ bound, want int64 }{{0, 64 * mb}, {64 * mb, 8 * mb}, {256 * mb, 32 * mb}, {16 * mb, leastGarbage}} {
		got := int64(percentFor(heap{live: 100 * mb, scan: mb}, burstGarbage, c.bound)) * mb
		if off := got - c.want; off > 0 || off < -mb {
			t.Errorf("maxmemory of %d MB: %d MB in a burst, want %d MB", c.bound/mb, got/mb, c.want/mb)
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
