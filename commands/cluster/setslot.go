package cluster

import (
	"context"

	"github.com/vigildb/vigil/commands"
)

// Redis's tools move a slot by a protocol of several calls (redis-cli --cluster reshard and rebalance): the master that is to get it is
// told IMPORTING, the one that has it MIGRATING, in any order, and sends clients on from then on; keys go one by one, as GETKEYSINSLOT lists
// them; in the end all masters are told by NODE who has the slot. Here the slot moves as a whole, when MIGRATING comes: GETKEYSINSLOT lists
// nothing any more then, and the other calls find it done.

// setSlotArgs is how many arguments an action has.
var setSlotArgs = map[string]int{"STABLE": 0, "IMPORTING": 1, "MIGRATING": 1, "NODE": 1}

// setSlot is CLUSTER SETSLOT slot <IMPORTING id | MIGRATING id | NODE id | STABLE>.
func setSlot(c *commands.Ctx, m *commands.Membership) error {
	if !m.Leads {
		return errSetSlotMaster
	}
	slot := slotArg(c)
	if err := c.Args.Err(); err != nil {
		return err
	}
	action := c.Args.Word()
	if n, known := setSlotArgs[action]; !known || c.Args.Left() != n {
		return errSetSlotAction
	}
	switch {
	case action == "STABLE":
		return ok(c)
	case action == "MIGRATING" && !m.Shards()[0].Slots.Has(slot):
		return errSlotNotOwned(slot)
	case action == "NODE":
		return setOwner(c, m, slot)
	}
	id := c.Args.Bytes()
	to, err := setSlotMaster(m, id, errNoSuchNode(id))
	switch {
	case err != nil:
		return err
	case action == "IMPORTING":
		return ok(c)
	case to.own:
		return errMoveToSelf
	}
	return moveNow(c, slot, to)
}

// setOwner is NODE. A slot that is not that node's becomes so if this server has it, with its keys, where Redis refuses the
// call, or if nobody has it. Other servers wait until they have heard of that.
func setOwner(c *commands.Ctx, m *commands.Membership, slot int) error {
	id := c.Args.Bytes()
	to, err := setSlotMaster(m, id, errUnknownNode(id))
	switch {
	case err != nil:
		return err
	case to.shard.Slots.Has(slot):
		return ok(c)
	case m.Shards()[0].Slots.Has(slot):
		return moveNow(c, slot, to)
	case to.own && m.Owner(slot) == nil:
		return change(c, func(ctx context.Context, node Node) error { return node.TakeSlots(ctx, only(int64(slot))) })
	}
	return change(c, func(ctx context.Context, node Node) error { return node.AwaitOwner(ctx, slot, to.ID) })
}

func moveNow(c *commands.Ctx, slot int, to node) error {
	return change(c, func(ctx context.Context, from Node) error {
		return from.MoveNow(ctx, Destination{Shard: to.shard.ID, Node: to.ID, Slots: only(int64(slot))})
	})
}

// setSlotMaster returns the master with an ID, or an error: unknown if there is no such node.
func setSlotMaster(m *commands.Membership, id []byte, unknown error) (node, error) {
	n, known := find(m, string(id))
	switch {
	case !known:
		return n, unknown
	case !n.leads:
		return n, errTargetNotMaster
	}
	return n, nil
}
