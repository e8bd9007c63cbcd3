package server

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
)

// monitors are the clients that asked for MONITOR.
type monitors struct {
	n   atomic.Int32
	mu  sync.Mutex
	all []*session // guarded by mu
}

func (m *monitors) any() bool { return m.n.Load() > 0 }

func (m *monitors) add(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, s)
	m.n.Add(1)
}

func (m *monitors) remove(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, x := range m.all {
		if x == s {
			m.all = append(m.all[:i:i], m.all[i+1:]...)
			m.n.Add(-1)
			return
		}
	}
}

// monitor shows a call that ran to the monitors. Calls of administrators are not
// shown, nor are secret arguments.
func (s *session) monitor(cmd *commands.Command, argv [][]byte, start time.Duration) {
	if s.srv.monitors.any() && cmd.Flags&(commands.SkipMonitor|commands.Admin) == 0 {
		s.srv.monitors.show(s, cmd.Shown(argv), s.turn.at(start), s.address())
	}
}

// address is the client as monitors see it.
func (s *session) address() string {
	if s.Unix {
		return "unix:" + s.LocalAddr
	}
	return s.Addr
}

// show sends a call to every monitor, with the client it is from, or "lua".
func (m *monitors) show(s *session, argv [][]byte, now time.Time, from string) {
	line := fmt.Appendf(nil, "+%d.%06d [%d %s]", now.Unix(), now.Nanosecond()/1000, s.DB(), from)
	for _, a := range argv {
		line = append(line, ' ')
		line = commands.AppendQuoted(line, a)
	}
	line = append(line, '\r', '\n')
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, to := range m.all {
		if to == s {
			s.ctx.Reply.Raw(line)
			continue
		}
		to.output.Deliver(line)
	}
}

// Monitor makes the client of the call a monitor.
func (s *session) Monitor(c *commands.Ctx) {
	if s.Has(commands.ClientMonitor) {
		return
	}
	s.Set(commands.ClientMonitor)
	c.Reply.OK()
	s.srv.monitors.add(s)
}

// callLog keeps the latest calls that took much of something: time, or bytes.
type callLog struct {
	threshold atomic.Int64 // nanoseconds or bytes; negative: keep nothing
	limit     atomic.Int64

	mu      sync.Mutex
	next    int64              // guarded by mu
	entries []admin.LoggedCall // newest last; guarded by mu
}

func (l *callLog) wants(amount int64) bool {
	t := l.threshold.Load()
	return t >= 0 && amount >= t && l.limit.Load() > 0
}

// addSlow puts a call into the slow log, and counts it.
func (srv *Server) addSlow(s *session, cmd *commands.Command, args [][]byte, start time.Time, took time.Duration) {
	took = max(0, took)
	srv.stats.slow.add(took)
	srv.stats.commands[cmd.ID()].slow.add(took)
	srv.logs[admin.SlowCalls].add(s, args, start, took.Microseconds())
}

// add keeps a call with its arguments as abridge has made them.
func (l *callLog) add(s *session, args [][]byte, start time.Time, amount int64) {
	e := admin.LoggedCall{UnixSeconds: start.Unix(), Amount: amount, Addr: s.Addr, Name: s.Text().Name, Args: args}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.ID = l.next
	l.next++
	l.entries = append(l.entries, e)
	l.trimLocked()
}

// abridge copies the part of a call's arguments that the logs of calls keep: so many, and of each
// so many bytes.
func (set *settings) abridge(argv [][]byte) (args [][]byte) {
	most, size := int(set.conf.LogEntryArgs), int(set.conf.LogEntryBytes)
	for i, a := range argv {
		if i == most-1 && len(argv) > most {
			return append(args, fmt.Appendf(nil, "... (%d more arguments)", len(argv)-i))
		}
		args = append(args, shorten(a, size))
	}
	return args
}

func shorten(a []byte, size int) []byte {
	if len(a) <= size {
		return append([]byte(nil), a...)
	}
	b := append([]byte(nil), a[:size]...)
	b = append(b, "... ("...)
	b = strconv.AppendInt(b, int64(len(a)-size), 10)
	return append(b, " more bytes)"...)
}

// requestBytes is how many bytes a call has as the protocol writes it.
func requestBytes(argv [][]byte) int64 {
	n := commands.ArraySize(len(argv))
	for _, a := range argv {
		n += commands.BulkSize(len(a))
	}
	return int64(n)
}

// logLarge keeps a call whose request or reply is large. What a script or EXEC calls has no request of its own: 0.
func (s *session) logLarge(cmd *commands.Command, argv [][]byte, start time.Duration, request, reply int64) {
	large, long := &s.srv.logs[admin.LargeRequests], &s.srv.logs[admin.LargeReplies]
	keepRequest, keepReply := request > 0 && large.wants(request), long.wants(reply)
	if !keepRequest && !keepReply || cmd.Is(commands.SkipSlowlog) {
		return
	}
	args := s.abridged // those of a call whose arguments were taken over
	if args == nil {
		args = s.srv.settings().abridge(cmd.Shown(argv))
	}
	if keepRequest {
		large.add(s, args, s.turn.at(start), request)
	}
	if keepReply {
		long.add(s, args, s.turn.at(start), reply)
	}
}

func (l *callLog) trimLocked() {
	if over := len(l.entries) - int(l.limit.Load()); over > 0 {
		l.entries = append(l.entries[:0:0], l.entries[over:]...)
	}
}

// setLimit changes how many commands are kept.
func (l *callLog) setLimit(n int64) {
	l.limit.Store(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trimLocked()
}

// Entries are the newest n, newest first; n < 0 means all.
func (l *callLog) Entries(n int) []admin.LoggedCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	out := make([]admin.LoggedCall, 0, n)
	for i := range n {
		out = append(out, l.entries[len(l.entries)-1-i])
	}
	return out
}

// Len is how many are kept.
func (l *callLog) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Reset forgets all.
func (l *callLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// CallLog returns a log of calls.
func (h host) CallLog(kind admin.LogKind) admin.CallLog { return &h.srv.logs[kind] }
