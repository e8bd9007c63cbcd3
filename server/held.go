package server

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/commands/script"
	"github.com/vigildb/vigil/structures/slots"
)

// ClientPause holds commands back until a time, or ends the pause.
func (h host) ClientPause(mode conn.PauseMode, until int64) { h.srv.pause.Set(mode, until) }

// paused reports whether a pause holds the call back. The session is woken later, then.
func (a *admission) paused(cmd *commands.Command, argv [][]byte) bool {
	s := a.s
	mode := s.srv.pause.Mode()
	return mode != conn.PauseNone && !s.access.observer && !s.applies && !a.writesNothing(cmd, argv, mode) && s.srv.pause.Hold(s)
}

// writesNothing reports that a pause of writes lets the call through: neither
// it nor, for EXEC, any queued call has effects.
func (a *admission) writesNothing(cmd *commands.Command, argv [][]byte, mode conn.PauseMode) bool {
	if mode == conn.PauseAll {
		return false
	}
	if a.s.Has(commands.ClientMulti) && !cmd.Is(commands.LocksQueue) {
		return true
	}
	if !cmd.Is(commands.LocksQueue) {
		return a.quiet(cmd, argv)
	}
	for _, q := range a.s.transaction.queue {
		if !a.quiet(q.cmd, q.argv) {
			return false
		}
	}
	return true
}

// quiet reports whether a call has no effects.
func (a *admission) quiet(cmd *commands.Command, argv [][]byte) bool {
	return cmd.Flags&(commands.Write|commands.MayReplicate) == 0 ||
		cmd.Is(commands.RunsScripts) && script.Quiet(a.s.srv.scripts.engine, cmd, argv)
}

// empties reports whether a call, or one of the queued calls that EXEC runs, removes keys of all slots.
func (a *admission) empties(cmd *commands.Command) bool {
	const whole = commands.Write | commands.Keyspace
	if !cmd.Is(commands.LocksQueue) {
		return cmd.Flags&whole == whole && cmd.Parent() == nil
	}
	for _, q := range a.s.transaction.queue {
		if a.empties(q.cmd) {
			return true
		}
	}
	return false
}

// checkEmptying decides on a call that removes keys of all slots. It must not remove keys that another server
// has copied already, nor keys that have come here and are not this group's yet.
func (a *admission) checkEmptying(cmd *commands.Command, own *slots.Set) error {
	s := a.s
	if a.queues(cmd) {
		return nil
	}
	if s.srv.fence.Of() != nil && s.srv.fence.Hold(s) {
		return errPaused
	}
	if _, expected, _ := s.srv.opts.Group.Passing(); own != nil && expected.Without(own).Len() > 0 {
		return errTryAgain
	}
	return nil
}

// queues reports whether a call is only queued now.
func (a *admission) queues(cmd *commands.Command) bool {
	return a.s.Has(commands.ClientMulti) && !cmd.Is(commands.NotQueued)
}

// waitsFor reports whether a fence holds a call for a slot back: one that changes something, and any if the group has given
// the slot away, as the other one may not have it yet.
func (a *admission) waitsFor(frozen, own *slots.Set, slot int, cmd *commands.Command, argv [][]byte) bool {
	return frozen.Has(slot) && (own != nil && !own.Has(slot) || !a.writesNothing(cmd, argv, conn.PauseWrite))
}

// recheck is checkSlots under the locks of a call: what was admitted while slots were divided in another way, or
// while others were frozen, is admitted anew.
func (a *admission) recheck(cmd *commands.Command, argv [][]byte) error {
	s := a.s
	own, _ := s.srv.opts.Group.Shard()
	if own == a.own && s.srv.fence.Of() == a.frozen && !a.empties(cmd) {
		return nil
	}
	if s.ctx.InScript {
		return s.scripting.admitSlots(cmd, argv)
	}
	_, err := a.checkSlots(cmd, argv)
	return err
}

// mayChange decides on a change of a key, whose lock is held, that no call of a client makes: whether it has to wait
// for the end of a fence, and whether the key is another group's.
func (srv *Server) mayChange(key []byte) (waits, gone bool) {
	if !srv.slotted() {
		return false, false
	}
	slot := commands.KeySlot(key)
	own, _ := srv.opts.Group.Shard()
	return srv.fence.Of().Has(slot), own != nil && !own.Has(slot)
}
