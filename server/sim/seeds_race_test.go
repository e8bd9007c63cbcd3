//go:build race

package sim

// usualSeeds is less under the race detector, which takes ten times as long.
const usualSeeds = 40
