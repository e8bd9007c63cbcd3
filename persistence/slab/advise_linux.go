package slab

import "syscall"

// dropMemory informs the system that the content of b is not needed: its memory
// is reclaimed, and the next touch finds zeros.
func dropMemory(b []byte) { _ = syscall.Madvise(b, syscall.MADV_DONTNEED) }

// adviseHuge asks for big pages of the system where it grants them on request:
// a lookup in a large store misses the address cache less often.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }

// touchMemory has the system provide the memory of b, with its content. It is a
// system call and no write, as the runtime lets other goroutines run during a
// system call. A kernel before 5.14 refuses, and provides the memory at the first
// use.
func touchMemory(b []byte) { _ = syscall.Madvise(b, madvPopulateWrite) }

// madvPopulateWrite is MADV_POPULATE_WRITE, which package syscall does not name.
const madvPopulateWrite = 23
