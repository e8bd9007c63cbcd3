package server

import (
	"bytes"
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/slots"
)

// Clients of Redis Cluster. A group is a shard that has some or all of the slots: its leader is the master
// and the followers are the replicas. The keys of a call have to be of one slot. A call for a
// slot of another group is sent to the leader of that, and one to a follower to its leader, unless it
// reads and the client has sent READONLY.

// slotted reports whether clients see the server as a node of a Redis Cluster. One that is
// alone pays for the first comparison only.
func (srv *Server) slotted() bool { return srv.opts.Group != nil && srv.settings().limits.Slots }

// redirection is the error of a call that belongs elsewhere. A transaction that it ends has
// this error and not one of its own, so that clients follow it.
type redirection struct{ commands.WireError }

func (r redirection) Unwrap() error { return r.WireError }

// redirects reports whether an error sends the client elsewhere.
func redirects(err error) bool {
	var r redirection
	return errors.As(err, &r)
}

var (
	errCrossSlot   = redirection{commands.ErrCrossSlot}
	errClusterDown = redirection{commands.ErrClusterDown}
	errNotServed   = redirection{commands.ErrSlotNotServed}
	errReadsOnly   = redirection{commands.ErrClusterReadsOnly}
	errTryAgain    = redirection{commands.ErrSlotsMove}
)

// slotOf returns the slot of the keys and shard channels of a call, those of all queued
// calls if it is EXEC: NoSlot if there are none, an error if they are of several slots.
func (a *admission) slotOf(cmd *commands.Command, argv [][]byte) (slot int, err error) {
	s := a.s
	slot = commands.NoSlot
	var first []byte
	see := func(key []byte) {
		switch {
		case err != nil || first != nil && bytes.Equal(first, key):
		case slot == commands.NoSlot:
			first, slot = key, commands.KeySlot(key)
		case commands.KeySlot(key) != slot:
			err = errCrossSlot
		}
	}
	if cmd.Is(commands.LocksQueue) {
		s.transaction.eachKey(see)
		return slot, err
	}
	s.keys = cmd.AppendKeys(s.keys[:0], argv)
	for _, k := range s.keys {
		see(argv[k.Index])
	}
	return slot, err
}

// checkSlots refuses a call whose keys are of several slots, or that belongs to another member.
// One without keys is not judged: keyed is false.
func (a *admission) checkSlots(cmd *commands.Command, argv [][]byte) (keyed bool, err error) {
	s := a.s
	a.slot = commands.NoSlot
	queued := cmd.Is(commands.LocksQueue)
	leads := s.srv.store.Member().Leads()
	own, covered := s.srv.opts.Group.Shard()
	frozen := s.srv.fence.Of()
	a.own, a.frozen = own, frozen
	if leads && a.empties(cmd) {
		if err := a.checkEmptying(cmd, own); err != nil {
			return true, err
		}
	}
	if len(cmd.Keys) == 0 && !queued {
		return false, nil
	}
	if err := a.checkDB(); err != nil {
		return true, err
	}
	if own == nil && frozen == nil && leads && !queued && !cmd.Is(commands.RunsScripts) && cmd.AtMostOneKey(argv) {
		return true, nil
	}
	slot, err := a.slotOf(cmd, argv)
	if err != nil || slot == commands.NoSlot {
		return err != nil, err
	}
	a.slot = slot
	if leads && a.waitsFor(frozen, own, slot, cmd, argv) {
		if s.srv.fence.Hold(s) {
			return true, errPaused
		}
		return a.checkSlots(cmd, argv)
	}
	if err := a.checkShard(own, covered, a.effects(cmd), slot); err != nil || leads {
		return true, err
	}
	return true, a.redirect(a.effects(cmd), slot)
}

// checkDB refuses calls for keys of a database that was selected before the server became a member of another group, some of whose
// members may be of a version that does not look there.
func (a *admission) checkDB() error {
	if a.s.DB() == 0 {
		return nil
	}
	return a.s.tx.Require(persistence.LevelDatabases)
}

// checkShard refuses a call for a slot of another group, and one while not all slots can be used,
// if that is asked for. One for a slot that comes to this group waits for it. own is nil if the group has all slots.
func (a *admission) checkShard(own *slots.Set, covered bool, effects commands.Flag, slot int) error {
	switch {
	case own == nil, a.s.srv.opts.Group.Gone():
		return nil // which redirect tells
	case !covered && a.s.srv.refusesUncovered(effects):
		return errClusterDown
	}
	if own.Has(slot) {
		return nil
	}
	if importing, _, _ := a.s.srv.opts.Group.Passing(); importing.Has(slot) {
		if a.s.srv.incoming.Hold(a.s, importing) {
			return errPaused
		}
		return errTryAgain
	}
	return a.s.srv.elsewhere(slot)
}

// refusesUncovered reports whether calls are refused while not all slots can be used.
func (srv *Server) refusesUncovered(effects commands.Flag) bool {
	set := srv.settings().conf
	switch {
	case !set.ClusterFullCoverage,
		effects&commands.PubSub != 0 && set.ClusterShardChannelsWhenDown,
		effects&(commands.Write|commands.PubSub) == 0 && set.ClusterReadsWhenDown:
		return false
	}
	return true
}

// elsewhere is the error of a call for a slot that is not this group's.
func (srv *Server) elsewhere(slot int) redirection {
	m := host{srv}.Membership()
	if m == nil {
		return errClusterDown
	}
	switch owner := m.Owner(slot); {
	case owner == nil:
		return errNotServed
	case owner.Leader < 0:
		return errClusterDown
	default:
		return redirection{commands.ErrMoved(slot, &owner.Members[owner.Leader], srv.settings().conf.ClusterEndpoint)}
	}
}

// redirect decides what a follower does with a call for a slot: nil if it serves it.
func (a *admission) redirect(effects commands.Flag, slot int) error {
	s := a.s
	g, set, readOnly := s.srv.opts.Group, s.srv.settings().conf, s.Has(commands.ClientReadOnly)
	switch {
	case g.Gone():
		return commands.ErrLeftGroup
	case effects&commands.PubSub != 0: // each member has the messages of all
		if set.ClusterShardChannelsWhenDown || g.Fresh(false) {
			return nil
		}
		return errClusterDown
	case readOnly && effects&(commands.Write|commands.LeaderOnly) == 0:
		if set.ClusterReadsWhenDown || g.Fresh(true) {
			return nil
		}
		return errClusterDown
	}
	m := s.Membership()
	switch known := m != nil && m.Led && m.Leader != m.Self; {
	case known && g.Fresh(false):
		return redirection{commands.ErrMoved(slot, &m.Members[m.Leader], set.ClusterEndpoint)}
	case set.ClusterReadsWhenDown && effects&commands.Write != 0:
		return errReadsOnly
	}
	return errClusterDown
}

// checkSlotsLocked is checkSlots under the locks, at a member that does not lead: what was
// admitted may have been so by a leader.
func (a *admission) checkSlotsLocked(cmd *commands.Command) error {
	keyed := len(a.s.keys) > 0
	if cmd.Is(commands.LocksQueue) {
		a.s.transaction.eachKey(func([]byte) { keyed = true })
	}
	effects := a.effects(cmd)
	if messages := effects&commands.PubSub != 0 && effects&(commands.Write|commands.ReadOnly) == 0; keyed && !messages && !a.s.Has(commands.ClientReadOnly) {
		return errClusterDown
	}
	return nil
}

// admitSlots refuses a call of a script. The keys of the whole script are of one slot,
// if that is declared or the script has a first line that does not allow others.
func (x *scripting) admitSlots(cmd *commands.Command, argv [][]byte) error {
	s := x.s
	slot, err := s.admission.slotOf(cmd, argv)
	if err != nil {
		return errScriptCrossSlot(cmd)
	}
	own, _ := s.srv.opts.Group.Shard()
	frozen := s.srv.fence.Of()
	s.admission.own, s.admission.frozen = own, frozen
	if s.admission.empties(cmd) && (frozen != nil || s.admission.checkEmptying(cmd, own) != nil) {
		return errScriptMoves
	}
	if slot == commands.NoSlot {
		return nil
	}
	if err := s.admission.checkDB(); err != nil {
		return err
	}
	switch {
	case own != nil && !own.Has(slot):
		return errScriptNotLocal
	case frozen.Has(slot) && cmd.Is(commands.Write): // the locks of a script keep it from waiting
		return errScriptMoves
	}
	if !s.srv.store.Member().Leads() {
		switch err := s.admission.redirect(cmd.Flags, slot); err {
		case nil:
		case errClusterDown:
			return errScriptDown
		default: // a command that writes was refused before
			return errScriptNotLocal
		}
	}
	if x.limits.crossSlot {
		return nil
	}
	if s.admission.slot != commands.NoSlot && s.admission.slot != slot {
		return errScriptSlots
	}
	s.admission.slot = slot
	return nil
}
