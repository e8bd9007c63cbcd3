package migrate

import (
	"errors"
	"time"

	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

var errHeldStill = errors.New("cluster: slots are held still for a snapshot of the cluster")

// HoldStill keeps moves of slots from and to this group from beginning for a while. It returns the slots of the group and the
// entry of its log that says so: if both are the same twice, nothing has moved in between. While slots move it is an error, which
// is one of this moment. A leader that may have a successor waits until it knows.
func (o *Slots) HoldStill(d time.Duration) (index uint64, own *slots.Set, err error) {
	o.mu.Lock()
	o.still = max(o.still, o.opts.Now()+d)
	busy := o.leaving != nil
	o.mu.Unlock()
	index, now, err := o.opts.Group.Settled() // an assignment that is proposed may be in a snapshot
	switch {
	case err != nil:
		return 0, nil, err
	case busy, now.Moving():
		return 0, nil, errSlotsMove
	case o.cluster.Removed(o.cluster.Name()):
		return 0, nil, topology.ErrSelfRemoved
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
