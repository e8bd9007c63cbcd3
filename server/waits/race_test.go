//go:build race

package waits_test

// slowness is by how much less is measured than without the race detector. That costs a factor of ten, about, and larger
// values show it nothing new.
const slowness = 40
