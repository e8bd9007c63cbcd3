//go:build !linux

package server

// ResidentBytes is 0: INFO then shows the memory that the Go runtime has
// obtained from the system.
func ResidentBytes() int64 { return 0 }

// systemBytes is 0: the memory of the machine is not known.
func systemBytes() int64 { return 0 }
