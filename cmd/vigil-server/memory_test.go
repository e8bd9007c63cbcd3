package main

import (
	"runtime"
	"testing"
)

func TestMemoryIsReleasedOnceAfterABurst(t *testing.T) {
	m := newMemory()
	big := make([]byte, 2*worthReleasing)
	big[0] = 1
	runtime.GC()
	if m.look() {
		t.Error("released while collections were going on")
	}
	runtime.KeepAlive(big)
	big = nil
	if !m.look() {
		t.Error("not released when nothing had been collected for a round")
	}
	if m.look() {
		t.Error("released twice")
	}
}
