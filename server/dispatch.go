package server

import (
	"errors"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/blocking"
)

// execute is the life of one command, in order. Invariants: a command that is
// refused changes nothing; a handler runs with every key of its call locked;
// what it changed is in the journal before its locks are released, so that the
// journal's order is the order of effects; its reply is complete or an error.
func (s *session) execute(argv [][]byte) {
	if s.srv.store.Eviction().Over() {
		s.makeRoom()
	}
	mark := s.ctx.Reply.Len()
	s.began = mark
	cmd, sub := s.in.seen.cmd, s.in.seen.sub
	if cmd == nil {
		cmd, sub = s.lookup(argv)
	}
	if cmd == nil && crosses(argv[0]) {
		s.endCrossing()
		return
	}
	err := s.admission.check(cmd, sub, argv)
	switch {
	case err == errPaused:
		s.in.hold(argv)
		return
	case err != nil:
		s.reject(cmd, err)
	case s.Has(commands.ClientMulti) && !cmd.Is(commands.NotQueued):
		s.transaction.enqueue(cmd, argv)
	case !s.call(cmd, argv):
		s.in.hold(argv)
		return
	}
	if s.Has(commands.ClientReplyOff | commands.ClientReplySkip) {
		s.output.hide(mark)
	}
	if s.Has(commands.ClientReplica) && s.ctx.Reply.Len() > mark {
		s.replicaLink.rogue(argv)
	}
	if s.cache.Pushes() || s.Has(commands.ClientTracking) {
		s.endTracked(cmd)
	}
	if s.messaging.confirmed || s.Has(commands.ClientPubSub) {
		s.messaging.confirmed = false
		s.output.collect() // what the call has sent to its own client goes before the next reply
	}
}

// lookup finds the row of a call. Pipelines repeat their commands, so the name
// is compared with the last one before the table is asked.
func (s *session) lookup(argv [][]byte) (cmd *commands.Command, sub bool) {
	return s.row.lookup(s.srv.table, argv)
}

// rowCache is the row of the last call with a short name and no subcommand.
type rowCache struct {
	row  *commands.Command
	name [16]byte // as the client wrote it
	size int      // of name
}

// lookup returns the row of a call, which it keeps.
func (r *rowCache) lookup(table *commands.Table, argv [][]byte) (cmd *commands.Command, sub bool) {
	if cmd = r.find(argv[0]); cmd != nil {
		return cmd, false
	}
	cmd, sub = table.Lookup(argv)
	if cmd != nil && len(cmd.Subcommands()) == 0 && cmd.Parent() == nil {
		r.keep(argv[0], cmd)
	}
	return cmd, sub
}

// find returns the row if it has that name, else nil.
func (r *rowCache) find(name []byte) *commands.Command {
	if string(r.name[:r.size]) == string(name) {
		return r.row
	}
	return nil
}

// keep stores a row, unless its name is long.
func (r *rowCache) keep(name []byte, row *commands.Command) {
	if len(name) <= len(r.name) {
		r.row, r.size = row, copy(r.name[:], name)
	}
}

// call locks, runs, journals, serves waiting clients, unlocks, writes the rest of
// the reply, and counts. It returns false if the call is to be held back, as check does with errPaused.
func (s *session) call(cmd *commands.Command, argv [][]byte) (ran bool) {
	start := s.turn.elapsed
	s.ctx.Now = s.turn.millis()
	s.prepare(cmd, argv)
	switch err := s.lock(cmd, argv); {
	case err == errPaused:
		return false
	case err != nil:
		s.reject(cmd, err)
		return true
	}
	request, mark := requestBytes(argv), s.ctx.Reply.Len()
	err := s.invoke(cmd, argv)
	s.commit()
	if s.locked {
		// An error depends on keys too, for example when it says that there is
		// no such key.
		if unsynced := s.meet(cmd); unsynced != nil {
			err = unsynced
		}
	}
	if s.in.given {
		s.abridged = s.srv.settings().abridge(cmd.Shown(argv))
		argv = s.abridged
	}
	s.release()
	if write := s.ctx.TakeLater(); write != nil && err == nil {
		if err = write(); err != nil {
			s.ctx.Reply.Rewind(mark)
			s.fail(cmd, err)
		}
	}
	s.monitor(cmd, argv, start)
	s.account(cmd, argv, start, err)
	reply := int64(s.ctx.Reply.Len() - mark)
	s.logLarge(cmd, argv, start, request, reply)
	s.heat(cmd, argv, start, request+reply)
	return true
}

// prepare collects the shards that the call needs.
func (s *session) prepare(cmd *commands.Command, argv [][]byte) {
	s.shards = persistence.Shards{}
	switch {
	case cmd.Everywhere(argv):
		s.shards.AddAll()
	case cmd.Is(commands.LocksQueue):
		s.transaction.addShards()
	}
	if s.srv.opts.Group != nil {
		if s.sharing.held = s.sharing.changes(cmd, argv); s.sharing.held {
			s.shards.AddTexts()
		}
	}
	s.keys = s.keys[:0]
	if len(cmd.Keys) > 0 {
		s.keys = cmd.AppendKeys(s.keys, argv)
		for i, k := range s.keys {
			key := argv[k.Index]
			if i == 0 && s.in.seen.keyHash != 0 {
				s.shards.Add(s.tx.ExpectHash(key, s.in.seen.keyHash))
				continue
			}
			s.shards.Add(s.tx.Expect(key))
		}
	}
}

// lock takes the shards of the call. It returns a BUSY error if a script has one of
// them for too long.
func (s *session) lock(cmd *commands.Command, argv [][]byte) error {
	if s.admission.effects(cmd)&commands.RunsScripts != 0 {
		return s.scripting.lock(cmd, argv)
	}
	if s.shards.Empty() {
		s.tx.OnChange = nil
		return nil
	}
	w := &s.srv.blocked
	if cmd.Is(commands.Write) || cmd.Is(commands.LocksQueue) {
		s.locked = s.lockToServe()
	} else {
		s.locked = s.tx.Lock(&s.shards, s.ctx.Now)
	}
	if !s.locked {
		return s.srv.scripts.busyError()
	}
	if err := s.admission.checkAgain(cmd, argv); err != nil {
		s.release()
		return err
	}
	s.beginTx(cmd)
	s.tx.OnChange = nil
	if w.Any() || s.srv.watches.any() || s.srv.tracking.Any() {
		s.tx.OnChange = s.changed
	}
	return nil
}

// checkAgain is check for what may have changed since, when the keys are locked.
func (a *admission) checkAgain(cmd *commands.Command, argv [][]byte) error {
	if err := a.checkLocked(cmd, argv); err != nil {
		return err
	}
	if a.paused(cmd, argv) {
		return errPaused
	}
	return nil
}

// lockToServe takes the shards of a call that may change its keys. If clients wait
// for one of them, the shards that they need are locked too, so that they are served
// before any other client can see the key. The set is extended first, and checked
// again once no client can start to wait for these keys. It returns false if a script
// has one of the shards for too long.
func (s *session) lockToServe() bool {
	w := &s.srv.blocked
	for {
		if w.Any() {
			w.Widen(&s.shards, s.eachKey)
		}
		if !s.tx.Lock(&s.shards, s.ctx.Now) {
			return false
		}
		if !w.Any() {
			return true
		}
		need := s.shards
		if w.Widen(&need, s.eachKey); s.shards.Contains(need) {
			return true
		}
		s.tx.Unlock()
		s.shards = need
	}
}

// beginTx tells the transaction, which holds its locks, what the call wants.
func (s *session) beginTx(cmd *commands.Command) {
	s.tx.Select(s.DB())
	s.tx.NoTouch = s.Has(commands.ClientNoTouch)
	if s.tx.KeepsExpired() && !s.applies && s.admission.effects(cmd)&commands.Write != 0 {
		s.tx.DropExpired() // a replica that clients may write to
	}
	importing := s.srv.importing.Load()
	if importing && s.Has(commands.ClientImports) {
		s.tx.SeeExpired() // until the locks of the next call
	}
	s.tx.KeepExpired = (importing || s.srv.pause.Active()) && s.admission.effects(cmd)&(commands.Write|commands.MayReplicate) == 0
}

// release unlocks the shards, and leaves the gate of scripts.
func (s *session) release() {
	if s.locked {
		s.unlock()
	}
	if s.scripting.inside {
		s.scripting.inside = false
		s.srv.scripts.leave()
	}
}

// unlock unlocks the shards, and stays in the gate of scripts.
func (s *session) unlock() {
	s.locked = false
	s.tx.Unlock()
	s.srv.tracking.Unlocked(&s.cache)
}

// commit seals what changed, and serves the clients that waited for it.
func (s *session) commit() {
	if !s.locked {
		return
	}
	lsn := s.tx.Commit()
	s.scripting.former = nil
	if lsn > 0 {
		s.durability.change(lsn)
		s.durability.big = s.durability.big || s.tx.Heavy()
		s.durability.large = s.durability.large || s.tx.Large()
	}
	if s.sharing.kept {
		s.sharing.kept = false
		s.srv.shared.changed.Store(lsn)
	}
	s.messaging.announceKept(lsn)
	for i := 0; i < len(s.ready); i++ {
		s.serve(s.ready[i])
	}
	s.ready = s.ready[:0]
}

// meet notes the records that the reply depends on and has to wait for. While the
// disk cannot be written, that wait could be endless: a reply that depends on
// changes that are not on the device becomes an error. A follower of a group shows
// what is committed, and waits for nothing.
func (s *session) meet(cmd *commands.Command) error {
	if !s.tx.Writable() {
		return nil
	}
	seen := s.tx.Seen()
	if seen == 0 || s.waiting != nil || s.srv.store.DeleteError() == nil || s.srv.store.Commits().Confirmed(seen) {
		s.durability.read(seen)
		return nil
	}
	s.ctx.Reply.Rewind(s.began)
	s.fail(cmd, commands.ErrUnsynced)
	return commands.ErrUnsynced
}

// invoke runs the handler, and writes acts of administration to the audit log.
func (s *session) invoke(cmd *commands.Command, argv [][]byte) error {
	if a := &s.srv.audits; a.wants(cmd) {
		return a.invoke(s, cmd, argv)
	}
	return s.handle(cmd, argv)
}

// handle runs the handler. The reply is rewound if it fails, so that an error is the
// whole reply.
func (s *session) handle(cmd *commands.Command, argv [][]byte) error {
	s.totals.about(cmd, &s.srv.stats)
	c := &s.ctx
	c.Command = cmd
	first := 1
	if cmd.Parent() != nil {
		first = 2
	}
	c.Args.Reset(argv, first)
	mark := c.Reply.Len()
	err := cmd.Run(c)
	s.srv.tracking.ChangedAll(&s.cache)
	if s.Has(commands.ClientTracking) && cmd.Is(commands.ReadOnly) {
		s.srv.tracking.Read(&s.cache, cmd, argv)
	}
	if err == nil && s.locked {
		err = s.tx.Err() // a key that cannot be read is not a missing one
	}
	if err != nil {
		c.Parked()
		c.Reply.Rewind(mark)
		s.fail(cmd, err)
		return err
	}
	if w := c.Parked(); w != nil {
		if len(w.Keys) > 0 && !s.tx.Writable() { // nothing would wake it
			c.Reply.Rewind(mark)
			err := s.admission.needsLeader(cmd)
			s.fail(cmd, err)
			return err
		}
		s.block(cmd, argv, w)
	}
	return nil
}

// fail writes an error and counts it.
func (s *session) fail(cmd *commands.Command, err error) {
	text, known := commands.Text(err)
	if !known {
		s.srv.logf(logWarning, "%s failed: %v", cmd.FullName(), err)
	}
	var counted commands.Counted
	if !errors.As(err, &counted) {
		s.srv.stats.countError(string(text))
	}
	s.ctx.Reply.Error(text)
}

// changed is called by the transaction when a key was changed, under its lock.
func (s *session) changed(db int, key []byte) {
	s.srv.watches.touch(db, key)
	if s.srv.tracking.Any() {
		s.srv.tracking.Changed(&s.cache, key)
	}
	if s.srv.blocked.Wanted(db, key) {
		s.isReady(db, key)
	}
}

// isReady notes that the clients that wait for a key are to be served, unless that is
// noted or happening already.
func (s *session) isReady(db int, key []byte) {
	if v := s.serving; v != nil && v.DB == db && v.Name == string(key) {
		return
	}
	if n := len(s.ready); n > 0 && s.ready[n-1].DB == db && s.ready[n-1].Name == string(key) {
		return
	}
	s.ready = append(s.ready, blocking.Key{DB: db, Name: string(key)})
}

// account counts the call, which began at start in this turn, and keeps it if it
// was slow.
func (s *session) account(cmd *commands.Command, argv [][]byte, start time.Duration, err error) {
	s.turn.elapsed = s.srv.clock.Since(s.turn.began)
	took := s.turn.elapsed - start
	if s.waiting == nil { // else it is counted when the wait ends
		s.totals.called(cmd, took, err != nil, &s.srv.stats)
		if s.srv.latency.wants(took) {
			s.srv.latency.add(commandEvent(cmd), s.turn.at(start), took)
		}
		if s.srv.logs[admin.SlowCalls].wants(int64(took)) && !cmd.Is(commands.SkipSlowlog) {
			if s.abridged == nil {
				argv = s.srv.settings().abridge(cmd.Shown(argv))
			}
			s.srv.addSlow(s, cmd, argv, s.turn.at(start), took)
		}
	}
	s.totals.commands++
	if s.ctx.CloseAfter {
		s.closing = true
		s.messaging.subs.EndAll(&s.srv.broker) // before the reply, after which nobody expects to find them
	}
}

func (o *output) hide(mark int) {
	s := o.s
	if s.Has(commands.ClientReplyOff) {
		s.ctx.Reply.Rewind(mark)
		return
	}
	// SKIP holds for the command after the one that asked for it.
	if o.skipNext {
		o.skipNext = false
		return
	}
	s.Clear(commands.ClientReplySkip)
	s.ctx.Reply.Rewind(mark)
}
