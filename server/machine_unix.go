//go:build unix

package server

import (
	"math"
	"net"
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

// openFilesLimit is how many files the process may have open. Go's runtime has
// raised it as far as it goes.
func openFilesLimit() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur)
}

// setBacklog sets the length of the queue of connections not yet accepted, which
// the system may bound.
func setBacklog(l net.Listener, n int) error {
	socket, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := socket.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), n) }); err != nil {
		return err
	}
	return failed
}
