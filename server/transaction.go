package server

import (
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/server/blocking"
)

// transaction is what a client has begun with MULTI and WATCH: the calls that EXEC
// is to run, and the keys that must not have changed by then. Only the owner of the
// session uses it.
type transaction struct {
	s *session
	watching
	queue      []queuedCall
	queueBytes int               // of the arguments of queue
	exec       *commands.Command // EXEC while it runs the queue, else nil
	replyAt    int               // where the reply of the running EXEC begins
}

// queuedCall is one call between MULTI and EXEC, with arguments of its own.
type queuedCall struct {
	cmd  *commands.Command
	argv [][]byte
}

// add queues a call, copying its arguments.
func (t *transaction) add(cmd *commands.Command, argv [][]byte) {
	for _, a := range argv {
		t.queueBytes += len(a) + 64
	}
	t.queue = append(t.queue, queuedCall{cmd, blocking.CopyArgs(argv)})
}

// flags are the flags of all queued calls together.
func (t *transaction) flags() (all commands.Flag) {
	for i := range t.queue {
		all |= t.queue[i].cmd.Flags
	}
	return all
}

// frees reports whether all queued calls that write only free room.
func (t *transaction) frees() bool {
	return !slices.ContainsFunc(t.queue, func(q queuedCall) bool {
		return q.cmd.Flags&(commands.Write|commands.Frees) == commands.Write
	})
}

// eachKey visits the keys of the queued calls.
func (t *transaction) eachKey(visit func(key []byte)) {
	for _, q := range t.queue {
		for _, k := range q.cmd.AppendKeys(nil, q.argv) {
			visit(q.argv[k.Index])
		}
	}
}

// memory is the number of bytes that the transaction takes.
func (t *transaction) memory() int { return t.queueBytes + t.bytes }

// enqueue adds a call to the transaction in place of running it.
func (t *transaction) enqueue(cmd *commands.Command, argv [][]byte) {
	t.add(cmd, argv)
	t.s.ctx.Reply.Status("QUEUED")
}

// maxTransaction limits the changes of a transaction, which make one record:
// beyond it calls that would change more are refused.
const maxTransaction = 1 << 30

// Multi begins a transaction.
func (t *transaction) Multi(c *commands.Ctx) error {
	if t.s.Has(commands.ClientMulti) {
		return commands.ErrNestedMulti
	}
	t.s.Set(commands.ClientMulti)
	c.Reply.OK()
	return nil
}

// Discard drops the queued calls and the watched keys.
func (t *transaction) Discard(c *commands.Ctx) error {
	if !t.s.Has(commands.ClientMulti) {
		return commands.ErrDiscardNoMulti
	}
	t.end()
	c.Reply.OK()
	return nil
}

// end ends the transaction. EXEC takes the queue first, and no longer needs
// the watched keys once it holds their locks.
func (t *transaction) end() {
	t.queue, t.queueBytes = nil, 0
	t.s.Clear(commands.ClientMulti | commands.ClientDirtyExec)
	t.unwatch()
}

// addShards adds the shards of the keys that are queued or watched.
func (t *transaction) addShards() {
	s := t.s
	for _, q := range t.queue {
		if q.cmd.Everywhere(q.argv) {
			s.shards.AddAll()
			break
		}
	}
	t.eachKey(func(key []byte) { s.shards.Add(s.tx.Expect(key)) })
	for _, w := range t.keys {
		s.shards.Add(s.srv.store.Hash([]byte(w.Name)))
	}
}

// eachKey visits the keys of the call, or of the queue that EXEC runs.
func (s *session) eachKey(visit func(key []byte)) {
	for _, k := range s.keys {
		visit(s.in.argv[k.Index])
	}
	s.transaction.eachKey(visit)
}

// Exec runs the queued calls as one: all keys are locked, and all changes make one
// journal record. A call that fails puts its error into the array and does not
// stop the others.
func (t *transaction) Exec(c *commands.Ctx) error {
	s := t.s
	if !s.Has(commands.ClientMulti) {
		return commands.ErrExecNoMulti
	}
	if s.locked {
		t.expire(s.tx)
	}
	switch {
	case s.Has(commands.ClientDirtyExec):
		t.end()
		return commands.ErrExecAbort
	case s.Has(commands.ClientDirtyCAS):
		t.end()
		c.Reply.NullArray()
		return nil
	}
	queue := t.queue
	if t.agrees() {
		t.end()
		return t.execApart(c, queue)
	}
	s.cache.Collect(t.flags()&commands.PubSub != 0)
	t.end()
	exec := c.Command
	t.exec, c.InMulti = exec, true
	defer func() {
		t.exec, c.InMulti, c.Command = nil, false, exec
		s.cache.Collect(false)
	}()
	t.replyAt = c.Reply.Len()
	c.Reply.Array(len(queue))
	for _, q := range queue {
		if err := t.admit(exec, q.cmd, q.argv); err != nil {
			s.fail(q.cmd, err)
			continue
		}
		start, mark := s.turn.elapsed, c.Reply.Len()
		err := s.invoke(q.cmd, q.argv)
		s.monitor(q.cmd, q.argv, start)
		s.account(q.cmd, q.argv, start, err)
		reply := int64(c.Reply.Len() - mark)
		s.logLarge(q.cmd, q.argv, start, 0, reply)
		s.heat(q.cmd, q.argv, start, requestBytes(q.argv)+reply)
	}
	return nil
}

// admit checks again what may have changed since the call was queued that EXEC runs.
func (t *transaction) admit(exec, cmd *commands.Command, argv [][]byte) error {
	s := t.s
	if !s.Has(commands.ClientAuthenticated) && !cmd.Is(commands.NoAuth) && s.access.mustAuth() {
		return commands.ErrNoAuth
	}
	if d := s.access.denied(cmd, argv, acl.InMulti, exec, s.view.look); d != nil {
		return acl.ErrNoPermissionAnymore(d)
	}
	if cmd.Is(commands.DenyOOM) && s.tx.RecordBytes() > maxTransaction {
		return commands.ErrQueueTooLong
	}
	return nil
}
