package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// cpuTime returns the processor time of a process, 0 if there is none. It comes from the
// clock of the process, in nanoseconds: /proc counts in hundredths of a second, and a
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

// childrenTime returns the processor time of a process's children that have ended and been
// waited for, in hundredths of a second: what /proc/PID/stat calls cutime and cstime.
func childrenTime(pid int) (t time.Duration) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the name may hold blanks
	if len(fields) < 15 {
		return 0
	}
	for _, f := range fields[13:15] {
		ticks, _ := strconv.Atoi(string(f))
		t += time.Duration(ticks) * 10 * time.Millisecond
	}
	return t
}
