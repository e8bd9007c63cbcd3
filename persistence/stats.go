package persistence

import "sync/atomic"

type counters struct {
	faults, expired, evicted, spilled, materialised atomic.Int64
}
