//go:build !linux

package raftnode

import "time"

var began = time.Now()

// Now is a clock. Whether it goes on while the machine sleeps depends on the system.
func Now() time.Duration { return time.Since(began) }
