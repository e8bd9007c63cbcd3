//go:build !unix || aix || solaris

package persistence

// regionBytes is small where memory is committed as soon as it is asked for.
const regionBytes = 4 << 20

func mapMemory(n int) []byte { return make([]byte, n) }

func unmapMemory([]byte) {}
