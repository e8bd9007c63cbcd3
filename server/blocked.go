package server

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
	"github.com/vigildb/vigil/server/tracking"
)

// block makes the call that just ran one that waits. The keys are still locked.
func (s *session) block(cmd *commands.Command, argv [][]byte, wait *commands.Wait) {
	c := &blocking.Call{Client: s, Command: cmd, Shards: s.shards, DB: s.DB(), Proto: s.Proto(),
		Silent: s.Has(commands.ClientReplyOff | commands.ClientReplySkip), Caches: cmd.Is(commands.ReadOnly) && tracking.Caches(s)}
	if s.in.given {
		argv = withoutLong(argv) // which belong to the handler
	}
	c.Args = blocking.CopyArgs(argv)
	if len(s.keys) > len(wait.Keys) {
		for _, k := range s.keys {
			c.Also = append(c.Also, c.Args[k.Index])
		}
	}
	s.srv.blocked.Block(c, wait)
	if s.srv.opts.Group != nil {
		s.srv.blocked.Watch()
	}
	if wait.Work != nil {
		s.srv.compute(c, wait.Work, wait.Holds)
		wait.Work = nil // so that its memory is freed when it has run
	}
}

// Blocked notes the call of the client that waits.
func (s *session) Blocked(c *blocking.Call) {
	s.waiting = c
	s.Set(commands.ClientBlocked)
}

// serve runs the calls that wait for a key again.
func (s *session) serve(k blocking.Key) {
	s.serving = &k
	s.srv.blocked.Serve(k, runner{s})
	s.serving = nil
	s.tx.Select(s.DB())
}

// runner runs blocked calls again, in the transaction of a client whose call has changed their keys.
type runner struct{ s *session }

func (r runner) Writable() bool { return r.s.tx.Writable() }

func (r runner) Exists(k blocking.Key) bool {
	r.s.tx.Select(k.DB)
	return r.s.tx.Kind([]byte(k.Name)) != 0
}

func (r runner) Abandon() { r.s.tx.Abandon() }

// Rerun runs a call and commits what it has changed.
func (r runner) Rerun(k blocking.Key, w *blocking.Call) blocking.Outcome {
	s, of := r.s, w.Client.(*session)
	defer s.cache.Serve(of)()
	c, out := r.run(k, w, of)
	if out == blocking.Broken {
		return out
	}
	lsn := s.tx.Commit() // also of a call that looked at a value and waits on
	s.durability.change(lsn)
	s.messaging.announceKept(lsn)
	if out == blocking.Waits {
		return out
	}
	s.srv.stats.looked(&c.Lookups) // not of each time that there was nothing for it
	s.srv.blocked.Served(w, c.Reply.Encoded(), max(lsn, s.tx.Seen()))
	if w.Caches {
		s.srv.tracking.ReadFor(&s.cache, &of.cache, w.Command, w.Args)
	}
	return out
}

// run runs the handler. A panic disconnects the waiting client, not the one whose command runs.
func (r runner) run(k blocking.Key, w *blocking.Call, of *session) (c commands.Ctx, out blocking.Outcome) {
	s := r.s
	defer func() {
		if bug := recover(); bug != nil {
			s.srv.logf(logWarning, "panic in the call of client %d: %v\n%s", of.ID, bug, debug.Stack())
			of.conn.HangUp()
			out = blocking.Broken
		}
	}()
	c.Command, c.Tx, c.Now, c.Client = w.Command, s.tx, s.ctx.Now, &of.Client
	c.Table, c.Host, c.Woken = s.srv.table, of, []byte(k.Name)
	if s.srv.opts.Group != nil {
		c.Host = servedHost{of, s}
	}
	c.Reply = commands.NewReply(nil, w.Proto)
	c.Args.Reset(w.Args, 1)
	// The user's rules may have changed since the client waits.
	if d := of.access.denied(w.Command, w.Args, acl.TopLevel, w.Command, of.view.load); d != nil {
		r.fail(&c.Reply, acl.ErrNoPermission(of.access.user.Load(), w.Command, d))
		s.srv.stats.rejected(w.Command) // as one that never ran
		return c, blocking.Served
	}
	err := w.Command.Run(&c)
	if err == nil {
		if wait := c.Parked(); wait != nil {
			s.srv.blocked.Remind(w, time.Duration(wait.Again)*time.Millisecond)
			return c, blocking.Waits
		}
	} else {
		r.fail(&c.Reply, err)
	}
	s.srv.stats.called(w.Command, 0, err != nil)
	if w.Command.Is(commands.SkipSlowlog) {
		return c, blocking.Served
	}
	slow, long, size := &s.srv.logs[admin.SlowCalls], &s.srv.logs[admin.LargeReplies], int64(c.Reply.Len())
	if slow.wants(0) {
		s.srv.addSlow(of, w.Command, s.srv.settings().abridge(w.Command.Shown(w.Args)), s.turn.at(s.turn.elapsed), 0)
	}
	if long.wants(size) {
		long.add(of, s.srv.settings().abridge(w.Command.Shown(w.Args)), s.turn.at(s.turn.elapsed), size)
	}
	return c, blocking.Served
}

// fail makes an error the whole reply of a call.
func (r runner) fail(reply *commands.Reply, err error) {
	text, _ := commands.Text(err)
	r.s.srv.stats.countError(string(text))
	reply.Rewind(0)
	reply.Error(text)
}

// maxShown is how many bytes are kept of an argument that is too long to be a key.
const maxShown = 128

// withoutLong shortens arguments that are too long to be keys.
func withoutLong(argv [][]byte) [][]byte {
	out := slices.Clone(argv)
	for i, a := range out {
		if len(a) > persistence.MaxKey {
			out[i] = shorten(a, maxShown)
		}
	}
	return out
}

// MayCompute reports whether there is room for one more computation, which holds
// so many bytes.
func (h host) MayCompute(holds int) bool { return h.srv.computes.Room(holds) }

// compute gives the work of a blocked call to the workers. Whatever ends the wait before
// that (the client leaves, CLIENT KILL, CLIENT UNBLOCK) ends the context of the work too.
func (srv *Server) compute(c *blocking.Call, work commands.Work, holds int) {
	ctx, cancel := context.WithCancel(srv.done)
	srv.blocked.Arm(c, cancel)
	srv.computes.Add(holds, func() { srv.computeOne(ctx, c, work) })
}

// computeOne runs the work, and ends the wait with the result. A panic
// disconnects the waiting client only.
func (srv *Server) computeOne(ctx context.Context, c *blocking.Call, work commands.Work) {
	s := c.Client.(*session)
	defer func() {
		if bug := recover(); bug != nil {
			srv.logf(logWarning, "panic in the call of client %d: %v\n%s", s.ID, bug, debug.Stack())
			srv.blocked.Cancel(c)
			s.conn.HangUp()
		}
	}()
	if ctx.Err() != nil {
		return // its client has left, or the server is closed
	}
	start := srv.clock.Now()
	answer, err := work(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		text, known := commands.Text(err)
		if !known {
			srv.logf(logWarning, "%s failed: %v", c.Command.FullName(), err)
		}
		srv.stats.countError(string(text))
		answer = func(r *commands.Reply) { r.Error(text) }
	}
	took := srv.clock.Since(start)
	if srv.logs[admin.SlowCalls].wants(int64(took)) { // before the reply: its client may look at the log next
		srv.addSlow(s, c.Command, srv.settings().abridge(c.Command.Shown(c.Args)), start, took)
	}
	srv.blocked.End(c, took, err != nil, answer)
}
