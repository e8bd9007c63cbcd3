package server

import (
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Waiting clients. A call that has to wait (BLPOP on empty lists) is parked:
// its arguments are copied into a waiter, which is in the queue of each of its
// keys (queue.go). No goroutine waits for it. When a command has changed one of
// these keys, the server runs the parked calls again, first come first served,
// while the changer's locks are still held: an element that is pushed for a
// waiting client is never seen by any other. The waiter of a client that leaves
// is removed from the queues first, so no element is popped for a client that
// has left.
//
// Lock order: shards of the store, then waiter.mu, then waiting.mu, then outbox.mu.

// waiter is one parked call.
type waiter struct {
	s       *session
	cmd     *commands.Command
	argv    [][]byte
	keys    [][]byte // waited for; alias argv
	also    [][]byte // all keys of the call, if there are more than it waits for; alias argv
	places  []place  // in the queues of keys; guarded by waiting.mu
	arrival uint64   // grows with each waiter; guarded by waiting.mu
	shards  persistence.Shards
	db      int
	proto   int
	silent  bool     // the client wants no reply
	caches  bool     // the client may keep what the call reads
	rivals  []string // see commands.Wait
	removed bool     // likewise
	expire  func(*commands.Reply)
	stop    func() // stops the timer, or the computation; nil without one; guarded by waiting.mu once in a queue
	again   func() // stops the timer that runs the call again; nil without one; guarded by waiting.mu

	mu   sync.Mutex  // held while the call is run again, or ended: one of them wins
	done atomic.Bool // served, timed out, unblocked or cancelled
}

func (w *waiter) isDone() bool { return w.done.Load() }

// park puts the call that just ran into the queues of its keys. The keys are
// still locked, so nothing can have changed in between.
func (s *session) park(cmd *commands.Command, argv [][]byte, wait *commands.Wait) {
	w := &waiter{s: s, cmd: cmd, shards: s.shards, db: s.DB(), proto: s.Proto(),
		silent: s.Has(commands.ClientReplyOff | commands.ClientReplySkip), expire: wait.Expired,
		rivals: wait.Rivals, removed: wait.Removed, caches: cmd.Is(commands.ReadOnly) && s.caches()}
	if s.in.given {
		argv = withoutLong(argv) // which belong to the handler
	}
	w.argv = copyArgs(argv)
	w.keys = copyArgs(wait.Keys)
	if len(s.keys) > len(w.keys) {
		for _, k := range s.keys {
			w.also = append(w.also, w.argv[k.Index])
		}
	}
	// The timer is started before others can see that the client waits, so that
	// every visible wait has an end. A timer that fires at once finds w.mu held
	// until the waiter is in its queues.
	w.mu.Lock()
	defer w.mu.Unlock()
	if wait.Millis > 0 {
		d := time.Duration(wait.Millis) * time.Millisecond
		w.stop = s.srv.clock.AfterFunc(d, func() { s.srv.timeOut(w) })
	}
	s.waiting = w
	s.Set(commands.ClientBlocked)
	if wait.Until != nil {
		s.srv.poll(w, wait.Until, wait.Again)
	}
	s.srv.waiting.enter(w)
	s.srv.outages.watch(s.srv)
	if wait.Until == nil {
		s.srv.remind(w, wait.Again)
	}
	if wait.Work != nil {
		s.srv.compute(w, wait.Work, wait.Holds)
		wait.Work = nil // so that its memory is freed when it has run
	}
}

// serve runs the calls that wait for a key again, in order of arrival. When there is
// nothing for one of them, its rivals are passed over, as there is nothing for them
// either; if the key is gone, only those that also wait for its removal are run. What
// these calls do to the key is of no use to those that were passed over. The locks of
// the command that changed the key are held, so that no call begins to wait for it
// meanwhile.
func (s *session) serve(k readyKey) {
	s.serving = &k
	line := s.srv.waiting.line(k)
	for w := line.next(); w != nil && s.tx.Writable(); w = line.next() {
		s.tx.Select(k.db)
		if !w.removed && s.tx.Kind([]byte(k.key)) == 0 || !s.serveOne(k, w) {
			line.pass()
		}
	}
	s.serving = nil
	s.tx.Select(s.DB())
}

// serveOne runs one parked call again. If it finds nothing it stays in line, and
// served is false. It is true if the wait has ended otherwise. A panic leaves nothing of
// the parked call: those of other keys, which had to be unlocked for that, may come before
// the next one in line.
func (s *session) serveOne(k readyKey, w *waiter) (served bool) {
	served, broke := s.serveLocked(k, w)
	if broke {
		s.tx.Abandon() // not under w.mu, which those wait for who hold other shards
	}
	return served
}

func (s *session) serveLocked(k readyKey, w *waiter) (served, broke bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isDone() {
		return true, false
	}
	defer s.serveFor(w)()
	c, ok, broke := s.rerun(k, w)
	if broke {
		return true, true
	}
	lsn := s.tx.Commit() // also of a call that looked at a value and waits on
	s.dur.change(lsn)
	s.announceKept(lsn)
	if !ok {
		return w.isDone(), false
	}
	s.srv.stats.looked(&c.Lookups) // not of each time that there was nothing for it
	s.srv.waiting.finish(w)
	w.answer(c.Reply.Encoded(), max(lsn, s.tx.Seen()))
	s.rememberFor(w)
	return true, false
}

// rerun runs a parked call again; ok is false if it has to keep waiting. A
// panic disconnects the waiting client, not the one whose command runs.
func (s *session) rerun(k readyKey, w *waiter) (c commands.Ctx, ok, broke bool) {
	defer func() {
		if bug := recover(); bug != nil {
			s.srv.logf(LogWarning, "panic in the call of client %d: %v\n%s", w.s.ID, bug, debug.Stack())
			s.srv.waiting.finish(w)
			w.s.conn.HangUp()
			ok, broke = false, true
		}
	}()
	c.Command, c.Tx, c.Now, c.Client = w.cmd, s.tx, s.ctx.Now, &w.s.Client
	c.Table, c.Host, c.Woken = s.srv.table, w.s, []byte(k.key)
	if s.srv.opts.Group != nil {
		c.Host = servedHost{w.s, s}
	}
	c.Reply = commands.NewReply(nil, w.proto)
	c.Args.Reset(w.argv, 1)
	// The user's rules may have changed since the client waits.
	if d := w.s.denied(w.cmd, w.argv, acl.TopLevel, w.cmd, w.s.view.load); d != nil {
		s.refuseWaiter(w, &c.Reply, acl.ErrNoPermission(w.s.user.Load(), w.cmd, d))
		return c, true, false
	}
	err := w.cmd.Run(&c)
	if err == nil {
		if wait := c.Parked(); wait != nil {
			s.srv.remind(w, wait.Again)
			return c, false, false
		}
	}
	if err != nil {
		s.writeError(&c.Reply, err)
	}
	s.srv.stats.called(w.cmd, 0, err != nil)
	if l := &s.srv.logs[admin.SlowCalls]; l.wants(0) && !w.cmd.Is(commands.SkipSlowlog) {
		s.srv.addSlow(w.s, w.cmd, s.srv.settings().abridge(w.cmd.Shown(w.argv)), s.turn.at(s.turn.elapsed), 0)
	}
	return c, true, false
}

// refuseWaiter writes the error of a parked call that may not run any more. It counts as
// one that never ran.
func (s *session) refuseWaiter(w *waiter, r *commands.Reply, err error) {
	s.writeError(r, err)
	s.srv.stats.rejected(w.cmd)
}

// writeError makes an error the whole reply of a parked call.
func (s *session) writeError(r *commands.Reply, err error) {
	text, _ := commands.Text(err)
	s.srv.stats.countError(string(text))
	r.Rewind(0)
	r.Error(text)
}

// answer ends the wait with a reply.
func (w *waiter) answer(reply []byte, lsn uint64) {
	if w.silent {
		reply = nil
	}
	w.s.answer(reply, lsn)
}

// timeOut ends a wait that has timed out.
func (srv *Server) timeOut(w *waiter) { srv.endWait(w, w.expire) }

// endWait ends a wait with a reply that is no result. It returns false if the wait
// had ended before.
func (srv *Server) endWait(w *waiter, write func(*commands.Reply)) bool {
	return srv.endWaitAfter(w, 0, false, write)
}

// endWaitAfter is endWait for a call that has been worked on for some time,
// and may have failed.
func (srv *Server) endWaitAfter(w *waiter, took time.Duration, failed bool, write func(*commands.Reply)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !srv.waiting.finish(w) {
		return false
	}
	r := commands.NewReply(nil, w.proto)
	write(&r)
	srv.stats.called(w.cmd, took, failed)
	w.answer(r.Encoded(), 0)
	return true
}

// maxShown is how many bytes are kept of an argument that is too long to be a key.
const maxShown = 128

// withoutLong shortens arguments that are too long to be keys.
func withoutLong(argv [][]byte) [][]byte {
	out := slices.Clone(argv)
	for i, a := range out {
		if len(a) > maxKey {
			out[i] = shorten(a, maxShown)
		}
	}
	return out
}

func copyArgs(argv [][]byte) [][]byte {
	size := 0
	for _, a := range argv {
		size += len(a)
	}
	buf := make([]byte, 0, size)
	out := make([][]byte, len(argv))
	for i, a := range argv {
		at := len(buf)
		buf = structures.Append(buf, a)
		out[i] = buf[at:len(buf):len(buf)]
	}
	return out
}
