package server

import "github.com/vigildb/vigil/commands"

// queuedCall is one call between MULTI and EXEC, with arguments of its own.
type queuedCall struct {
	cmd  *commands.Command
	argv [][]byte
}

func (s *session) enqueue(cmd *commands.Command, argv [][]byte) {
	for _, a := range argv {
		s.queueBytes += len(a) + 64
	}
	s.queue = append(s.queue, queuedCall{cmd, copyArgs(argv)})
	s.ctx.Reply.Status("QUEUED")
}

// maxTransaction is how much a transaction may have changed for a call in it to
// change more: all of it is one record.
const maxTransaction = 1 << 30

// Multi begins a transaction.
func (s *session) Multi(c *commands.Ctx) error {
	if s.Has(commands.ClientMulti) {
		return commands.ErrNestedMulti
	}
	s.Set(commands.ClientMulti)
	c.Reply.OK()
	return nil
}

// Discard drops the queue and the watched keys.
func (s *session) Discard(c *commands.Ctx) error {
	if !s.Has(commands.ClientMulti) {
		return commands.ErrDiscardNoMulti
	}
	s.endMulti()
	c.Reply.OK()
	return nil
}

func (s *session) endMulti() {
	s.queue, s.queueBytes = nil, 0
	s.Clear(commands.ClientMulti | commands.ClientDirtyExec)
	s.unwatch()
}

// addQueue collects the keys of the queued calls and of WATCH, and their
// shards.
func (s *session) addQueue() {
	for _, q := range s.queue {
		if q.cmd.Is(commands.Keyspace) {
			s.shards.AddAll()
		}
		for _, k := range q.cmd.AppendKeys(nil, q.argv) {
			s.shards.Add(s.tx.Expect(q.argv[k.Index]))
		}
	}
	for _, w := range s.watched {
		s.shards.Add(s.srv.store.Hash([]byte(w.key)))
	}
}

// eachKey visits the keys of the call, or of the queue that EXEC runs.
func (s *session) eachKey(visit func(key []byte)) {
	for _, k := range s.keys {
		visit(s.argv[k.Index])
	}
	for _, q := range s.queue {
		for _, k := range q.cmd.AppendKeys(nil, q.argv) {
			visit(q.argv[k.Index])
		}
	}
}

// Exec runs the queue as one: all keys are locked, and all changes make one
// journal record. A call that fails puts its error into the array and does not
// stop the others.
func (s *session) Exec(c *commands.Ctx) error {
	if !s.Has(commands.ClientMulti) {
		return commands.ErrExecNoMulti
	}
	s.expireWatched()
	switch {
	case s.Has(commands.ClientDirtyExec):
		s.dropQueue()
		return commands.ErrExecAbort
	case s.Has(commands.ClientDirtyCAS):
		s.dropQueue()
		c.Reply.NullArray()
		return nil
	}
	queue := s.queue
	s.dropQueue()
	exec := c.Command
	c.InMulti = true
	defer func() { c.InMulti, c.Command = false, exec }()
	s.execAt = c.Reply.Len()
	c.Reply.Array(len(queue))
	for _, q := range queue {
		if err := s.admitQueued(q.cmd); err != nil {
			s.fail(q.cmd, err)
			continue
		}
		start := s.turn.elapsed
		err := s.invoke(q.cmd, q.argv)
		s.monitor(q.cmd, q.argv, start)
		s.account(q.cmd, q.argv, start, err)
	}
	return nil
}

// admitQueued checks again what may have changed since the call was queued.
func (s *session) admitQueued(cmd *commands.Command) error {
	if !s.Has(commands.ClientAuthenticated) && !cmd.Is(commands.NoAuth) && s.mustAuth() {
		return commands.ErrNoAuth
	}
	if cmd.Is(commands.DenyOOM) && s.tx.RecordBytes() > maxTransaction {
		return commands.ErrQueueTooLong
	}
	return nil
}

// dropQueue ends the transaction. The watches go in release order: they are
// not needed once EXEC holds the locks.
func (s *session) dropQueue() { s.endMulti() }
