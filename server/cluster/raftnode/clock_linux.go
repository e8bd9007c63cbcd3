package raftnode

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is a clock that goes on while the machine sleeps.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("cluster: the clock cannot be read: " + err.Error()) // every Linux since 2.6.39 has it
	}
	return time.Duration(t.Nano())
}
