package cluster

import (
	"context"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Membership is a server that can leave its group while it runs. The calls return when it has. Errors are
// for clients, without a code.
type Membership interface {
	// Replicate has this server, a group by itself without slots and keys or a replica, become a member of the group
	// that the one with an address leads.
	Replicate(ctx context.Context, master string) error
	// Reset makes this server a group by itself, without slots, that knows no other one.
	Reset(ctx context.Context) error
	// Forget removes the replica with an ID from its group. known is false if no member has or had the ID.
	Forget(ctx context.Context, id string) (known bool, err error)
}

// Dismisser is a server that removes others from the cluster.
type Dismisser interface {
	// Dismiss makes the server with an ID and an address, which is a group by itself without slots and keys, forget the cluster. It
	// returns when this server has heard of that. Errors are for clients, without a code.
	Dismiss(ctx context.Context, id, address string) error
	// DismissAlone is Dismiss for a server that leads others, if it is alone within a minute. It returns at once.
	DismissAlone(id string)
}

// replicate makes an empty server, or a replica of another one, a member of the group of a master.
func replicate(c *commands.Ctx, n node) error {
	own := n.m.Shards()[0]
	single := len(n.m.Members) == 1
	master := single || n.m.Leads
	switch {
	case n.myself:
		return errReplicateSelf
	case !n.leads:
		return errNotAMaster
	case n.own: // which it replicates
		if err := c.Args.Done(); err != nil {
			return err
		}
		return ok(c)
	case master && own.Slots.Len() > 0:
		return errNotEmpty
	}
	return change(c, func(ctx context.Context, to Node) error {
		if single {
			if err := refuseKeys(ctx, to, errNotEmpty); err != nil {
				return err
			}
		}
		return to.Replicate(ctx, n.Address())
	})
}

// reset makes a server a group by itself. HARD does no more than SOFT: the ID of a node follows from its group,
// and epochs from leaderships.
func reset(c *commands.Ctx, m *commands.Membership) error {
	if c.Args.More() && !c.Args.Is("HARD") && !c.Args.Is("SOFT") {
		c.Args.Syntax()
	}
	master := m.Led && m.Leader == m.Self && !m.Gone
	return change(c, func(ctx context.Context, to Node) error {
		if master {
			if err := refuseKeys(ctx, to, errResetKeys); err != nil {
				return err
			}
		}
		return to.Reset(ctx)
	})
}

// refuseKeys returns an error if the server has a key.
func refuseKeys(ctx context.Context, of Node, refusal error) error {
	var found error
	err := of.ScanSlots(ctx, EveryDB, slots.All(), func([]byte) bool {
		found = refusal
		return false
	})
	if err != nil {
		return err
	}
	return found
}

// forget removes a replica from its group, and a master without slots from the cluster, after its replicas, whichever node is asked. The nodes
// that are asked next do not know it any more, which is no error: tools ask all of them.
func forget(c *commands.Ctx, m *commands.Membership) error {
	id := c.Args.String()
	found, known := find(m, id)
	switch {
	case !known:
	case found.myself:
		return errForgetSelf
	case found.leads && found.own:
		return errForgetMaster
	case found.leads && found.shard.Slots.Len() > 0:
		return errForgetSlots([]byte(id))
	case found.leads && len(found.shard.Members) > 1:
		if err := c.Args.Done(); err != nil {
			return err
		}
		c.Host.(Dismisser).DismissAlone(id)
		return ok(c)
	case found.leads:
		d := c.Host.(Dismisser)
		return change(c, func(ctx context.Context, _ Node) error { return d.Dismiss(ctx, id, found.Address()) })
	}
	return change(c, func(ctx context.Context, to Node) error {
		known, err := to.Forget(ctx, id)
		if err == nil && !known {
			err = errUnknownNode([]byte(id))
		}
		return err
	})
}
