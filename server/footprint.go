package server

import (
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
)

// The memory that a client uses: input that is not a complete command yet, queued
// calls, replies that are being built or that it has not read, names, watched keys,
// subscriptions. It is measured by capacity, once for each turn of reading and
// writing and not for each command. Messages from other clients are counted by the
// outbox. See docs/limits.md.

const (
	// clientBytes is the memory of a connected client that has sent nothing.
	clientBytes = 2304
	// tlsBytes is what TLS adds to that: keys, and room for a record.
	tlsBytes = 20 << 10
	// keepArgs is the number of arguments for which an idle client keeps room.
	keepArgs = 1024
)

// footprint is the part of a client's memory that its owner counts.
type footprint struct {
	s       *session
	bytes   atomic.Int64 // as last counted; only the owner writes it
	evicted atomic.Bool
	unauth  int64 // part of bytes, counted for an unauthenticated client
	tls     int64 // part of bytes: tlsBytes or 0
	unread  int   // bytes of replies that the client has not read, as the outbox counts them
}

// weigh measures the memory that the client uses now.
func (f *footprint) weigh() {
	s := f.s
	n := int64(clientBytes+s.in.bufferBytes()+24*cap(s.in.args)+24*cap(s.keys)+s.ctx.Reply.Cap()+
		s.conn.Unsent()+s.transaction.memory()+s.messaging.subs.Bytes()+s.cache.PrefixMemory()+s.TextBytes()) + f.tls
	if s.in.held != nil || s.waiting != nil {
		n += f.parkedBytes()
	}
	unauth := int64(0)
	if !s.Has(commands.ClientAuthenticated) {
		unauth = n - clientBytes - f.tls
	}
	old := f.bytes.Load()
	if n == old && unauth == f.unauth {
		return
	}
	m := &s.srv.memory
	m.total.Add(n - old)
	m.unauth.Add(unauth - f.unauth)
	f.bytes.Store(n)
	f.unauth = unauth
	if f.tooHeavy(n) {
		s.srv.memory.evict(s, "it holds more than maxmemory-clients alone")
		s.closing = true
		return
	}
	s.srv.memory.mind()
}

// tooHeavy reports whether n bytes of this client alone are over the limit for all.
func (f *footprint) tooHeavy(n int64) bool {
	limit := f.s.srv.memory.limit.Load()
	return limit > 0 && n > limit && !f.s.Has(commands.ClientNoEvict|commands.ClientCloseSoon)
}

// parkedBytes is the memory of a call that waits or is held back.
func (f *footprint) parkedBytes() (n int64) {
	s := f.s
	n = s.in.heldBytes()
	if s.waiting != nil {
		n += s.waiting.Size() + int64(len(s.waiting.Keys))*waitBytes
	}
	return n
}

const (
	// waitBytes is the memory of one key of a blocked call, without its
	// argument.
	waitBytes = 160
	// watchBytes is the memory of a watched key, without its name.
	watchBytes = 240
)

// weight is the memory that closing the client would free.
func (f *footprint) weight() int64 { return f.bytes.Load() + f.s.output.held.Load() }

// grant counts replies while they are built: a command with a reply of gigabytes,
// or a transaction of many with replies of megabytes, ends its client before all of
// it exists. The reply asks for room, part by part, before it reaches size bytes.
func (f *footprint) grant(size int) bool {
	s := f.s
	if s.Has(commands.ClientCloseSoon) {
		s.closing = true // evicted or killed: no client will read it
		return false
	}
	f.weigh()
	if s.output.owe(size + s.conn.Unsent()) {
		return false
	}
	if f.tooHeavy(int64(size)) {
		s.srv.memory.evict(s, "its replies alone are more than maxmemory-clients")
		s.closing = true
		return false
	}
	return true
}

// owe tells the outbox how many bytes of replies wait outside it, and reports
// whether the client is over its limit and has to be disconnected.
func (o *output) owe(n int) (over bool) {
	o.s.foot.unread = n
	if over = o.setUnread(n, o.limit(), o.s.srv.clock.Now().Unix()); over {
		o.s.closing = true
		o.tell(false, true)
	}
	return over
}

// Sent counts again after the transport has sent replies or has kept more. It
// returns errOutput if the client is over its limit.
func (o *output) Sent() error {
	s := o.s
	over := false
	rest := s.conn.Unsent()
	if rest != s.foot.unread {
		over = o.owe(rest)
	}
	s.view.sent(s.ctx.Reply.Cap(), rest)
	s.foot.weigh()
	if over {
		return errOutput
	}
	return nil
}
