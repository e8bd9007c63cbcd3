package sim

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed")
	seeds     = flag.Uint64("seeds", usualSeeds, "seeds to simulate")
	lines     = flag.Int("lines", 60, "lines of the trace that are printed with a violation")
)

// simulate runs a seed in a bubble of its own.
func simulate(t *testing.T, seed uint64) (r Report) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = Run(seed) })
	return r
}

// TestServerKeepsItsPromises simulates in rounds, so that a panic, which ends the
// process, tells from where on to look.
func TestServerKeepsItsPromises(t *testing.T) {
	const round = 100
	var sum Report
	for seed, end := *firstSeed, *firstSeed+*seeds; seed < end && !t.Failed(); seed += round {
		t.Run(fmt.Sprint("from ", seed), func(t *testing.T) { keepsPromises(t, seed, min(end, seed+round), &sum) })
	}
	t.Logf("%d seeds: %d calls, %d crashes (%d of the process alone), %d disk faults, %d snapshots, %d histories judged, %d too long for it",
		*seeds, sum.Calls, sum.Crashes, sum.Deaths, sum.Faults, sum.Snapshots, sum.Histories, sum.Unjudged)
	if n := int(*seeds); n >= usualSeeds && (sum.Crashes < n || sum.Deaths < n/4 || sum.Faults < n/2 || sum.Snapshots < n/4 || sum.Histories < n/4) {
		t.Error("too little happened")
	}
}

func keepsPromises(t *testing.T, from, to uint64, sum *Report) {
	for seed := from; seed < to; seed++ {
		r := simulate(t, seed)
		sum.add(&r)
		if r.Violation != "" {
			t.Fatalf("seed %d: %s\n%s\nrepeat with: make sim SEED=%d SEEDS=1", seed, r.Violation, r.End(*lines), seed)
		}
	}
}

// TestSeedRepeatsItsRun runs seeds twice: all that happened must be the same, or a
// violation could not be looked into.
func TestSeedRepeatsItsRun(t *testing.T) {
	for seed := range uint64(10) {
		a, b := simulate(t, seed), simulate(t, seed)
		if a.Digest == b.Digest {
			continue
		}
		for i := range min(len(a.Trace), len(b.Trace)) {
			if a.Trace[i] != b.Trace[i] {
				t.Fatalf("seed %d: line %d is\n%s\nonce, then\n%s", seed, i, a.Trace[i], b.Trace[i])
			}
		}
		t.Fatalf("seed %d: the disk was used differently (%d lines, %d)", seed, len(a.Trace), len(b.Trace))
	}
}
