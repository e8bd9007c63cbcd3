package server

import (
	"sync"
	"time"

	"github.com/vigildb/vigil/server/info"
)

// rewrites are the calls of BGREWRITEAOF, each of which stores all changed keys under their
// own names.
type rewrites struct {
	mu       sync.Mutex
	running  bool  // guarded by mu
	began    int64 // unix seconds, of the one that runs; guarded by mu
	took     int64 // seconds, of the last one; guarded by mu
	count    int64 // that ended; guarded by mu
	failures int64 // since the last success; guarded by mu
}

// begin reports whether one may begin: none runs.
func (r *rewrites) begin(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running {
		return false
	}
	r.running, r.began = true, now.Unix()
	return true
}

func (r *rewrites) end(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.took = false, max(0, now.Unix()-r.began)
	r.count++
	if r.failures++; err == nil {
		r.failures = 0
	}
}

// info shows them in INFO persistence.
func (r *rewrites) info(t *info.Text, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, current := int64(-1), int64(-1) // none
	if r.count > 0 {
		last = r.took
	}
	if r.running {
		current = max(0, now.Unix()-r.began)
	}
	info.Field(t, "aof_rewrite_in_progress", info.Number(r.running))
	info.Field(t, "aof_rewrite_scheduled", 0)
	info.Field(t, "aof_last_rewrite_time_sec", last)
	info.Field(t, "aof_current_rewrite_time_sec", current)
	info.Field(t, "aof_last_bgrewrite_status", info.Status(r.failures > 0))
	info.Field(t, "aof_rewrites", r.count)
	info.Field(t, "aof_rewrites_consecutive_failures", r.failures)
}
