package server

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// Waiting clients. A call that has to wait (BLPOP on empty lists) is parked:
// its arguments are copied into a waiter, which is in the queue of each of its
// keys. No goroutine waits for it. When a command has changed one of these
// keys, the server runs the parked calls again, first come first served, while
// the changer's locks are still held: an element that is pushed for a waiting
// client is never seen by any other. The waiter of a client that leaves is
// removed from the queues first, so no element is popped for a client that has
// left.
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
	shards  persistence.Shards
	db      int
	proto   int
	silent  bool   // the client wants no reply
	caches  bool   // the client may keep what the call reads
	rivals  string // see commands.Wait
	removed bool   // likewise
	expire  func(*commands.Reply)
	stop    func() // stops the timer, or the computation; nil without one; guarded by waiting.mu once in a queue
	again   func() // stops the timer that runs the call again; nil without one; guarded by waiting.mu

	mu   sync.Mutex  // held while the call is run again, or ended: one of them wins
	done atomic.Bool // served, timed out, unblocked or cancelled
}

func (w *waiter) isDone() bool { return w.done.Load() }

// readyKey is a key that changed while clients waited for it.
type readyKey struct {
	db  int
	key string
}

// waiting is all parked calls.
type waiting struct {
	n      atomic.Int32 // parked calls; read without mu
	mu     sync.Mutex
	queues map[string]*queue    // by key, of any database; guarded by mu
	by     map[*session]*waiter // guarded by mu
}

func (q *waiting) any() bool { return q.n.Load() > 0 }

// wanted reports whether a client waits for the key.
func (q *waiting) wanted(db int, key []byte) bool {
	if !q.any() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for p := q.queues[string(key)].begin(); p != nil; p = p.next {
		if p.w.db == db {
			return true
		}
	}
	return false
}

// enter puts a waiter into the queues of its keys; w.mu and the shards of the
// keys are held.
func (q *waiting) enter(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues == nil {
		q.queues = map[string]*queue{}
		q.by = map[*session]*waiter{}
	}
	q.by[w.s] = w
	w.places = make([]place, len(w.keys))
	for i, key := range w.keys {
		q.yieldLocked(i)
		q.queueLocked(key).append(&w.places[i], w)
	}
	q.n.Add(1)
}

// finish takes a waiter out of its queues. It returns false if that was done before:
// the first alone replies. w.mu is held.
func (q *waiting) finish(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.done.Load() {
		return false
	}
	w.done.Store(true)
	delete(q.by, w.s)
	for i, key := range w.keys {
		q.yieldLocked(i)
		if line := w.places[i].line; line != nil {
			if line.remove(&w.places[i]); line.first == nil {
				delete(q.queues, string(key))
			}
		}
	}
	q.n.Add(-1)
	if w.stop != nil {
		w.stop()
	}
	if w.again != nil {
		w.again()
	}
	return true
}

// cancel removes a waiter whose client has left. It returns false if the wait had
// ended before.
func (q *waiting) cancel(w *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return q.finish(w)
}

// inLine lists the calls that wait for a key, in order of arrival.
func (q *waiting) inLine(k readyKey) []*waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	var line []*waiter
	for p := q.queues[k.key].begin(); p != nil; p = p.next {
		if p.w.db == k.db {
			line = append(line, p.w)
		}
	}
	return line
}

// keysOf lists the keys of a database that have waiting clients.
func (q *waiting) keysOf(db int) []readyKey {
	q.mu.Lock()
	defer q.mu.Unlock()
	var keys []readyKey
	for key, line := range q.queues {
		for p := line.first; p != nil; p = p.next {
			if p.w.db == db {
				keys = append(keys, readyKey{db, key})
				break
			}
		}
	}
	return keys
}

// eachKey visits the keys of a call.
type eachKey func(visit func(key []byte))

// widen adds the shards that serving the waiters of the call's keys can need:
// those of all their keys, and of the keys of clients that wait for these in
// turn.
func (q *waiting) widen(set *persistence.Shards, keys eachKey) {
	if !q.any() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var todo []*waiter
	add := func(key []byte) {
		for p := q.queues[string(key)].begin(); p != nil; p = p.next {
			if len(p.w.also) == 0 { // thousands may wait for one key
				set.Union(p.w.shards)
				continue
			}
			todo = append(todo, p.w)
		}
	}
	keys(add)
	seen := map[*waiter]bool{}
	for len(todo) > 0 {
		w := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[w] {
			continue
		}
		seen[w] = true
		set.Union(w.shards)
		for _, key := range w.also {
			add(key)
		}
	}
}

// park puts the call that just ran into the queues of its keys. The keys are
// still locked, so nothing can have changed in between.
func (s *session) park(cmd *commands.Command, argv [][]byte, wait *commands.Wait) {
	w := &waiter{s: s, cmd: cmd, shards: s.shards, db: s.DB(), proto: s.Proto(),
		silent: s.Has(commands.ClientReplyOff | commands.ClientReplySkip), expire: wait.Expired,
		rivals: wait.Rivals, removed: wait.Removed, caches: cmd.Is(commands.ReadOnly) && s.caches()}
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
	s.srv.waiting.enter(w)
	s.srv.remind(w, wait.Again)
	if wait.Work != nil {
		s.srv.compute(w, wait.Work, wait.Holds)
		wait.Work = nil // so that its memory is freed when it has run
	}
}

// arm keeps what stops the computation of a waiter, or stops it at once if the
// wait has ended.
func (q *waiting) arm(w *waiter, stop func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.done.Load() {
		stop()
		return
	}
	w.stop = stop
}

// serve runs the calls that wait for a key again. If the key is gone, only those that
// also wait for its removal are run. The locks of the command that changed the key
// are held.
func (s *session) serve(k readyKey) {
	var idle map[string]bool // rivals that there is nothing for
	for _, w := range s.srv.waiting.inLine(k) {
		if w.rivals != "" && idle[w.rivals] {
			continue
		}
		s.tx.Select(k.db)
		if !w.removed && s.tx.Kind([]byte(k.key)) == 0 {
			continue
		}
		if !s.serveOne(k, w) && w.rivals != "" {
			if idle == nil {
				idle = map[string]bool{}
			}
			idle[w.rivals] = true
		}
	}
	s.tx.Select(s.DB())
}

// serveOne runs one parked call again. If it finds nothing it stays in line, and
// served is false.
func (s *session) serveOne(k readyKey, w *waiter) (served bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isDone() {
		return true
	}
	defer s.serveFor(w)()
	c, ok := s.rerun(k, w)
	lsn := s.tx.Commit() // also of a call that looked at a value and waits on
	s.dur.change(lsn)
	if !ok {
		return false
	}
	s.srv.waiting.finish(w)
	w.answer(c.Reply.Encoded(), max(lsn, s.tx.Seen()))
	s.rememberFor(w)
	return true
}

// rerun runs a parked call again; ok is false if it has to keep waiting. A
// panic disconnects the waiting client, not the one whose command runs.
func (s *session) rerun(k readyKey, w *waiter) (c commands.Ctx, ok bool) {
	defer func() {
		if bug := recover(); bug != nil {
			s.srv.logf(LogWarning, "panic in the call of client %d: %v\n%s", w.s.ID, bug, debug.Stack())
			s.dur.change(s.tx.Commit())
			s.srv.waiting.finish(w)
			w.s.conn.HangUp()
			ok = false
		}
	}()
	c.Command, c.Tx, c.Now, c.Client = w.cmd, s.tx, s.ctx.Now, &w.s.Client
	c.Table, c.Host, c.Woken = s.srv.table, w.s, []byte(k.key)
	c.Reply = commands.NewReply(nil, w.proto)
	c.Args.Reset(w.argv, 1)
	var err error
	// The user's rules may have changed since the client waits.
	if d := w.s.denied(w.cmd, w.argv, acl.TopLevel, w.s.view.load); d != nil {
		err = acl.ErrNoPermission(w.s.user.Load(), w.cmd, d)
	} else {
		err = w.cmd.Run(&c)
	}
	if err == nil {
		if wait := c.Parked(); wait != nil {
			s.srv.remind(w, wait.Again)
			return c, false
		}
	}
	if err != nil {
		text, _ := commands.Text(err)
		s.srv.stats.countError(string(text))
		c.Reply.Rewind(0)
		c.Reply.Error(text)
	}
	s.srv.stats.called(w.cmd, 0, err != nil)
	if l := &s.srv.slowlog; l.wants(0) && !w.cmd.Is(commands.SkipSlowlog) {
		l.add(w.s, abridge(w.cmd.Shown(w.argv)), s.turn.at(s.turn.elapsed), 0)
	}
	return c, true
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
