//go:build !unix || aix || solaris

package slab

// regionBytes is small where memory is committed as soon as it is asked for.
const regionBytes = 4 << 20

// Map returns n zeroed bytes.
func Map(n int) []byte { return make([]byte, n) }

// Unmap does nothing: the collector frees the memory.
func Unmap([]byte) {}
