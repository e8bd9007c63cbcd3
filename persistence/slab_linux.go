package persistence

import "syscall"

// dropMemory tells the system that the content of b is not needed: its memory
// is taken back, and the next touch finds zeros.
func dropMemory(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }

// adviseHuge asks for big pages of the system where it grants them on request:
// a lookup in a large store misses the address cache less often.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }
