//go:build unix && !aix && !solaris

package slab

import (
	"fmt"
	"syscall"
)

// regionBytes is the unit in which address space is requested. The system
// provides memory only for what is touched.
const regionBytes = 64 << 20

// Map returns n zeroed bytes outside the Go heap. It panics if the system has no
// more memory.
func Map(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("slab: map %d bytes: %v", n, err))
	}
	return b
}

// Unmap frees the result of Map; no part of it may be used any more.
func Unmap(b []byte) { _ = syscall.Munmap(b) }
