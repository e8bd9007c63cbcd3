//go:build !unix

package lualib

import "time"

var started = time.Now()

// processorTime is the time since the start: what the process has used of it is not known.
func processorTime() time.Duration { return time.Since(started) }
