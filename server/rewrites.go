package server

import (
	"sync"
	"time"
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
func (r *rewrites) info(t *infoText) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, current := int64(-1), int64(-1) // none
	if r.count > 0 {
		last = r.took
	}
	if r.running {
		current = max(0, t.srv.clock.Now().Unix()-r.began)
	}
	field(t, "aof_rewrite_in_progress", number(r.running))
	field(t, "aof_rewrite_scheduled", 0)
	field(t, "aof_last_rewrite_time_sec", last)
	field(t, "aof_current_rewrite_time_sec", current)
	field(t, "aof_last_bgrewrite_status", status(r.failures > 0))
	field(t, "aof_rewrites", r.count)
	field(t, "aof_rewrites_consecutive_failures", r.failures)
}
