//go:build !linux

package persistence

// dropMemory keeps the memory: where it is not known how to give back a part
// of a mapping, freed pages wait for reuse.
func dropMemory([]byte) {}

// adviseHuge does nothing where there is no such request.
func adviseHuge([]byte) {}

// touchMemory does nothing: the memory is there, or comes at the first use.
func touchMemory([]byte) {}
