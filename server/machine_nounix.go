//go:build !unix

package server

import (
	"math"
	"net"
	"time"
)

// cpuTimes is not known here.
func cpuTimes() (user, system time.Duration) { return 0, 0 }

// openFilesLimit is not known here.
func openFilesLimit() uint64 { return math.MaxUint64 }

// setBacklog leaves the queue of new connections as the system makes it.
func setBacklog(net.Listener, int) error { return nil }
