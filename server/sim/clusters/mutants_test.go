//go:build mutants

package clusters

import (
	"maps"
	"slices"
	"testing"

	"github.com/vigildb/vigil/server/cluster/migrate"
)

// mutantSeeds is within how many seeds a planted bug must be found.
const mutantSeeds = 40

// TestPlantedBugsAreFound plants each bug of moves and simulates until a promise is broken.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(migrate.Mutants)) {
		t.Run(name, func(t *testing.T) {
			migrate.Plant(name)
			defer migrate.Plant("")
			for seed := range uint64(mutantSeeds) {
				if r := simulate(t, seed); r.Violation != "" {
					t.Logf("found by seed %d: %s", seed, r.Violation)
					return
				}
			}
			t.Errorf("not found by %d seeds", mutantSeeds)
		})
	}
}
