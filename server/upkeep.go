package server

import (
	"sync"
	"time"
)

// upkeep is what INFO shows of the work of the cron: expiry, and memory above its limit.
type upkeep struct {
	mu sync.Mutex
	// Guarded by mu.
	stale    float64       // percentage of keys with an expiry that were found to be over, smoothed
	looked   int64         // ExpiryLooked of the last cycle
	expiring time.Duration // time of all cycles
	exceeded time.Duration // time above maxmemory, but for the current one
	since    time.Time     // when the current one began; zero if memory is below its limit
}

// staleWeight is that of the newest cycle in the percentage, as in Redis.
const staleWeight = 0.05

// expire runs a cycle of expiry.
func (u *upkeep) expire(srv *Server, now time.Time) {
	began := srv.clock.Now()
	expired := srv.store.ExpireCycle(now.UnixMilli(), expireBudget)
	took, looked := srv.clock.Since(began), srv.store.Counters().ExpiryLooked
	u.mu.Lock()
	defer u.mu.Unlock()
	share := 0.0
	if n := looked - u.looked; n > 0 {
		share = 100 * min(1, float64(expired)/float64(n))
	}
	u.looked = looked
	u.stale += staleWeight * (share - u.stale)
	u.expiring += max(0, took)
}

// noteMemory notes whether memory is above its limit.
func (u *upkeep) noteMemory(now time.Time, over bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case over && u.since.IsZero():
		u.since = now
	case !over && !u.since.IsZero():
		u.exceeded += max(0, now.Sub(u.since))
		u.since = time.Time{}
	}
}

// reset is CONFIG RESETSTAT. Memory that is above its limit is that from now on.
func (u *upkeep) reset(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stale, u.expiring, u.exceeded = 0, 0, 0
	if !u.since.IsZero() {
		u.since = now
	}
}

// shownUpkeep is upkeep as INFO shows it.
type shownUpkeep struct {
	stale                       float64
	expiring, exceeded, current time.Duration
}

func (u *upkeep) shown(now time.Time) shownUpkeep {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := shownUpkeep{stale: u.stale, expiring: u.expiring, exceeded: u.exceeded}
	if !u.since.IsZero() {
		s.current = max(0, now.Sub(u.since))
	}
	s.exceeded += s.current
	return s
}
