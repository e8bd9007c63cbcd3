//go:build !race

package cluster

// usualSeeds is how many seeds a plain test simulates.
const usualSeeds = 40
