//go:build unix

package server

import (
	"syscall"
	"time"
)

// cpuTimes are the times that the process has computed, and that the system
// has for it.
func cpuTimes() (user, system time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}
