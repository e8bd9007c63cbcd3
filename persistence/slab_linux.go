package persistence

import "syscall"

// dropMemory tells the system that the content of b is not needed: its memory
// is taken back, and the next touch finds zeros.
func dropMemory(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }
