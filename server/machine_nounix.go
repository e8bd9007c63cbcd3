//go:build !unix

package server

import (
	"math"
	"time"
)

// cpuTimes is not known here.
func cpuTimes() (user, system time.Duration) { return 0, 0 }

// openFilesLimit is not known here.
func openFilesLimit() uint64 { return math.MaxUint64 }

// fileSizeLimit is how many bytes a file may have.
func fileSizeLimit() uint64 { return math.MaxUint64 }
