package server

import (
	"fmt"
	"strings"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/pubsub"
)

// clientView is what other clients can see of a session beyond its flags. The
// owner publishes it when it writes replies, that is once a batch of commands.
type clientView struct {
	cmd                    *commands.Command // the last command; nil: none yet
	sub, psub, ssub        int
	multi                  int // queued calls, -1 outside MULTI
	watch                  int
	input, inputFree       int // bytes; input is what follows the part of a call that is understood
	args, queued, replyCap int // bytes
	unsent                 int // bytes of replies that the client has not read
	replica                bool
}

// look describes the session as it is. Only its owner may call it.
func (p *publishedView) look() clientView {
	s := p.s
	v := clientView{cmd: s.ctx.Command, multi: -1, watch: len(s.transaction.keys), queued: s.transaction.queueBytes,
		sub:   s.messaging.subs.Count(pubsub.Channel),
		psub:  s.messaging.subs.Count(pubsub.Pattern),
		ssub:  s.messaging.subs.Count(pubsub.ShardChannel),
		input: s.in.unread() - s.in.framer.Understood(), inputFree: s.in.bufferBytes() - s.in.unread(),
		replyCap: s.ctx.Reply.Cap(), unsent: s.conn.Unsent(), replica: s.Has(commands.ClientReplica)}
	if s.Has(commands.ClientMulti) {
		v.multi = len(s.transaction.queue)
	}
	return v
}

// publishedView is the view that other clients can see.
type publishedView struct {
	s      *session
	latest clientView // the owner's

	mu   sync.Mutex
	view clientView // guarded by mu
}

// publish replaces the view if it is a new one. Only the owner of the session calls
// it.
func (p *publishedView) publish(v clientView) {
	if v == p.latest {
		return
	}
	p.latest = v
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view = v
}

// sent is publish for the fields that change when replies are sent.
func (p *publishedView) sent(replyCap, unsent int) {
	if v := &p.latest; v.replyCap != replyCap || v.unsent != unsent {
		next := *v
		next.replyCap, next.unsent = replyCap, unsent
		p.publish(next)
	}
}

// load returns the view that was published last. Any goroutine may call it.
func (p *publishedView) load() clientView {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// clientType is the class of client that TYPE filters and output limits know.
func (v *clientView) clientType() string {
	switch {
	case v.replica:
		return "replica"
	case v.sub+v.psub+v.ssub > 0:
		return "pubsub"
	}
	return "normal"
}

// own is the view of the session in the middle of its own call.
func (p *publishedView) own() clientView {
	v := p.look()
	for _, a := range p.s.in.argv {
		v.args += len(a)
	}
	return v
}

// line writes the fields of Redis 8.0 and Valkey 9.1 in their order.
func (p *publishedView) line(v clientView) string {
	s := p.s
	text, now := s.Text(), s.srv.clock.Now().UnixMilli()
	cmd := "NULL"
	if v.cmd != nil {
		cmd = v.cmd.FullName()
	}
	pending := v.unsent + s.output.size()
	list := min(pending, 1)
	total := s.foot.weight() + int64(v.args)
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s capa=%s db=%d "+
		"sub=%d psub=%d ssub=%d multi=%d watch=%d qbuf=%d qbuf-free=%d argv-mem=%d multi-mem=%d rbs=%d rbp=%d "+
		"obl=0 oll=%d omem=%d tot-mem=%d events=r cmd=%s user=%s redir=%d resp=%d lib-name=%s lib-ver=%s "+
		"io-thread=0 tot-net-in=%d tot-net-out=%d tot-cmds=%d",
		s.ID, s.Addr, s.LocalAddr, text.Name, p.age(now), p.idle(now),
		p.flagLetters(v), p.capaLetters(), s.DB(), v.sub, v.psub, v.ssub, v.multi, v.watch, v.input, v.inputFree, v.args, v.queued,
		v.replyCap, v.replyCap, list, pending, total, cmd, text.User, s.cache.RedirectedTo(), s.Proto(),
		text.LibName, text.LibVersion, s.traffic.input.Load(), s.traffic.output.Load(), s.traffic.commands.Load())
}

// capaLetters are what the client has told that it can, as CLIENT LIST spells them.
func (p *publishedView) capaLetters() string {
	if p.s.Has(commands.ClientRedirects) {
		return "r"
	}
	return ""
}

// flagLetters are the client's states as CLIENT LIST spells them.
func (p *publishedView) flagLetters(v clientView) string {
	s := p.s
	var b strings.Builder
	add := func(on bool, letter byte) {
		if on {
			b.WriteByte(letter)
		}
	}
	add(s.Has(commands.ClientMonitor), 'O')
	add(v.replica, 'S')
	add(v.clientType() == "pubsub", 'P')
	add(s.Has(commands.ClientMulti), 'x')
	add(s.Has(commands.ClientBlocked), 'b')
	add(s.Has(commands.ClientTracking), 't')
	add(s.Has(commands.ClientTrackingBroken), 'R')
	add(s.Has(commands.ClientTrackingBcast), 'B')
	add(s.Has(commands.ClientDirtyCAS), 'd')
	add(s.Has(commands.ClientCloseSoon), 'c')
	add(s.Unix, 'U')
	add(s.Has(commands.ClientNoEvict), 'e')
	add(s.Has(commands.ClientNoTouch), 'T')
	add(s.Has(commands.ClientImports), 'I')
	if b.Len() == 0 {
		return "N"
	}
	return b.String()
}
