//go:build unix

package server

import (
	"math"
	"syscall"
	"time"
)

// cpuTimes returns the time that the process has spent computing, and that the
// system has spent for it.
func cpuTimes() (user, system time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// openFilesLimit is the number of files that the process may have open. Go's
// runtime has raised it to the highest value that is allowed.
func openFilesLimit() uint64 { return limitOf(syscall.RLIMIT_NOFILE) }

// fileSizeLimit is how many bytes a file may have.
func fileSizeLimit() uint64 { return limitOf(syscall.RLIMIT_FSIZE) }

func limitOf(resource int) uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(resource, &l) != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur)
}
