//go:build !linux

package slab

// dropMemory keeps the memory: without a known way to give back a part of a
// mapping, freed pages wait for reuse.
func dropMemory([]byte) {}

// adviseHuge does nothing where there is no such request.
func adviseHuge([]byte) {}

// touchMemory does nothing: the memory is there, or comes at the first use.
func touchMemory([]byte) {}
