package main

import (
	"runtime"
	"testing"
)

func TestMemoryIsReleasedOnceAfterABurst(t *testing.T) {
	m := newMemory(func() int64 { return 0 })
	big := make([]byte, 2*worthReleasing)
	big[0] = 1
	runtime.GC()
	for range burstOver {
		if m.look() {
			t.Error("released while collections were going on")
		}
	}
	runtime.KeepAlive(big)
	big = nil
	if !m.look() {
		t.Error("not released when nothing had been collected for some rounds")
	}
	for range 2 * burstOver {
		if m.look() {
			t.Error("released twice")
		}
	}
}

func TestMemoryIsReleasedSoonerBeyondTheBudget(t *testing.T) {
	m := newMemory(func() int64 { return 64 << 20 })
	m.percent = 0 // leave the test's own collector alone
	m.resident = func() int64 { return 300 << 20 }
	runtime.GC()
	m.look()
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
