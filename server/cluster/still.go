package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// AskServer has the server at an address of clients, which is not this one, respond to a request, within some 15 seconds.
func (s *Seat) AskServer(ctx context.Context, address string, request []byte) (reply []byte, err error) {
	n := s.Node()
	err = n.inCluster(func(*raftnode.Runner) error {
		reply, err = n.others.AskServer(ctx, address, request)
		return err
	})
	return reply, err
}

var errHeldStill = errors.New("cluster: slots are held still for a snapshot of the cluster")

// HoldStill has no move of slots from or to this group begin for a while. It returns which slots the group has and the entry of its
// log that says so, if none is on its way: whoever sees the same two twice knows that none was in between. The error is one of
// this moment, such as that of slots that move; a leader that may have a successor waits until it knows.
func (s *Seat) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	n := s.Node()
	err = n.inCluster(func(r *raftnode.Runner) error {
		index, own, err = n.others.holdStill(r, d)
		return err
	})
	return index, own, err
}

func (o *others) holdStill(r *raftnode.Runner, d time.Duration) (index uint64, own *slots.Set, err error) {
	m := &o.moves
	m.mu.Lock()
	m.still = max(m.still, o.n.monotonic()+d)
	busy := m.leaving != nil
	m.mu.Unlock()
	if err := r.WaitHeld(); err != nil {
		return 0, nil, err
	}
	now, err := r.Settled() // a claim that is proposed may be in a snapshot
	switch {
	case err != nil:
		return 0, nil, err
	case busy, now.Moving():
		return 0, nil, errSlotsMove
	case o.Lies(o.n.Name()):
		return 0, nil, topology.ErrSelfLies
	}
	o.Look()
	return now.Index, o.Division().Slots, nil
}

// heldStill reports whether no move may begin now.
func (o *others) heldStill() bool {
	o.moves.mu.Lock()
	defer o.moves.mu.Unlock()
	return o.n.monotonic() < o.moves.still
}
