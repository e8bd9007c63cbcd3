package server

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// clientMemory is the account of what clients make the server hold, and the
// bound on it (maxmemory-clients). Beyond the bound the clients that hold most are
// evicted, as in Redis. Clients that owe a password share a small bound of their own:
// whoever has it must be able to get in.
type clientMemory struct {
	total     atomic.Int64 // of all clients, outboxes included
	strangers atomic.Int64 // of clients that owe a password, beyond clientBytes each
	limit     atomic.Int64 // of total; 0: none
	planned   atomic.Bool  // an eviction is about to run
	vain      atomic.Bool  // the last one found nobody to evict
	mu        sync.Mutex   // held during an eviction
}

const (
	// strangerBytes is what the clients that owe a password may hold in all.
	strangerBytes = 16 << 20
	// leastClientMemory is the lowest bound: below nobody could talk to the server.
	leastClientMemory = 128 << 10
)

// clientMemoryLimit is the bound that the configuration asks for, 0 for none.
func clientMemoryLimit(configured, maxMemory int64) int64 {
	limit := configured
	if configured < 0 {
		limit = int64(float64(maxMemory) * float64(-configured) / 100)
	}
	if limit == 0 {
		return 0
	}
	return max(limit, leastClientMemory)
}

// over reports that somebody is to be evicted.
func (m *clientMemory) over() bool {
	limit := m.limit.Load()
	return limit > 0 && m.total.Load() > limit || m.strangers.Load() > strangerBytes
}

// mindMemory plans an eviction if one is due. It runs apart, without locks. After
// one that found nobody, because those evicted are still leaving or may not be
// evicted, the next has time.
func (srv *Server) mindMemory() {
	m := &srv.memory
	if !m.over() || !m.planned.CompareAndSwap(false, true) {
		return
	}
	wait := time.Duration(0)
	if m.vain.Load() {
		wait = cronPeriod
	}
	srv.clock.AfterFunc(wait, srv.evictClients)
}

// evictClients closes the clients that hold most until the others are within the
// bounds.
func (srv *Server) evictClients() {
	m := &srv.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planned.Store(false)
	if !m.over() || srv.done.Err() != nil {
		m.vain.Store(false)
		return
	}
	all := srv.clients.list()
	n := evictLargest(all, strangerBytes, func(s *session) (weight int64, may bool) {
		may = !s.Has(commands.ClientAuthenticated)
		if may {
			weight = s.weight() - clientBytes
		}
		return weight, may
	}, srv.refuse)
	if limit := m.limit.Load(); limit > 0 {
		n += evictLargest(all, limit, func(s *session) (weight int64, may bool) {
			return s.weight(), !s.Has(commands.ClientNoEvict)
		}, func(s *session) { srv.evict(s, "clients hold more than maxmemory-clients") })
	}
	m.vain.Store(n == 0)
}

// evictLargest ends clients, those of the largest weight first and of equals the
// newest, until the weight of the others is at most limit. It returns how many.
func evictLargest(all []*session, limit int64, weigh func(*session) (weight int64, may bool), end func(*session)) (n int) {
	type candidate struct {
		s      *session
		weight int64
	}
	var line []candidate
	sum := int64(0)
	for _, s := range all {
		if s.Has(commands.ClientCloseSoon) {
			continue
		}
		weight, may := weigh(s)
		if sum += weight; may {
			line = append(line, candidate{s, weight})
		}
	}
	if sum <= limit {
		return 0
	}
	sort.Slice(line, func(i, j int) bool {
		if line[i].weight != line[j].weight {
			return line[i].weight > line[j].weight
		}
		return line[i].s.ID > line[j].s.ID
	})
	for n < len(line) && sum > limit {
		sum -= line[n].weight
		end(line[n].s)
		n++
	}
	return n
}

// evict closes a client and counts it.
func (srv *Server) evict(s *session, why string) {
	srv.stats.evictedClients.Add(1)
	srv.logf(LogNotice, "client %d is evicted, it holds %d bytes: %s", s.ID, s.weight(), why)
	srv.kill(s)
}

// refuse closes a client that has not given its password.
func (srv *Server) refuse(s *session) {
	srv.stats.rejectedClients.Add(1)
	srv.logf(LogVerbose, "client %d is closed: clients hold too much before their AUTH", s.ID)
	srv.kill(s)
}

// kill closes a client that runs, or may run, elsewhere. Its wait ends first, so
// that nothing is popped for somebody who is gone.
func (srv *Server) kill(s *session) {
	if w := srv.waiting.of(s); w != nil {
		srv.waiting.cancel(w)
	}
	s.Set(commands.ClientCloseSoon)
	s.conn.HangUp()
}

// forget takes a client that has left out of the account.
func (m *clientMemory) forget(s *session) {
	m.total.Add(-s.foot.bytes.Swap(0))
	m.strangers.Add(-s.foot.stranger)
	s.foot.stranger = 0
}
