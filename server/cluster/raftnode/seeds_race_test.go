//go:build race

package raftnode

// usualSeeds is less under the race detector, which takes ten times as long.
const usualSeeds = 5
