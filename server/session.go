package server

import (
	"errors"
	"runtime/debug"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
	"github.com/vigildb/vigil/server/tracking"
	"github.com/vigildb/vigil/server/transport"
)

const (
	// keepBuffer is the most memory that an idle client's buffers keep.
	keepBuffer = 64 << 10
	// flushSize is the size at which the replies of a long pipeline are
	// written, so that one read of commands cannot pile up an unlimited amount.
	flushSize = 256 << 10
)

// session is a client as a state machine, a [transport.Session]: the transport
// gives it bytes (Feed) and takes its replies (send). It belongs to one goroutine,
// the transport's. Other goroutines put messages for it into its outbox, and wake
// it with kick. A session never waits: a blocked client is a session whose waiting
// field is set, and a paused one keeps its input unread.
type session struct {
	commands.Client
	host
	access
	transaction
	scripting
	sharing
	messaging
	output
	durability
	replicaLink
	admission admission
	conn      transport.Conn

	in    input
	cache tracking.State
	foot  footprint
	view  publishedView

	ctx      commands.Ctx
	tx       *persistence.Tx
	row      rowCache
	keys     []commands.KeyRef // of the running call
	shards   persistence.Shards
	locked   bool           // the locks of tx are held
	ready    []blocking.Key // keys with waiting clients that the call changed
	serving  *blocking.Key  // whose waiting clients are being served, or nil
	began    int            // where the reply of the running call begins
	abridged [][]byte       // the arguments as the slow log keeps them, if one of them was handed over

	waiting *blocking.Call // the call that is blocked
	closing bool           // no more commands; close when the replies are written
	applies bool           // what a master sends

	turn      stopwatch
	lastInput atomic.Int64 // unix milliseconds of the last bytes received
	totals    clientTotals
	traffic   traffic
}

// makeSession returns a session of no connection, whose calls use tx. Its parts know it: one goroutine uses all of them, and
// a call passes through most.
func makeSession(srv *Server, tx *persistence.Tx) *session {
	s := &session{host: host{srv}, tx: tx}
	s.access.s, s.admission.s, s.durability.s, s.foot.s, s.messaging.s, s.output.s = s, s, s, s, s, s
	s.replicaLink.s, s.scripting.s, s.sharing.s, s.transaction.s, s.view.s = s, s, s, s, s
	s.transaction.watching = watching{client: &s.Client, all: &srv.watches}
	return s
}

var errPanic = errors.New("panic")

var (
	errQueryBuffer = errors.New("query buffer limit reached")
	errOutput      = errors.New("output buffer limit reached")
)

// run executes the complete commands of the input until one waits, the input
// ends, or the client is to be closed. A panic is a bug in vigil: it is logged
// with its stack, and only this client is disconnected, after the replies to
// earlier calls.
func (s *session) run() (err error) {
	s.turn.start(s.srv.clock.Now())
	s.lastInput.Store(s.turn.millis())
	defer func() {
		s.in.forgetAhead()
		if bug := recover(); bug != nil {
			s.srv.logf(logWarning, "panic in client %d: %v\n%s", s.ID, bug, debug.Stack())
			s.abandon()
			s.ctx.Reply.Rewind(min(s.began, s.ctx.Reply.Len()))
			text, _ := commands.Text(errPanic)
			s.ctx.Reply.Error(text)
			s.closing = true
			err = s.output.flush()
		}
	}()
	for !s.closing && s.waiting == nil {
		argv, n, ok := s.next()
		if !ok {
			break
		}
		if len(argv) > 0 {
			s.in.paused = false
			s.execute(argv)
		}
		s.in.readAt += n
		if s.in.given {
			s.in.renew()
			s.abridged = nil
		}
		if s.in.paused {
			break
		}
		s.in.held = nil
		if s.ctx.Reply.Len() >= flushSize {
			if err := s.output.flush(); err != nil {
				return err
			}
			if s.conn.Unsent() > 0 || s.Awaited() > 0 {
				break
			}
		}
	}
	if s.in.unread() == 0 {
		s.in.shrink()
		if cap(s.keys) > keepArgs {
			s.keys = nil
		}
	}
	return s.output.flush()
}

// abandon leaves nothing of the call that panicked, or of the transaction or script around
// it, and releases the locks. The store makes its memory anew for that, ADR 0083.
func (s *session) abandon() {
	s.serving = nil
	if s.locked {
		if s.scripting.former != nil {
			s.srv.scripts.engine.SetLibraries(s.scripting.former)
		}
		if s.tx.Abandon() {
			s.ready, s.messaging.kept, s.sharing.kept = s.ready[:0], nil, false
		} else {
			s.commit()
		}
		s.scripting.former = nil
	}
	s.release()
}

// Resume continues after a wake: messages from others are sent, and the input of
// a client that was served, or is no longer paused, is run.
func (s *session) Resume() error {
	if s.Awaited() > 0 {
		if err := s.output.flush(); err != nil || s.Awaited() > 0 {
			return err
		}
	}
	// The reply of a wait goes before the replies to later calls.
	s.output.collect()
	if s.waiting == nil && s.in.pending() {
		return s.run()
	}
	return s.output.flush()
}

// Closing reports whether the session runs no more commands.
func (s *session) Closing() bool { return s.closing }

// Killed reports whether the connection is cut.
func (s *session) Killed() bool { return s.Has(commands.ClientCloseSoon) }

// Leave removes the session from the server.
func (s *session) Leave() {
	if w := s.waiting; w != nil {
		s.srv.blocked.Cancel(w)
		s.waiting = nil
	}
	s.output.shut()
	s.unwatch()
	s.srv.tracking.Leave(&s.cache)
	s.messaging.subs.EndAll(&s.srv.broker)
	s.srv.monitors.remove(s)
	if s.replicaLink.link != nil {
		s.replicaLink.link.Leave()
	}
	s.srv.pause.Forget(s)
	s.srv.fence.Forget(s)
	s.srv.incoming.Forget(s)
	s.srv.clients.remove(s)
	s.srv.memory.forget(s)
}

// mayBeSilent reports whether the client is not expected to send anything.
func (s *session) mayBeSilent() bool {
	return s.Has(commands.ClientBlocked | commands.ClientMonitor | commands.ClientPubSub | commands.ClientReplica)
}
