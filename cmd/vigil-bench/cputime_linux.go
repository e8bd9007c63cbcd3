package main

import (
	"syscall"
	"time"
	"unsafe"
)

// cpuTime returns the processor time of a process, 0 if there is none. It comes from the
// clock of the process, in nanoseconds: /proc counts in hundredths of a second, of which a
// run of a pipelined case has two dozen.
func cpuTime(pid int) time.Duration {
	const ofProcess = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	var t syscall.Timespec
	clock := uintptr(^pid<<3 | ofProcess)
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}
