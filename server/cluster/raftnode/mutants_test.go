//go:build mutants

package raftnode

import (
	"testing"

	"github.com/vigildb/vigil/persistence"
)

// A state that is taken in and leaves the segments of the former log is found.
func TestPlantedBugsOfTakeoversAreFound(t *testing.T) {
	persistence.Plant("kept segments")
	defer persistence.Plant("")
	found(t, func(t testing.TB, seed uint64) *world { return deposedTail(t, seed) })
}

// Bugs of stores in a group that concern its driver are found, R3's absence, "kept tail", among them.
func TestPlantedBugsOfStoresAreFound(t *testing.T) {
	for _, name := range []string{"hasty commit", "kept tail", "reused positions"} {
		t.Run(name, func(t *testing.T) {
			persistence.Plant(name)
			defer persistence.Plant("")
			found(t, func(t testing.TB, seed uint64) *world { return chaos(t, seed, rules{}, *length) })
		})
	}
}
