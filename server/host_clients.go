package server

import (
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
)

// ClientInfo describes a client in one line of CLIENT LIST.
func (s *session) ClientInfo(c *commands.Client) string {
	if c == &s.Client {
		return s.line(s.ownView())
	}
	if other := s.srv.clients.find(c.ID); other != nil {
		return other.line(other.view.load())
	}
	return ""
}

// matching lists the clients that a filter chooses, oldest first.
func (s *session) matching(f conn.ClientFilter) []*session {
	var out []*session
	now := s.srv.clock.Now().UnixMilli()
	ids := make(map[uint64]bool, len(f.IDs))
	for _, id := range f.IDs {
		ids[id] = true
	}
	for _, o := range s.srv.clients.list() {
		v := o.view.load()
		if o == s {
			v = s.look()
		}
		switch {
		case o != s && o.Has(commands.ClientCloseSoon), // killed, and on its way out
			len(ids) > 0 && !ids[o.ID],
			f.Addr != "" && f.Addr != o.Addr,
			f.LocalAddr != "" && f.LocalAddr != o.LocalAddr,
			f.User != "" && f.User != o.Text().User,
			f.Type != "" && f.Type != v.clientType(),
			f.SkipMe && o == s,
			f.MinAgeSeconds > 0 && (now-o.Created)/1000 < f.MinAgeSeconds:
			continue
		}
		out = append(out, o)
	}
	return out
}

// ClientList describes the clients that a filter chooses, a line each.
func (s *session) ClientList(_ *commands.Ctx, f conn.ClientFilter) string {
	var b strings.Builder
	for _, o := range s.matching(f) {
		b.WriteString(s.ClientInfo(&o.Client))
		b.WriteByte('\n')
	}
	return b.String()
}

// ClientKill closes the clients that a filter chooses and counts them. Their
// waits end first, so that no element is popped for a client that has left. The
// caller itself still gets its reply.
func (s *session) ClientKill(c *commands.Ctx, f conn.ClientFilter) int {
	victims := s.matching(f)
	for _, o := range victims {
		if o == s {
			c.CloseAfter = true
			continue
		}
		s.srv.kill(o)
	}
	return len(victims)
}

// ClientUnblock ends a client's wait as if its time were over, or with an error.
func (s *session) ClientUnblock(id uint64, withError bool) bool {
	o := s.srv.clients.find(id)
	if o == nil {
		return false
	}
	w := s.srv.waiting.of(o)
	if w == nil {
		return false
	}
	if !withError {
		return s.srv.endWait(w, w.expire)
	}
	s.srv.stats.countError(string(commands.ErrUnblocked))
	return s.srv.endWaitAfter(w, 0, true, func(r *commands.Reply) { r.Error(commands.ErrUnblocked) })
}

// ResetClient puts the client into the state of a new one, except for its ID
// and its age.
func (s *session) ResetClient(c *commands.Ctx) {
	s.endMulti()
	s.Untrack()
	s.subs.end(&s.srv.broker)
	s.srv.monitors.remove(s)
	s.collect() // what was published goes before the reply
	s.Clear(commands.ClientPubSub | commands.ClientMonitor | commands.ClientReplyOff |
		commands.ClientNoEvict | commands.ClientNoTouch | commands.ClientReadOnly)
	s.become(s.srv.users.Default())
	s.setAuthenticated(s.Open())
	s.SetDB(0)
	c.Tx.Select(0)
	s.SetProto(2)
	s.SetText(func(t *commands.ClientText) { t.Name = "" })
}

// SkipReply leaves the next command without a reply.
func (s *session) SkipReply(*commands.Ctx) {
	s.Set(commands.ClientReplySkip)
	s.skipNext = true
}
