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

// strayed returns the slots of a job that have gone to a third group. They do not come back by waiting, and the moves behind
// this one would wait too.
func (srv *Server) strayed(j *moveJob) *slots.Set {
	here, there := srv.sides(j)
	if here == nil {
		return nil
	}
	return j.left.Without(here).Without(there)
}

// sides returns the slots of this group and those of the one to which a job moves slots, nil if this server does not lead.
func (srv *Server) sides(j *moveJob) (here, there *slots.Set) {
	m := host{srv}.Membership()
	if m == nil || !m.Leads {
		return nil, nil
	}
	shards := m.Shards()
	for i := range shards[1:] {
		if s := &shards[1+i]; s.ID == j.Shard {
			there = s.Slots
		}
	}
	return shards[0].Slots, there
}
