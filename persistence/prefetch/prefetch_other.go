//go:build !amd64 && !arm64

// Package prefetch makes the processor load memory that will be read soon. It
// never faults, reads nothing that a program can see, and is free to do nothing:
// on this architecture it does nothing.
package prefetch

import "unsafe"

// Line does nothing.
func Line(unsafe.Pointer) {}

// Range does nothing.
func Range(first, last unsafe.Pointer) {}
