//go:build amd64 || arm64

// Package prefetch makes the processor load memory that will be read soon. It
// never faults, reads nothing that a program can see, and is free to do nothing.
package prefetch

import "unsafe"

// Line has the cache line of p brought into all levels of the cache. p may be any
// address, also one that is not mapped.
//
//go:noescape
func Line(p unsafe.Pointer)

// Range has the cache lines from that of first to that of last brought into all levels of
// the cache, at least one: it is meant for a few lines.
//
//go:noescape
func Range(first, last unsafe.Pointer)
