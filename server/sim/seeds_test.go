//go:build !race

package sim

// usualSeeds is how many seeds a plain test simulates.
const usualSeeds = 300
