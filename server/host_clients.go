package server

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// clientView is what other clients can see of a session beyond its flags. The
// owner publishes it when it writes replies, that is once a batch of commands.
type clientView struct {
	cmd                    *commands.Command // the last that ran; nil: none yet
	sub, psub, ssub        int
	multi                  int // queued calls, -1 outside MULTI
	watch                  int
	input, inputFree       int // bytes
	args, queued, replyCap int // bytes
	unsent                 int // bytes of replies that the client has not read
}

// look describes the session as it is. Only its owner may call it.
func (s *session) look() clientView {
	v := clientView{cmd: s.ctx.Command, multi: -1, watch: len(s.txn.watched), queued: s.txn.queueBytes,
		sub:   s.subs.of(commands.Channel),
		psub:  s.subs.of(commands.Pattern),
		ssub:  s.subs.of(commands.ShardChannel),
		input: s.in.unread(), inputFree: s.in.bufferBytes() - s.in.unread(),
		replyCap: s.ctx.Reply.Cap(), unsent: s.conn.Unsent()}
	if s.Has(commands.ClientMulti) {
		v.multi = len(s.txn.queue)
	}
	return v
}

// show publishes the view if it is a new one.
func (s *session) show() {
	if v := s.look(); v != s.shown {
		s.shown = v
		s.viewMu.Lock()
		s.view = v
		s.viewMu.Unlock()
	}
}

// seen is the view last published.
func (s *session) seen() clientView {
	s.viewMu.Lock()
	defer s.viewMu.Unlock()
	return s.view
}

// clientType is the class of client that TYPE filters and output limits know.
func (v *clientView) clientType() string {
	if v.sub+v.psub+v.ssub > 0 {
		return "pubsub"
	}
	return "normal"
}

// ClientInfo describes a client in one line of CLIENT LIST.
func (s *session) ClientInfo(c *commands.Client) string {
	if c == &s.Client {
		return s.line(s.ownView())
	}
	if other := s.srv.clients.find(c.ID); other != nil {
		return other.line(other.seen())
	}
	return ""
}

// ownView is the view of the session in the middle of its own call.
func (s *session) ownView() clientView {
	v := s.look()
	for _, a := range s.in.argv {
		v.args += len(a)
	}
	return v
}

// line writes the fields in the order of Redis 7.0, and behind them those that
// came later.
func (s *session) line(v clientView) string {
	text, now := s.Text(), s.srv.clock.Now().UnixMilli()
	cmd := "NULL"
	if v.cmd != nil {
		cmd = v.cmd.FullName()
	}
	pending := v.unsent + s.out.size()
	list := min(pending, 1)
	total := s.weight() + int64(v.args)
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=%d "+
		"sub=%d psub=%d ssub=%d multi=%d qbuf=%d qbuf-free=%d argv-mem=%d multi-mem=%d rbs=%d rbp=%d "+
		"obl=0 oll=%d omem=%d tot-mem=%d events=r cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s watch=%d",
		s.ID, s.Addr, s.LocalAddr, text.Name, (now-s.Created)/1000, (now-s.lastInput.Load())/1000,
		s.flagLetters(v), s.DB(), v.sub, v.psub, v.ssub, v.multi, v.input, v.inputFree, v.args, v.queued,
		v.replyCap, v.replyCap, list, pending, total, cmd, text.User, s.Proto(),
		text.LibName, text.LibVersion, v.watch)
}

// flagLetters are the client's states as CLIENT LIST spells them.
func (s *session) flagLetters(v clientView) string {
	var b strings.Builder
	add := func(on bool, letter byte) {
		if on {
			b.WriteByte(letter)
		}
	}
	add(s.Has(commands.ClientMonitor), 'O')
	add(v.clientType() == "pubsub", 'P')
	add(s.Has(commands.ClientMulti), 'x')
	add(s.Has(commands.ClientBlocked), 'b')
	add(s.Has(commands.ClientDirtyCAS), 'd')
	add(s.Has(commands.ClientCloseSoon), 'c')
	add(s.Unix, 'U')
	add(s.Has(commands.ClientNoEvict), 'e')
	add(s.Has(commands.ClientNoTouch), 'T')
	if b.Len() == 0 {
		return "N"
	}
	return b.String()
}

// matching lists the clients that a filter chooses, oldest first.
func (s *session) matching(f commands.ClientFilter) []*session {
	var out []*session
	now := s.srv.clock.Now().UnixMilli()
	ids := make(map[uint64]bool, len(f.IDs))
	for _, id := range f.IDs {
		ids[id] = true
	}
	for _, o := range s.srv.clients.list() {
		v := o.seen()
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
func (s *session) ClientList(_ *commands.Ctx, f commands.ClientFilter) string {
	var b strings.Builder
	for _, o := range s.matching(f) {
		b.WriteString(s.ClientInfo(&o.Client))
		b.WriteByte('\n')
	}
	return b.String()
}

// ClientKill closes the clients that a filter chooses and counts them. A wait
// of theirs ends first, so that nothing is popped for somebody who is gone; the
// caller itself still gets its reply.
func (s *session) ClientKill(c *commands.Ctx, f commands.ClientFilter) int {
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
	reply := w.expire
	if withError {
		s.srv.stats.countError(string(commands.ErrUnblocked))
		reply = func(r *commands.Reply) { r.Error(commands.ErrUnblocked) }
	}
	return s.srv.endWait(w, reply)
}

// of finds the wait of a client, or nil.
func (q *waiting) of(s *session) *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.by[s]
}

// ResetClient puts the client into the state of a new one, but for its number
// and its age.
func (s *session) ResetClient(c *commands.Ctx) {
	s.endMulti()
	s.subs.end(&s.srv.pubsub)
	s.srv.monitors.remove(s)
	s.collect() // what was published goes before the reply
	s.Clear(commands.ClientPubSub | commands.ClientMonitor | commands.ClientReplyOff | commands.ClientReplySkip |
		commands.ClientNoEvict | commands.ClientNoTouch)
	if s.srv.settings().password != "" {
		s.setAuthenticated(false)
	}
	s.SetDB(0)
	c.Tx.Select(0)
	s.SetProto(2)
	s.SetText(func(t *commands.ClientText) { t.Name, t.User = "", "default" })
}

// Login makes the client an authenticated one.
func (s *session) Login(_ *commands.Ctx, user []byte) {
	s.setAuthenticated(true)
	s.SetText(func(t *commands.ClientText) { t.User = string(user) })
}

// Subscribed reports whether the client listens to channels.
func (s *session) Subscribed(*commands.Ctx) bool { return s.subs.count() > 0 }

// SkipReply leaves the next command without a reply.
func (s *session) SkipReply(*commands.Ctx) {
	s.Set(commands.ClientReplySkip)
	s.skipNext = true
}
