package server

import (
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
)

// What a client makes the server hold: input that is not a whole command yet,
// queued calls, replies that are built or that it has not read, names, watched keys,
// subscriptions. It is counted by capacity, once for each turn of reading and
// writing and not for each command; the bytes that others have for it are counted by
// its outbox. See docs/limits.md.

const (
	// clientBytes is what a connected client takes that has said nothing.
	clientBytes = 2304
	// keepArgs is the number of arguments for which an idle client keeps room.
	keepArgs = 1024
)

// footprint is the part of a client's memory that its owner counts.
type footprint struct {
	bytes    atomic.Int64 // as last counted; only the owner writes it
	stranger int64        // of these, counted as a stranger's: it owes a password
	owed     int          // bytes of replies that the client has not taken, as the outbox knows
}

// weigh counts what the client holds now.
func (s *session) weigh() {
	n := int64(clientBytes + s.in.bufferBytes() + 24*cap(s.in.args) + 24*cap(s.keys) + s.ctx.Reply.Cap() +
		s.conn.Unsent() + s.txn.memory() + s.subs.bytes + s.TextBytes())
	if s.in.held != nil || s.waiting != nil {
		n += s.parkedBytes()
	}
	stranger := int64(0)
	if !s.Has(commands.ClientAuthenticated) {
		stranger = n - clientBytes
	}
	old := s.foot.bytes.Load()
	if n == old && stranger == s.foot.stranger {
		return
	}
	m := &s.srv.memory
	m.total.Add(n - old)
	m.strangers.Add(stranger - s.foot.stranger)
	s.foot.bytes.Store(n)
	s.foot.stranger = stranger
	s.srv.mindMemory()
}

// parkedBytes is the memory of a call that waits or is held back.
func (s *session) parkedBytes() (n int64) {
	n = s.in.heldBytes()
	if s.waiting != nil {
		for _, a := range s.waiting.argv {
			n += int64(len(a)) + 24
		}
		n += int64(len(s.waiting.keys)) * waitBytes
	}
	return n
}

const (
	// waitBytes is what one key of a blocked call takes beside its argument.
	waitBytes = 160
	// watchBytes is what a watched key takes beside its name.
	watchBytes = 240
	// subscriptionBytes is what a subscription takes beside its name.
	subscriptionBytes = 360
)

// weight is what closing the client would give back.
func (s *session) weight() int64 { return s.foot.bytes.Load() + s.out.held.Load() }

// grant is where replies are accounted while they are built: a command that
// answers with gigabytes, or a transaction of many that answer with megabytes, ends
// its client before they exist. The reply asks for room, part by part, before it
// becomes as long as size.
func (s *session) grant(size int) bool {
	if s.Has(commands.ClientCloseSoon) {
		s.closing = true // evicted, or killed: nobody will read it
		return false
	}
	s.weigh()
	if s.owe(size + s.conn.Unsent()) {
		return false
	}
	limit := s.srv.memory.limit.Load()
	if limit > 0 && int64(size) > limit && !s.Has(commands.ClientNoEvict) {
		s.srv.evict(s, "its replies alone are more than maxmemory-clients")
		s.closing = true
		return false
	}
	return true
}

// owe tells the outbox how many bytes of replies there are beside it, and
// reports that the client is over its limit, which ends it.
func (s *session) owe(n int) (over bool) {
	s.foot.owed = n
	if over = s.out.owe(n, s.outputLimit(), s.srv.clock.Now().Unix()); over {
		s.closing = true
		s.tell(false, true)
	}
	return over
}

// Sent counts again after the transport has sent replies or has kept more. It
// returns errOutput if the client is over its limit.
func (s *session) Sent() error {
	over := false
	if rest := s.conn.Unsent(); rest != s.foot.owed {
		over = s.owe(rest)
	}
	s.weigh()
	if over {
		return errOutput
	}
	return nil
}
