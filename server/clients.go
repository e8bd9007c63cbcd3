package server

import (
	"net"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
)

// clients is the set of connected clients.
type clients struct {
	last atomic.Uint64 // the last id given

	mu  sync.Mutex
	all map[uint64]*session // guarded by mu
}

func (c *clients) nextID() uint64 { return c.last.Add(1) }

func (c *clients) add(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[uint64]*session{}
	}
	c.all[s.ID] = s
}

func (c *clients) remove(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, s.ID)
}

func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

func (c *clients) find(id uint64) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[id]
}

// list is every client, oldest first.
func (c *clients) list() []*session {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*session, 0, len(c.all))
	for _, s := range c.all {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// each visits every client in no order; visit must not call c.
func (c *clients) each(visit func(*session)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		visit(s)
	}
}

func (c *clients) hangUpAll() {
	for _, s := range c.list() {
		s.conn.HangUp()
	}
}

// addresses names both ends of a connection as CLIENT LIST shows them.
func addresses(nc net.Conn) (remote, local string, unix bool) {
	local, remote = nc.LocalAddr().String(), nc.RemoteAddr().String()
	if nc.LocalAddr().Network() == "unix" {
		return local + ":0", local + ":0", true
	}
	return remote, local, false
}

// tune sets the options of a socket as the configuration asks.
func (srv *Server) tune(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	if keep := srv.settings().keepAlive; keep > 0 {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keep, Interval: max(keep/3, time.Second), Count: 3})
		return
	}
	tcp.SetKeepAlive(false)
}

// clientTotals are what one client has done; only its owner writes them.
type clientTotals struct {
	commands, input, output int64 // the latter in bytes
	// Pipelines repeat their commands: these are the calls of the last one since
	// the last flush, or since another one was called.
	row   *commands.Command
	calls callTotals
}

// traffic are totals that other clients can see, as of the last flush.
type traffic struct{ input, output, commands atomic.Int64 }

// about notes the command of the next calls before the first of them runs, so
// that INFO in a pipeline counts the calls before it.
func (t *clientTotals) about(row *commands.Command, st *stats) {
	if t.row != row {
		t.publishCalls(st)
		t.row = row
	}
}

// called counts a call.
func (t *clientTotals) called(row *commands.Command, took time.Duration, failed bool, st *stats) {
	t.about(row, st) // EXEC has run others meanwhile
	t.calls.calls++
	t.calls.took += max(0, took)
	st.took(row, took)
	if failed {
		t.calls.failed++
	}
}

func (t *clientTotals) publishCalls(st *stats) {
	if t.calls.calls > 0 {
		st.add(t.row, t.calls)
		t.calls = callTotals{}
	}
}

// publish adds what was counted since the last flush to the server's counters.
func (s *session) publish() {
	s.totals.publishCalls(&s.srv.stats)
	s.traffic.input.Store(s.totals.input)
	s.traffic.output.Store(s.totals.output)
	s.traffic.commands.Store(s.totals.commands)
	s.srv.stats.looked(&s.ctx.Lookups)
}

// isLoopback reports whether an "ip:port" is on this machine.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && net.ParseIP(host).IsLoopback()
}
