//go:build !unix

package server

import (
	"net"
	"time"
)

// cpuTimes is not known here.
func cpuTimes() (user, system time.Duration) { return 0, 0 }

// setBacklog leaves the queue of new connections as the system makes it.
func setBacklog(net.Listener, int) error { return nil }
