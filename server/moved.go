package server

import (
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/structures/slots"
)

// Slots of a move can have gone when its turn comes: moves are made one after the other, and others can be asked for, or
// the same ones again, while they wait.

// skipMoved drops slots of a job that have gone where they are to go: it was asked for twice, as by a REBALANCE that
// was repeated before the moves of the first one were over.
func (srv *Server) skipMoved(j *moveJob) {
	here, there := srv.sides(j)
	if here == nil {
		return
	}
	if gone := j.left.Without(here).Both(there); gone.Len() > 0 {
		j.left = j.left.Without(gone)
		srv.note(j, func(m *cluster.Move) { m.Moved = m.Slots - j.left.Len() })
	}
}

// hopeless returns why a job cannot be done by waiting, which the moves behind it would do too: slots of it have gone to a
// third group, or the one that is to get them is gone. It is nil for others.
func (srv *Server) hopeless(j *moveJob) error {
	switch here, there := srv.sides(j); {
	case here == nil:
		return nil
	case there == nil:
		return errMoveGone
	case j.left.Without(here).Without(there).Len() > 0:
		return errMoveNotOwn
	}
	return nil
}

// sides returns the slots of this group and those of the one to which a job moves slots: none if this server does not lead, and
// there is nil for a group that is not in the cluster.
func (srv *Server) sides(j *moveJob) (here, there *slots.Set) {
	m := host{srv}.Membership()
	if m == nil || !m.Leads {
		return nil, nil
	}
	if to := m.Other(j.Shard); to != nil {
		there = to.Slots.Union(nil)
	}
	return m.Shards()[0].Slots, there
}

// arrived counts the slots of a job that are where they are to go, as far as this server knows, which may be a follower.
func (srv *Server) arrived(j *moveJob) int {
	if m := (host{srv}).Membership(); m != nil {
		if to := m.Other(j.Shard); to != nil {
			return j.left.Both(to.Slots).Len()
		}
	}
	return 0
}
