package migrate

import (
	"errors"
	"time"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

var errHeldStill = errors.New("cluster: slots are held still for a snapshot of the cluster")

// HoldStill has no move of slots from or to this group begin for a while. It returns which slots the group has and the entry of its
// log that says so, if none is on its way: whoever sees the same two twice knows that none was in between. The error is one of
// this moment, such as that of slots that move; a leader that may have a successor waits until it knows.
func (o *Slots) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	o.mu.Lock()
	o.still = max(o.still, o.opts.Now()+d)
	busy := o.leaving != nil
	o.mu.Unlock()
	index, now, err := o.opts.Group.Settled() // a claim that is proposed may be in a snapshot
	switch {
	case err != nil:
		return 0, nil, err
	case busy, now.Moving():
		return 0, nil, errSlotsMove
	case o.cluster.Lies(o.cluster.Name()):
		return 0, nil, topology.ErrSelfLies
	}
	o.cluster.Look()
	return index, o.cluster.Division().Slots, nil
}

// heldStill reports whether no move may begin now.
func (o *Slots) heldStill() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opts.Now() < o.still
}
