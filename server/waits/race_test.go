//go:build race

package waits_test

// slowness is what the race detector costs, about.
const slowness = 10
