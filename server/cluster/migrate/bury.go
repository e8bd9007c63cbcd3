package migrate

import (
	"context"
	"slices"

	"github.com/vigildb/vigil/server/cluster/logs"
	"github.com/vigildb/vigil/server/cluster/raftnode"
	"github.com/vigildb/vigil/server/cluster/topology"
	"github.com/vigildb/vigil/structures/slots"
)

// A group whose machines are lost for good is removed by hand (VIGIL.CLUSTER BURY): a tombstone says that its slots are free.
// Which groups are removed follows from the tables, as the division of the slots does, and is the same at all servers
// that have the same tables. A group that comes back hears of it, and serves nothing. Only slots that are given to it by
// hand revive it: an earlier state, or an assignment of its slots, does not. ADR 0073.

// Bury writes a tombstone for another group, once the group that this server leads has agreed. It returns the slots that are free
// now.
func (o *Slots) Bury(ctx context.Context, g *topology.Group) (freed *slots.Set, err error) {
	before := o.cluster.OwnedBy(g.Name)
	at := uint64(0)
	if err := o.agree(ctx, func(m topology.Assignment) (topology.Assignment, error) {
		b, err := o.cluster.MayBury(m.Tombstones, g.Name)
		if err == nil {
			err = o.mayHaveSome(m)
		}
		if err != nil {
			return topology.Assignment{}, err
		}
		c := m
		if c.Slots == nil { // the group has never had a slot
			c.Slots = new(slots.Set)
		}
		at, c.Tombstones = b.At, topology.WithTombstone(c.Tombstones, b)
		return c, nil
	}, func(m topology.Assignment) bool { return at > 0 && topology.TombstoneOf(m.Tombstones, g.Name) >= at }); err != nil {
		return nil, err
	}
	o.cluster.Look()
	o.cluster.Broadcast()
	return before.Without(o.cluster.Owned()), nil
}

// adopt copies tombstones that other groups have written to the log of this group: they count as long as one group has
// them. Only the leader does something, unless its group has data of all slots.
func (o *Slots) adopt() {
	m := o.now()
	if !o.leads() || !m.Assigned() || len(o.cluster.Unheard(m.Tombstones)) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(o.opts.Done, topology.ExchangeTimeout)
	defer cancel()
	var more []topology.Tombstone
	_, err := o.opts.Group.Agree(ctx, topology.Change{Next: func(_ uint64, now topology.Assignment) (topology.Assignment, error) {
		more = o.cluster.Unheard(now.Tombstones)
		for _, b := range more {
			now.Tombstones = topology.WithTombstone(now.Tombstones, b)
		}
		return now, nil
	}, Done: func(now topology.Assignment) bool {
		return !slices.ContainsFunc(more, func(b topology.Tombstone) bool { return topology.TombstoneOf(now.Tombstones, b.Group) < b.At })
	}})
	if err != nil && !raftnode.Transient(err) {
		o.complain("the log does not say yet which groups are removed: %v", err)
	}
}

// takeBack claims slots again that were given to a group which was removed before it took them. Their keys are still here.
func (o *Slots) takeBack(ctx context.Context, m topology.Move) error {
	err := o.agree(ctx, func(now topology.Assignment) (topology.Assignment, error) {
		c := now
		if topology.MoveOf(c.Given, m.Attempt) != nil {
			if o.cluster.TookBefore(m) { // which was heard a moment ago
				return topology.Assignment{}, retryable{errBusyHere}
			}
			c.Slots, c.Given = c.Slots.Union(m.Slots), topology.WithoutMove(c.Given, m.Attempt)
		}
		return c, nil
	}, func(now topology.Assignment) bool { return topology.MoveOf(now.Given, m.Attempt) == nil })
	if err != nil {
		return err
	}
	o.cluster.Broadcast()
	o.opts.Logf(logs.Notice, "the group has the slots %s again: %s, to which it gave them, was removed and had not taken them", m.Slots, o.cluster.Label(m.Group))
	return nil
}
