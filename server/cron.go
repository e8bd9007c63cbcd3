package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/server/tracking"
)

const (
	// cronPeriod is the time between rounds of background work, as with hz 10.
	cronPeriod = 100 * time.Millisecond
	// expireBudget is how long one round of active expiry may take: a quarter
	// of one core at the most.
	expireBudget = cronPeriod / 4
	// clientRound is how often idle clients are looked for, in rounds.
	clientRound = 10
)

// cron is the background work, a round every cronPeriod. Each round schedules
// the next, so that rounds do not pile up after a slow one.
type cron struct {
	mu      sync.Mutex
	stopped bool   // guarded by mu
	cancel  func() // the timer of the next round; guarded by mu

	paused atomic.Bool // by DEBUG PAUSE-CRON

	running sync.Mutex // held during a round; it guards what follows
	round   int64
	yielded time.Time // when another member was to lead, as the disk was full
	gone    int       // rounds since the server has left its group, 0 while it is in one
}

func (c *cron) plan(srv *Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	c.cancel = srv.clock.AfterFunc(cronPeriod, func() {
		c.run(srv)
		c.plan(srv)
	})
}

// stop schedules no more rounds and waits for the one that is running.
func (c *cron) stop() {
	c.mu.Lock()
	c.stopped = true
	if c.cancel != nil {
		c.cancel()
	}
	c.mu.Unlock()
	c.running.Lock()
	defer c.running.Unlock()
}

func (c *cron) run(srv *Server) {
	c.running.Lock()
	defer c.running.Unlock()
	if srv.done.Err() != nil || c.paused.Load() {
		return
	}
	c.round++
	now := srv.clock.Now()
	if srv.loading.Load() {
		if c.round%clientRound == 0 {
			srv.reportLoading()
			srv.dropIdle(now)
			srv.dropSlow(now)
		}
		return
	}
	if srv.activeExpire.Load() && !srv.pause.Active() && !srv.importing.Load() {
		srv.latency.watch(srv.clock, "expire-cycle", func() { srv.upkeep.expire(srv, now) })
	}
	if !srv.pause.Active() {
		srv.latency.watch(srv.clock, "eviction-cycle", srv.makeRoom)
	}
	srv.upkeep.noteMemory(now, srv.overLimit())
	srv.blocked.ServeRemoved()
	srv.tracking.Trim(tracking.Effort)
	srv.announceLeader()
	c.dropSubscribers(srv)
	srv.rates.take(now, srv.counted())
	srv.snapshots.Autosave(now)
	srv.memory.mind()
	srv.figures.Measure()
	if c.round%clientRound == 0 {
		c.yieldLead(srv, now)
		srv.dropIdle(now)
		srv.dropSlow(now)
		srv.source.Tick()
		srv.links.dropIdle(now)
		srv.backups.tick()
		srv.history.take(now, srv.totals)
	}
}

// roomRounds bounds how long one round makes room.
const roomRounds = 1000

// makeRoom brings memory under its limit even if no client writes, because
// CONFIG SET may have lowered the limit. It stops when nothing more can be
// removed.
func (srv *Server) makeRoom() {
	limit := srv.settings().maxMemory
	srv.store.Eviction().MakeRoom() // large values have a limit of their own
	for range roomRounds {
		before := srv.store.Memory()
		if limit == 0 || before <= limit {
			return
		}
		if srv.store.Eviction().MakeRoom(); srv.store.Memory() >= before {
			return
		}
	}
}

// overLimit reports whether keys and values take more than maxmemory.
func (srv *Server) overLimit() bool {
	limit := srv.settings().conf.MaxMemory
	return limit > 0 && srv.store.Memory() > limit
}

// dropIdle closes clients that sent nothing for the time that the directive
// timeout allows. Subscribers, monitors and blocked clients may be silent.
func (srv *Server) dropIdle(now time.Time) {
	limit := srv.settings().idleTimeout
	if limit <= 0 {
		return
	}
	for _, s := range srv.clients.list() {
		if s.mayBeSilent() {
			continue
		}
		if now.UnixMilli()-s.lastInput.Load() > limit.Milliseconds() {
			srv.logf(logVerbose, "closing idle client %d", s.ID)
			s.conn.HangUp()
		}
	}
}

// dropSlow closes clients whose outboxes have been over their soft limit for
// too long, even if nothing more is added to them.
func (srv *Server) dropSlow(now time.Time) {
	srv.clients.each(func(s *session) {
		if s.output.overdue(s.output.limit(), now.Unix()) {
			s.output.tell(false, true)
		}
	})
}

// waitABit pauses a loop that cannot go on now, such as an accept loop for lack of a resource.
func (srv *Server) waitABit() {
	wake := make(chan struct{}) // closed by the timer
	stop := srv.clock.AfterFunc(50*time.Millisecond, func() { close(wake) })
	defer stop()
	select {
	case <-wake:
	case <-srv.done.Done():
	}
}
