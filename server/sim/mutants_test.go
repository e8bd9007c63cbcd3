//go:build mutants

package sim

import (
	"maps"
	"slices"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// mutantSeeds is within how many seeds a planted bug must be found.
const mutantSeeds = 200

// TestPlantedBugsAreFound plants each bug and simulates until a promise is broken.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(persistence.Mutants)) {
		t.Run(name, func(t *testing.T) {
			persistence.Plant(name)
			defer persistence.Plant("")
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
