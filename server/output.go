package server

import "github.com/vigildb/vigil/commands"

// output is what a client is sent: the replies to its calls, and what others put into its outbox.
type output struct {
	s *session
	outbox
	skipNext bool // CLIENT REPLY SKIP was this very call
}

// collect appends the messages for the client from others to its replies.
func (o *output) collect() { o.collectInto(&o.s.ctx.Reply) }

// collectInto appends them to r. If they include the reply of its wait, the client
// is no longer blocked.
func (o *output) collectInto(r *commands.Reply) {
	s := o.s
	lsn, n, answered := o.take(r)
	s.foot.unread += n
	s.durability.change(lsn)
	if answered {
		s.waiting = nil
		s.Clear(commands.ClientBlocked)
	}
}

// freeReply is the length of replies that no limit applies to. Redis has a buffer of
// that size in each client besides those it counts.
const freeReply = 16 << 10

// flush hands the replies to the transport, once the changes made so far are as
// durable as appendfsync demands.
func (o *output) flush() error {
	s := o.s
	s.view.publish(s.view.look())
	s.foot.weigh()
	s.publish()
	if ok, err := s.durability.settle(); !ok {
		return err
	}
	o.collect()
	if s.Has(commands.ClientReplica) {
		s.replicaLink.fill()
	}
	s.messaging.leaveChannels()
	if ok, err := s.durability.settle(); !ok {
		return err
	}
	if s.ctx.Reply.Lost() {
		return errOutput
	}
	if s.ctx.Reply.Len() == 0 {
		return nil
	}
	if s.Has(commands.ClientCloseSoon) {
		s.closing = true
	}
	if n := s.ctx.Reply.Len(); n > freeReply && o.owe(n+s.conn.Unsent()) {
		return errOutput
	}
	return o.send()
}

// send gives the replies to the transport, which keeps the part that the client has
// not read yet.
func (o *output) send() error {
	s := o.s
	r := &s.ctx.Reply
	s.srv.stats.outputBytes.Add(int64(r.Len()))
	s.totals.output += int64(r.Len())
	s.srv.stats.writes.Add(1)
	anyKept := false // what the transport keeps must not be used again
	for _, part := range r.Parts() {
		kept, err := s.conn.Write(part)
		if err != nil {
			return err
		}
		anyKept = anyKept || kept
	}
	kept, err := s.conn.Write(r.Last())
	if kept || anyKept {
		r.Release()
	} else {
		r.Reset(keepBuffer)
	}
	if err == nil {
		err = o.Sent()
	}
	return err
}

// Deliver gives the client bytes from another goroutine.
func (o *output) Deliver(b []byte) {
	first, over := o.add(b, o.limit(), o.s.srv.clock.Now().Unix())
	o.tell(first, over)
}

// Answer gives the client the reply of its wait, which depends on the change lsn:
// the owner of the session sends it only when that change is durable.
func (o *output) Answer(b []byte, lsn uint64) {
	first, over := o.answer(b, lsn, o.limit(), o.s.srv.clock.Now().Unix())
	o.tell(first, over)
}

// tell wakes the owner if it has to be woken after something was added to the
// outbox, and disconnects a client that is over its limit.
func (o *output) tell(first, over bool) {
	s := o.s
	s.srv.memory.mind()
	if over {
		s.srv.stats.outputLimitDrops.Add(1)
		s.srv.logf(logWarning, "closing client %d: output buffer over its limit", s.ID)
		s.Set(commands.ClientCloseSoon)
		s.conn.HangUp()
		return
	}
	if first {
		s.conn.Wake()
	}
}

// Kick wakes the session without giving it anything.
func (o *output) Kick() {
	if o.kick() {
		o.s.conn.Wake()
	}
}

// limit is the limit of the client's class.
func (o *output) limit() outputLimit {
	set := o.s.srv.settings()
	if o.s.Has(commands.ClientReplica) {
		return outputLimit{} // see source.Settings
	}
	if o.s.Has(commands.ClientPubSub | commands.ClientMonitor) {
		return set.outputPubSub
	}
	return set.outputNormal
}
