package server

import (
	"net"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
)

// ClientInfo describes a client in one line of CLIENT LIST.
func (s *session) ClientInfo(c *commands.Client) string {
	if c == &s.Client {
		s.publish()
		return s.view.line(s.view.own())
	}
	if other := s.srv.clients.find(c.ID); other != nil {
		return other.view.line(other.view.load())
	}
	return ""
}

// matching lists the clients that a filter chooses, oldest first.
func (s *session) matching(f conn.ClientFilter) []*session {
	var out []*session
	now := s.srv.clock.Now().UnixMilli()
clients:
	for _, o := range s.srv.clients.list() {
		v := o.view.load()
		if o == s {
			v = s.view.look()
		}
		if o == s && f.SkipMe || o != s && o.Has(commands.ClientCloseSoon) { // killed, and on its way out
			continue
		}
		for i := range f.Conditions {
			if x := &f.Conditions[i]; o.view.meets(x, &v, now) == x.Not {
				continue clients
			}
		}
		out = append(out, o)
	}
	return out
}

// meets reports whether a client is as a condition says, apart from Not.
func (p *publishedView) meets(x *conn.ClientCondition, v *clientView, now int64) bool {
	s := p.s
	text := func(have string) bool { return have != "" && have == x.Value }
	switch x.Field {
	case conn.ByID:
		return slices.Contains(x.IDs, s.ID)
	case conn.ByType:
		return x.Value == v.clientType()
	case conn.ByUser:
		return text(s.Text().User)
	case conn.ByAddr:
		return text(s.Addr)
	case conn.ByLocalAddr:
		return text(s.LocalAddr)
	case conn.ByIP:
		host, _, err := net.SplitHostPort(s.Addr)
		return err == nil && text(host)
	case conn.ByName:
		return text(s.Text().Name)
	case conn.ByLibName:
		return text(s.Text().LibName)
	case conn.ByLibVersion:
		return text(s.Text().LibVersion)
	case conn.ByDB:
		return int64(s.DB()) == x.N
	case conn.ByFlags:
		flags := p.flagLetters(*v)
		return strings.Trim(x.Value, flags) == "" // all of them
	case conn.ByCapa:
		return x.Value == "" || s.Has(commands.ClientRedirects)
	case conn.ByIdle:
		return p.idle(now) >= x.N
	default:
		return p.age(now) >= x.N
	}
}

// age is for how many seconds the client is connected. The clock may have been set back.
func (p *publishedView) age(now int64) int64 { return max(0, now-p.s.Created) / 1000 }

// idle is for how many seconds it has sent nothing.
func (p *publishedView) idle(now int64) int64 { return max(0, now-p.s.lastInput.Load()) / 1000 }

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
	w := s.srv.blocked.Of(o)
	if w == nil {
		return false
	}
	if !withError {
		return s.srv.blocked.TimeOut(w)
	}
	s.srv.stats.countError(string(commands.ErrUnblocked))
	return s.srv.blocked.End(w, 0, true, func(r *commands.Reply) { r.Error(commands.ErrUnblocked) })
}

// ResetClient puts the client into the state of a new one, except for its ID
// and its age.
func (s *session) ResetClient(c *commands.Ctx) {
	s.transaction.end()
	s.Untrack()
	s.messaging.subs.EndAll(&s.srv.broker)
	s.srv.monitors.remove(s)
	s.output.collect() // what was published goes before the reply
	s.Clear(commands.ClientPubSub | commands.ClientMonitor | commands.ClientReplyOff |
		commands.ClientNoEvict | commands.ClientNoTouch | commands.ClientReadOnly | commands.ClientImports) // what it can stays
	s.access.become(s.srv.users.Default())
	s.access.setAuthenticated(s.Open())
	s.SetDB(0)
	c.Tx.Select(0)
	s.SetProto(2)
	s.SetText(func(t *commands.ClientText) { t.Name = "" })
}

// SkipReply leaves the next command without a reply.
func (s *session) SkipReply(*commands.Ctx) {
	s.Set(commands.ClientReplySkip)
	s.output.skipNext = true
}
