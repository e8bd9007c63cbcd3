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
	for range tightOver - 1 {
		if m.look() {
			t.Error("released at once")
		}
	}
	if !m.look() {
		t.Errorf("not released after %d rounds", tightOver)
	}
}

func TestCollectorRunsEarlierNearTheBudgetAndNeverWithoutEnd(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name                  string
		bound, resident, live int64
		want                  int
	}{
		{"no maxmemory", 0, 4000 * mb, 2000 * mb, usualPercent},
		{"the system does not tell", 64 * mb, 0, 60 * mb, usualPercent},
		{"far below the budget", 1000 * mb, 500 * mb, 100 * mb, usualPercent},
		{"little room", 400 * mb, 460 * mb, 250 * mb, 92},
		{"no room", 64 * mb, 600 * mb, 300 * mb, leastPercent},
		{"no room and a small heap", 64 * mb, 600 * mb, 10 * mb, usualPercent},
	} {
		h := heap{live: c.live, held: min(c.live+c.live/2, c.resident)}
		got := percentFor(c.bound, c.bound+c.bound/4+fixedMemory, c.resident, h)
		if got < c.want-3 || got > c.want+3 {
			t.Errorf("%s: %d %%, want about %d", c.name, got, c.want)
		}
	}
}
