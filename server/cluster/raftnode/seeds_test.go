//go:build !race

package raftnode

// usualSeeds is how many seeds a plain test simulates.
const usualSeeds = 40
