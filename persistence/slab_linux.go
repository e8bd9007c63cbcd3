package persistence

import "syscall"

// dropMemory tells the system that the content of b is not needed: its memory
// is taken back, and the next touch finds zeros.
func dropMemory(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }

// hugeMemory asks for big pages where the system grants them on request.
func hugeMemory(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
