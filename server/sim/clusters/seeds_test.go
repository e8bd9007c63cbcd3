package clusters

import (
	"flag"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigildb/vigil/structures/testscale"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the first seed")
	seeds     = flag.Uint64("seeds", testscale.Rounds(uint64(10)), "seeds to simulate")
	length    = flag.Duration("length", 20*time.Second, "virtual time in which everything fails")
	lines     = flag.Int("lines", 150, "lines of the trace that are printed with a violation")
)

// simulate runs a seed in a bubble of its own, and looks at what its clients saw.
func simulate(t *testing.T, seed uint64) *Report {
	t.Helper()
	var r *Report
	synctest.Test(t, func(*testing.T) { r = Run(seed, *length) })
	r.Judge()
	return r
}

// Whatever fails while slots move, what clients see of a tag could have come from one server that never failed; and
// in the end each slot has one owner, and each key one place.
func TestClustersKeepTheirPromises(t *testing.T) {
	effects := map[string]int{}
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		r := simulate(t, seed)
		if r.Violation != "" {
			t.Fatalf("seed %d: %s\n%s\nrepeat with: cd server/sim && go test ./clusters -run Promises -seed %d -seeds 1 -count 20", seed, r.Violation,
				strings.Join(r.Trace[max(0, len(r.Trace)-*lines):], "\n"), seed)
		}
		for what, n := range r.Effects {
			effects[what] += n
		}
	}
	t.Logf("%d seeds of %v: %v", *seeds, *length, effects)
	if n := int(*seeds); n >= 10 && (effects["moved"] < n || effects["killed"] < n || effects["failovers"] < n || effects["ambushes at a step"] < n/2 || effects["unjudged"] > n) {
		t.Error("too little happened")
	}
}
