package server

import (
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
)

// queuedCall is one call between MULTI and EXEC, with arguments of its own.
type queuedCall struct {
	cmd  *commands.Command
	argv [][]byte
}

// maxQueueBytes bounds what one client may queue, as its query buffer is bounded.
const maxQueueBytes = 1 << 30

func (s *session) enqueue(cmd *commands.Command, argv [][]byte) {
	for _, a := range argv {
		s.queueBytes += len(a) + 64
	}
	if s.queueBytes > maxQueueBytes {
		s.Set(commands.ClientDirtyExec)
		s.queue = nil
		s.fail(cmd, commands.ErrQueueTooLong)
		return
	}
	s.queue = append(s.queue, queuedCall{cmd, copyArgs(argv)})
	s.ctx.Reply.Status("QUEUED")
}

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
		start := s.lastTime
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
	return nil
}

// dropQueue ends the transaction. The watches go in release order: they are
// not needed once EXEC holds the locks.
func (s *session) dropQueue() { s.endMulti() }

// watchedKey is a key under WATCH.
type watchedKey struct {
	db      int
	key     string
	expired bool // did not exist, or was expired, when WATCH was called
}

// watches knows which clients watch which keys.
type watches struct {
	n    atomic.Int32 // watched keys; read without mu
	mu   sync.Mutex
	keys map[readyKey][]*session // guarded by mu
}

func (w *watches) any() bool { return w.n.Load() > 0 }

// touch dooms the transactions of everybody who watches the key.
func (w *watches) touch(db int, key []byte) {
	if !w.any() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.keys[readyKey{db, string(key)}] {
		s.Set(commands.ClientDirtyCAS)
	}
}

func (w *watches) add(s *session, k readyKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[readyKey][]*session{}
	}
	w.keys[k] = append(w.keys[k], s)
	w.n.Add(1)
}

func (w *watches) remove(s *session, k readyKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.keys[k]
	for i, x := range list {
		if x == s {
			list = append(list[:i:i], list[i+1:]...)
			w.n.Add(-1)
			break
		}
	}
	if len(list) == 0 {
		delete(w.keys, k)
		return
	}
	w.keys[k] = list
}

// inDB lists the watched keys of a database.
func (w *watches) inDB(db int) []readyKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []readyKey
	for k := range w.keys {
		if k.db == db {
			keys = append(keys, k)
		}
	}
	return keys
}

// Watch begins to watch keys; their shards are locked.
func (s *session) Watch(c *commands.Ctx, keys [][]byte) error {
	if s.Has(commands.ClientMulti) {
		return commands.ErrWatchInMulti
	}
	for _, key := range keys {
		k := readyKey{s.DB(), string(key)}
		if s.watches(k) {
			continue
		}
		gone := c.Tx.Kind(key) == 0
		s.watched = append(s.watched, watchedKey{k.db, k.key, gone})
		s.srv.watches.add(s, k)
	}
	c.Reply.OK()
	return nil
}

func (s *session) watches(k readyKey) bool {
	for _, w := range s.watched {
		if w.db == k.db && w.key == k.key {
			return true
		}
	}
	return false
}

// Unwatch forgets all watched keys.
func (s *session) Unwatch(*commands.Ctx) { s.unwatch() }

func (s *session) unwatch() {
	for _, w := range s.watched {
		s.srv.watches.remove(s, readyKey{w.db, w.key})
	}
	s.watched = nil
	s.Clear(commands.ClientDirtyCAS)
}

// expireWatched dooms the transaction if a watched key has expired since. A
// key that was already gone when WATCH was called does not count.
func (s *session) expireWatched() {
	for _, w := range s.watched {
		if w.expired || !s.locked {
			continue
		}
		s.tx.Select(w.db)
		if s.tx.Kind([]byte(w.key)) == 0 {
			s.Set(commands.ClientDirtyCAS)
		}
	}
	if s.locked {
		s.tx.Select(s.DB())
	}
}
