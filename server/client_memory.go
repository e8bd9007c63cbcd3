package server

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// clientMemory counts the memory that clients use, and limits it (maxmemory-clients).
// Above the limit the clients that use most are evicted, as in Redis. Unauthenticated
// clients share a small limit of their own, so that they cannot keep clients with the
// password out.
type clientMemory struct {
	srv       *Server
	total     atomic.Int64 // of all clients, outboxes included
	unauth    atomic.Int64 // of unauthenticated clients, beyond clientBytes each
	limit     atomic.Int64 // of total; 0: none
	planned   atomic.Bool  // an eviction is about to run
	fruitless atomic.Bool  // the last one found no client to evict
	mu        sync.Mutex   // held during an eviction
}

const (
	// unauthBytes is the limit for all unauthenticated clients together.
	unauthBytes = 16 << 20
	// leastClientMemory is the lowest limit: with less no client could use the
	// server.
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

// over reports whether a client has to be evicted.
func (m *clientMemory) over() bool {
	limit := m.limit.Load()
	return limit > 0 && m.total.Load() > limit || m.unauth.Load() > unauthBytes
}

// mind schedules an eviction if one is due. It runs in a goroutine of its
// own, without locks. After an eviction that found no client, because the evicted
// ones are still leaving or the others may not be evicted, the next one is not
// urgent.
func (m *clientMemory) mind() {
	if !m.over() || !m.planned.CompareAndSwap(false, true) {
		return
	}
	wait := time.Duration(0)
	if m.fruitless.Load() {
		wait = cronPeriod
	}
	m.srv.clock.AfterFunc(wait, m.evictClients)
}

// evictClients closes the clients that use most memory until the others are
// within the limits.
func (m *clientMemory) evictClients() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.planned.Store(false)
	if !m.over() || m.srv.done.Err() != nil {
		m.fruitless.Store(false)
		return
	}
	all := m.srv.clients.list()
	n := evictLargest(all, unauthBytes, func(s *session) (weight int64, may bool) {
		may = !s.Has(commands.ClientAuthenticated)
		if may {
			weight = s.foot.weight() - clientBytes - s.foot.tls
		}
		return weight, may
	}, m.refuse)
	if limit := m.limit.Load(); limit > 0 {
		n += evictLargest(all, limit, func(s *session) (weight int64, may bool) {
			return s.foot.weight(), !s.Has(commands.ClientNoEvict)
		}, func(s *session) { m.evict(s, "clients hold more than maxmemory-clients") })
	}
	m.fruitless.Store(n == 0)
}

// evictLargest closes clients, the largest first and the newest of equally large
// ones, until the weight of the others is at most limit. It returns the number
// closed.
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

// evict closes a client and counts it, once, although its own goroutine and another
// one may see at the same time that it holds too much.
func (m *clientMemory) evict(s *session, why string) {
	if s.foot.evicted.Swap(true) {
		return
	}
	m.srv.stats.evictedClients.Add(1)
	m.srv.logf(logNotice, "evicting client %d, which uses %d bytes: %s", s.ID, s.foot.weight(), why)
	m.srv.kill(s)
}

// refuse closes an unauthenticated client.
func (m *clientMemory) refuse(s *session) {
	m.srv.stats.rejectedClients.Add(1)
	m.srv.logf(logVerbose, "client %d is closed: clients hold too much before their AUTH", s.ID)
	m.srv.kill(s)
}

// kill closes a client that another goroutine may be running. Its wait ends
// first, so that no element is popped for a client that has left.
func (srv *Server) kill(s *session) {
	if w := srv.blocked.Of(s); w != nil {
		srv.blocked.Cancel(w)
	}
	s.Set(commands.ClientCloseSoon)
	s.conn.HangUp()
}

// forget stops counting a client that has left.
func (m *clientMemory) forget(s *session) {
	m.total.Add(-s.foot.bytes.Swap(0))
	m.unauth.Add(-s.foot.unauth)
	s.foot.unauth = 0
}
