//go:build !race

package waits_test

// slowness is by how much less is measured than without the race detector.
const slowness = 1
