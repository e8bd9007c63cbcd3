package server

import (
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/transport"
)

const (
	// keepBuffer is the most memory that an idle client's buffers keep.
	keepBuffer = 64 << 10
	// flushSize is how much is answered before the replies of a long pipeline
	// are written, so that one read of commands cannot pile up any amount.
	flushSize = 256 << 10
)

// session is a client as a state machine, a [transport.Session]: the transport
// gives it bytes (Feed) and takes its replies (send). It belongs to one goroutine,
// the transport's. Others put messages for it into its outbox, and wake it with
// kick. A session never waits: a blocked client is a session whose waiting field is
// set, and a paused one keeps its input unread.
type session struct {
	commands.Client
	host
	conn transport.Conn

	in       input
	abridged [][]byte // the arguments as the slow log keeps them, if one of them was given away

	ctx    commands.Ctx
	tx     *persistence.Tx
	keys   []commands.KeyRef
	shards persistence.Shards
	ready  []readyKey // keys with waiting clients that the call changed
	lsn    uint64     // of the last change made for this client, 0 if none since the last flush
	met    uint64     // newest record that replies since the last flush may tell of
	wrote  uint64     // the last change ever made for this client, of those flushed

	bigChange bool // the last change was big: the client waits until it is written

	out      outbox
	waiting  *waiter
	began    int  // where the reply of the running call begins
	closing  bool // no more commands; close when the replies are written
	locked   bool // the transaction's locks are held
	skipNext bool // CLIENT REPLY SKIP was this very call
	observer bool // of DialObserver

	txn  transaction
	subs subscriptions

	lastRow  *commands.Command // of the last call with a short name and no subcommand
	lastName [16]byte          // as it was written
	lastSize int               // of lastName

	foot footprint

	turn      stopwatch
	lastInput atomic.Int64 // unix milliseconds of the last bytes received
	totals    clientTotals

	shown  clientView // as last published
	viewMu sync.Mutex
	view   clientView // what other clients see; guarded by viewMu
}

var errPanic = errors.New("panic")

var (
	errQueryBuffer = errors.New("query buffer limit reached")
	errOutput      = errors.New("output buffer limit reached")
)

// run executes the complete commands of the input until one waits, the input
// ends, or the client is to be closed. A panic is a bug of ours: it is logged
// with its stack, and costs this client alone its connection, behind the replies
// to the calls before.
func (s *session) run() (err error) {
	s.turn.start(s.srv.clock.Now())
	s.lastInput.Store(s.turn.millis())
	defer func() {
		s.in.forgetAhead()
		if bug := recover(); bug != nil {
			s.srv.logf(LogWarning, "panic in client %d: %v\n%s", s.ID, bug, debug.Stack())
			// What was changed is in memory: it is kept, so that the journal
			// agrees, and who waited for it is served.
			s.commit()
			s.release()
			s.ctx.Reply.Rewind(min(s.began, s.ctx.Reply.Len()))
			text, _ := commands.Text(errPanic)
			s.ctx.Reply.Error(text)
			s.closing = true
			err = s.flush()
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
			if err := s.flush(); err != nil {
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
	return s.flush()
}

// Resume goes on after a wake: messages of others are sent, and a client that was
// served, or is no longer paused, has its input run.
func (s *session) Resume() error {
	if s.Awaited() > 0 {
		if err := s.flush(); err != nil || s.Awaited() > 0 {
			return err
		}
	}
	// The reply of a wait goes before those of the calls behind it.
	s.collect()
	if s.waiting == nil && s.in.pending() {
		return s.run()
	}
	return s.flush()
}

// collect moves what others left for the client behind its replies.
func (s *session) collect() { s.collectInto(&s.ctx.Reply) }

func (s *session) collectInto(r *commands.Reply) {
	lsn, n, answered := s.out.take(r)
	s.foot.owed += n
	s.lsn = max(s.lsn, lsn)
	if answered {
		s.waiting = nil
		s.Clear(commands.ClientBlocked)
	}
}

// flush hands the replies to the transport, once the changes made so far are
// as durable as was promised.
func (s *session) flush() error {
	s.show()
	s.weigh()
	s.totals.publish(&s.srv.stats)
	if ok, err := s.settle(); !ok {
		return err
	}
	s.collect()
	if ok, err := s.settle(); !ok {
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
	return s.send()
}

// send gives the replies to the transport, which takes over what the client does
// not take yet.
func (s *session) send() error {
	r := &s.ctx.Reply
	s.srv.stats.outputBytes.Add(int64(r.Len()))
	for _, part := range r.Parts() {
		if _, err := s.conn.Write(part); err != nil {
			return err
		}
	}
	kept, err := s.conn.Write(r.Last())
	if kept {
		r.Release()
	} else {
		r.Reset(keepBuffer)
	}
	if err == nil {
		err = s.Sent()
	}
	return err
}

// Awaited is the newest record that has to be as durable as promised before
// the replies leave, 0 if there is none: the client's own, or, under appendfsync
// always, one that it was shown the effect of.
func (s *session) Awaited() uint64 { return max(s.lsn, s.met) }

// settle reports whether the client's changes, and those that it was shown, are as
// durable as promised. If not, none of its replies may be sent: the session stops
// until it is resumed.
func (s *session) settle() (bool, error) {
	if s.Awaited() == 0 {
		return true, nil
	}
	always := s.srv.settings().syncAlways
	if always || s.bigChange {
		if ok, err := s.conn.Durable(s.Awaited()); !ok && (always || err == nil) {
			if err != nil {
				s.srv.logf(LogWarning, "a write could not be made durable, its client is disconnected: %v", err)
			}
			return false, err
		}
	}
	s.met, s.bigChange = 0, false
	if s.lsn == 0 {
		return true, nil
	}
	s.wrote, s.lsn = max(s.wrote, s.lsn), 0
	s.conn.Throttle()
	return true, nil
}

// SyncFailed reports, after the device has failed, whether the client waits for a
// promise that cannot be kept. One that waits only because its record is big goes on.
func (s *session) SyncFailed() bool {
	if s.srv.store.Synced() >= s.Awaited() {
		return false
	}
	s.bigChange = false
	return s.srv.settings().syncAlways
}

// deliver gives the client bytes from another goroutine.
func (s *session) deliver(b []byte) {
	first, over := s.out.add(b, s.outputLimit(), s.srv.clock.Now().Unix())
	s.tell(first, over)
}

// answer gives the client the reply of its wait. The change lsn made it: the
// client's own goroutine sees to it that this is durable before it is told.
func (s *session) answer(b []byte, lsn uint64) {
	first, over := s.out.answer(b, lsn, s.outputLimit(), s.srv.clock.Now().Unix())
	s.tell(first, over)
}

func (s *session) tell(first, over bool) {
	s.srv.mindMemory()
	if over {
		s.srv.stats.outputLimitDrops.Add(1)
		s.srv.logf(LogWarning, "client %d is dropped: its output buffer is over its limit", s.ID)
		s.conn.HangUp()
		return
	}
	if first {
		s.conn.Wake()
	}
}

// kick wakes the session without giving it anything.
func (s *session) kick() {
	if s.out.kick() {
		s.conn.Wake()
	}
}

func (s *session) outputLimit() outputLimit {
	set := s.srv.settings()
	if s.Has(commands.ClientPubSub | commands.ClientMonitor) {
		return set.outputPubSub
	}
	return set.outputNormal
}

// Closing reports whether the session runs no more commands.
func (s *session) Closing() bool { return s.closing }

// Killed reports whether the connection is cut.
func (s *session) Killed() bool { return s.Has(commands.ClientCloseSoon) }

// Leave takes the session out of everything that knows it.
func (s *session) Leave() {
	if w := s.waiting; w != nil {
		s.srv.waiting.cancel(w)
		s.waiting = nil
	}
	s.out.shut()
	s.unwatch()
	s.subs.end(&s.srv.pubsub)
	s.srv.monitors.remove(s)
	s.srv.pause.forget(s)
	s.srv.clients.remove(s)
	s.srv.memory.forget(s)
}

// mayBeSilent reports that the client is not expected to send anything.
func (s *session) mayBeSilent() bool {
	return s.Has(commands.ClientBlocked | commands.ClientMonitor | commands.ClientPubSub)
}
