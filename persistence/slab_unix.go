//go:build unix && !aix && !solaris

package persistence

import (
	"fmt"
	"syscall"
)

// regionBytes is the unit in which address space is asked for. The system
// provides memory only for what is touched.
const regionBytes = 64 << 20

func mapMemory(n int) []byte {
	b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("persistence: map %d bytes: %v", n, err))
	}
	return b
}

func unmapMemory(b []byte) { _ = syscall.Munmap(b) }
