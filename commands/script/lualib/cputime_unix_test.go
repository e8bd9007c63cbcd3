//go:build unix

package lualib

import (
	"syscall"
	"time"
)

// processorTime is what the process has used, by which tests bound work on machines that
// are busy with others'.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for wrong arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
