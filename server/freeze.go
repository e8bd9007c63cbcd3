package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
)

// freeze is the last part of a move of slots: calls that would change their keys are held back, as by CLIENT PAUSE,
// until another group has the slots or the move is given up.
type freeze struct {
	of atomic.Pointer[slots.Set] // nil in the usual case; changed under mu

	mu   sync.Mutex
	held held   // guarded by mu
	ends uint64 // of leaderships of this server; guarded by mu
	kept bool   // until the leadership ends; guarded by mu
}

// frozen are the slots whose keys do not change now, nil for none.
func (srv *Server) frozen() *slots.Set { return srv.freeze.of.Load() }

// begin freezes slots. It returns what is to be given to end.
func (f *freeze) begin(of *slots.Set) (ends uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of.Store(of)
	return f.ends
}

// end ends the freeze. If it is not decided whose the slots are, it goes on until the leadership ends in which it
// began: whoever leads next knows.
func (f *freeze) end(began uint64, decided bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept = !decided && f.ends == began; !f.kept {
		f.thawLocked()
	}
}

// follow notes that the leadership has ended.
func (f *freeze) follow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ends++; f.kept {
		f.kept = false
		f.thawLocked()
	}
}

func (f *freeze) thawLocked() {
	f.of.Store(nil)
	f.held.wake()
}

// holds registers a client whose call is held back, to be woken later. It returns false if there is no freeze any more.
func (f *freeze) holds(s *session) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of.Load() == nil {
		return false
	}
	f.held.add(s)
	return true
}

// forget removes a client that leaves.
func (f *freeze) forget(s *session) {
	if f.of.Load() == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.held, s)
}

// empties reports whether a call, or one of the queued calls that EXEC runs, removes keys of all slots.
func (s *session) empties(cmd *commands.Command) bool {
	const whole = commands.Write | commands.Keyspace
	if !cmd.Is(commands.LocksQueue) {
		return cmd.Flags&whole == whole && cmd.Parent() == nil
	}
	for _, q := range s.txn.queue {
		if s.empties(q.cmd) {
			return true
		}
	}
	return false
}

// admitEmptying decides on a call that removes keys of all slots. It must not remove keys that another server
// has copied already, nor keys that have come here and are not this group's yet.
func (s *session) admitEmptying(cmd *commands.Command, own *slots.Set) error {
	if s.queues(cmd) {
		return nil
	}
	if s.srv.frozen() != nil && s.srv.freeze.holds(s) {
		return errPaused
	}
	if _, expected, _ := s.srv.opts.Group.Passing(); own != nil && expected.Without(own).Len() > 0 {
		return errTryAgain
	}
	return nil
}

// queues reports whether a call is only queued now.
func (s *session) queues(cmd *commands.Command) bool {
	return s.Has(commands.ClientMulti) && !cmd.Is(commands.NotQueued)
}

// waitsFor reports whether a freeze holds a call for a slot back: one that changes something, and any if the group has given
// the slot away, as the other one may not have it yet.
func (s *session) waitsFor(frozen, own *slots.Set, slot int, cmd *commands.Command, argv [][]byte) bool {
	return frozen.Has(slot) && (own != nil && !own.Has(slot) || !s.writesNothing(cmd, argv, conn.PauseWrite))
}

// readmit is admitSlots under the locks of a call: what was admitted while slots were divided in another way, or
// while others were frozen, is admitted anew.
func (s *session) readmit(cmd *commands.Command, argv [][]byte) error {
	own, _ := s.srv.opts.Group.Shard()
	if own == s.script.own && s.srv.frozen() == s.script.frozen && !s.empties(cmd) {
		return nil
	}
	if s.ctx.InScript {
		return s.admitSlotsScripted(cmd, argv)
	}
	_, err := s.admitSlots(cmd, argv)
	return err
}

// settleDown waits until no call is under way that began before the slots that are frozen now were. scripts says that
// scripts count, which may go on to keys of any slot.
func (srv *Server) settleDown(ctx context.Context, scripts bool) error {
	for scripts {
		if srv.enterGate() == nil {
			srv.leaveGate()
			break
		}
		srv.waitABit()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	tx := srv.store.NewTx()
	for shard := range uint64(persistence.ShardCount) {
		var set persistence.Shards
		set.Add(shard << 56)
		for !tx.Lock(&set, srv.clock.Now().UnixMilli()) {
			srv.waitABit()
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		tx.Unlock()
	}
	return ctx.Err()
}

// mayChange decides on a change of a key, whose lock is held, that no call of a client makes: whether it has to wait
// for the end of a freeze, and whether the key is another group's.
func (srv *Server) mayChange(key []byte) (waits, gone bool) {
	if !srv.slotted() {
		return false, false
	}
	slot := commands.KeySlot(key)
	own, _ := srv.opts.Group.Shard()
	return srv.frozen().Has(slot), own != nil && !own.Has(slot)
}
