package cluster

import (
	"context"
	"math"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// A cluster is formed as that of Redis: servers that are groups by themselves meet, slots are given to
// them, and empty ones become members of the groups of others.

// Changes is a server whose group is one of a cluster. The calls wait until a change is made, or turns out
// to be impossible. Errors are for clients, without a code.
type Changes interface {
	// Meet has the groups that this server knows and those that the one at an address knows know each other.
	Meet(ctx context.Context, address string) error
	// TakeSlots gives slots to the group of this server, which leads it. No group must have them.
	TakeSlots(ctx context.Context, add *slots.Set) error
	// DropSlots takes slots from the group of this server, which leads it.
	DropSlots(ctx context.Context, drop *slots.Set) error
}

// Moves are moves of slots, as the group that has them or the one that gets them is asked for.
type Moves interface {
	Mover
	Importer
}

// Mover is a server that leads its group and moves slots of it with their keys to others.
type Mover interface {
	// MoveSlots orders a move of slots, which begins soon after it has returned: by then the group of this server has agreed to it.
	MoveSlots(to []Destination) error
	// MoveNow moves slots, and returns when the other group has them.
	MoveNow(ctx context.Context, to Destination) error
	// AwaitOwner waits for some seconds until this server knows that the group of a node has a slot.
	AwaitOwner(ctx context.Context, slot int, node string) error
	// Moves returns the moves that are made, were made lately and are to be made, the first one first.
	Moves() []Move
	// CancelMoves ends all moves, and returns when the group has agreed on that: slots that are not given away stay.
	CancelMoves() error
}

// change changes the cluster, and replies when that is done. A transaction and a script, which hold locks,
// cannot wait.
func change(c *commands.Ctx, do func(ctx context.Context, to Node) error) error {
	return arrange(c, func(ctx context.Context, to Node) (func(*commands.Reply), error) {
		return (*commands.Reply).OK, do(ctx, to)
	})
}

// arrange does the same, with another reply.
func arrange(c *commands.Ctx, do func(ctx context.Context, to Node) (func(*commands.Reply), error)) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	if c.InMulti {
		return commands.ErrNotInMulti
	}
	if err := c.MayCompute(0); err != nil {
		return err
	}
	to := c.Host.(Node)
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		reply, err := do(ctx, to)
		if _, ours := commands.Text(err); err != nil && !ours {
			err = commands.Errorf("ERR %s", err.Error())
		}
		return reply, err
	})
}

// meet reads the host, the port of clients and perhaps that of the bus.
func meet(c *commands.Ctx) error {
	other := commands.Member{Host: c.Args.String()}
	port := c.Args.Bytes()
	n, err := strconv.ParseUint(string(port), 10, 16)
	if err != nil {
		return errBasePort(port)
	}
	other.Port = int(n)
	if c.Args.More() {
		bus := c.Args.Bytes()
		b, err := strconv.ParseUint(string(bus), 10, 16)
		if err != nil {
			return errBusPort(bus)
		}
		other.Bus = int(b) // 0 is the usual one, as in Redis
	}
	if other.Host == "" || n == 0 || other.BusPort() > math.MaxUint16 || other.BusPort() == other.Port {
		return errNodeAddress(other.Host, port)
	}
	return change(c, func(ctx context.Context, to Node) error { return to.Meet(ctx, other.Address()) })
}

// slotArgs reads slots, or with ranges pairs of the first and the last one. Each is named once.
func slotArgs(c *commands.Ctx, ranges bool) (*slots.Set, error) {
	if ranges && c.Args.Left()%2 != 0 {
		return nil, commands.ErrArity(c.Command)
	}
	set := new(slots.Set)
	for c.Args.More() {
		r := slots.Range{First: slotArg(c)}
		if r.Last = r.First; ranges {
			r.Last = slotArg(c)
		}
		if err := c.Args.Err(); err != nil {
			return nil, err
		}
		if r.First > r.Last {
			return nil, errSlotOrder(r)
		}
		for slot := r.First; slot <= r.Last; slot++ {
			if set.Has(slot) {
				return nil, errSlotTwice(slot)
			}
		}
		set.Add(r)
	}
	return set, nil
}

func slotArg(c *commands.Ctx) int {
	slot := c.Args.IntOr(errSlotRange)
	if slot < 0 || slot >= slots.Count {
		c.Args.Fail(errSlotRange)
	}
	return int(slot)
}

// addSlots gives the group slots that nobody has.
func addSlots(ranges bool) func(c *commands.Ctx, m *commands.Membership) error {
	return func(c *commands.Ctx, m *commands.Membership) error {
		add, err := slotArgs(c, ranges)
		if err != nil {
			return err
		}
		for _, shard := range m.Shards() {
			if busy := shard.Slots.Both(add).Ranges(); len(busy) > 0 {
				return errSlotBusy(busy[0].First)
			}
		}
		return change(c, func(ctx context.Context, to Node) error { return to.TakeSlots(ctx, add) })
	}
}

// dropSlots takes slots from the group. A slot with keys stays: nobody would see them.
func dropSlots(ranges bool) func(c *commands.Ctx, m *commands.Membership) error {
	return func(c *commands.Ctx, m *commands.Membership) error {
		drop, err := slotArgs(c, ranges)
		if err != nil {
			return err
		}
		if none := drop.Without(m.Shards()[0].Slots).Ranges(); len(none) > 0 {
			return errSlotFree(none[0].First)
		}
		return dropUnused(c, drop, errSlotHasKeys)
	}
}

func flushSlots(c *commands.Ctx, m *commands.Membership) error {
	return dropUnused(c, m.Shards()[0].Slots, func(int) error { return errFlushSlots })
}

// dropUnused takes slots from the group unless one of them has a key. One that is written meanwhile stays
// on disk, and is seen again when the group gets the slot again.
func dropUnused(c *commands.Ctx, drop *slots.Set, used func(slot int) error) error {
	return change(c, func(ctx context.Context, to Node) error {
		var found error
		err := to.ScanSlots(ctx, EveryDB, drop, func(key []byte) bool {
			found = used(commands.KeySlot(key))
			return false
		})
		switch {
		case err != nil:
			return err
		case found != nil:
			return found
		}
		return to.DropSlots(ctx, drop)
	})
}

// setEpoch is taken so that tools which form clusters of Redis go on: the epoch of a group is the
// number of its leadership.
func setEpoch(c *commands.Ctx) error {
	if n := c.Args.Int(); n < 0 {
		return errEpoch(n)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	return ok(c)
}

func bumpEpoch(c *commands.Ctx, m *commands.Membership) error {
	c.Reply.Status("STILL " + strconv.FormatUint(m.Term, 10))
	return nil
}
