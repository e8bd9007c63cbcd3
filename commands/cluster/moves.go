package cluster

import (
	"context"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Destination is a group that gets slots.
type Destination struct {
	Shard string // its ID
	Node  string // the ID of its leader when the slots were ordered to go there
	Slots *slots.Set
}

// MoveState is how far a move has come.
type MoveState string

// States of moves. The words are shown to clients.
const (
	MoveWaits     MoveState = "waiting"
	MoveRuns      MoveState = "moving"
	MoveDone      MoveState = "success"
	MoveFailed    MoveState = "failed"
	MoveCancelled MoveState = "canceled"
)

// Move is slots on their way to another group with their keys, as the leader that sends them tells of it.
type Move struct {
	Name string
	Task string // its ID if the other group has asked for the slots, see Task; else ""
	Destination
	State            MoveState
	Message          string // why it has failed, or is tried again
	Retries          int    // how often it was begun again
	Created, Updated int64  // in ms of Unix time
	Started          int64  // the same; 0: it waits
	Slots, Moved     int
	Keys, Bytes      int64         // that were sent, with those that were sent again
	LongestFreeze    time.Duration // for which writes of slots waited
}

// Over reports whether nothing of the move is done any more.
func (m *Move) Over() bool { return m.State != MoveWaits && m.State != MoveRuns }

// migrateSlots moves slots of this group to others with their keys, in the background.
func migrateSlots(c *commands.Ctx, m *commands.Membership) error {
	var to []Destination
	taken := new(slots.Set)
	for c.Args.More() {
		d, err := destination(c, m, taken)
		if err != nil {
			return err
		}
		taken = taken.Union(d.Slots)
		to = append(to, d)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if !m.Leads {
		return errNotMaster
	}
	if none := taken.Without(m.Shards()[0].Slots).Ranges(); len(none) > 0 {
		return errSlotNotOwn(none[0].First)
	}
	return change(c, func(_ context.Context, node Node) error { return node.MoveSlots(to) })
}

// destination reads "SLOTSRANGE first last [first last ...] NODE id".
func destination(c *commands.Ctx, m *commands.Membership, taken *slots.Set) (d Destination, err error) {
	if !c.Args.Is("SLOTSRANGE") {
		c.Args.Syntax()
		return d, c.Args.Err()
	}
	if d.Slots, err = ranges(c, taken, func() bool { return c.Args.Is("NODE") }); err != nil {
		return d, err
	}
	id := c.Args.Bytes()
	if err := c.Args.Err(); err != nil {
		return d, err
	}
	to, known := find(m, string(id))
	switch {
	case !known:
		return d, errUnknownNode(id)
	case to.own:
		return d, errMoveToSelf
	case !to.leads:
		return d, errMoveToReplica
	}
	d.Shard, d.Node = to.shard.ID, to.ID
	return d, nil
}

// ranges reads "first last [first last ...]" until an argument is another one. None of the slots may be taken.
func ranges(c *commands.Ctx, taken *slots.Set, ends func() bool) (*slots.Set, error) {
	of := new(slots.Set)
	for more := true; more && c.Args.Err() == nil; more = c.Args.More() && !ends() {
		r := slots.Range{First: slotArg(c), Last: slotArg(c)}
		if err := c.Args.Err(); err != nil {
			return nil, err
		}
		if r.First > r.Last {
			return nil, errSlotOrder(r)
		}
		for slot := r.First; slot <= r.Last; slot++ {
			if of.Has(slot) || taken.Has(slot) {
				return nil, errSlotTwice(slot)
			}
		}
		of.Add(r)
	}
	return of, c.Args.Err()
}

// cancelMigrations ends what MIGRATESLOTS has begun.
func cancelMigrations(c *commands.Ctx, m *commands.Membership) error {
	if !m.Leads {
		return errNotMaster
	}
	return change(c, func(_ context.Context, node Node) error { return node.CancelMoves() })
}

// migrations lists the moves that this server makes, has made lately and is to make, the last one first.
func migrations(c *commands.Ctx, m *commands.Membership) error {
	all, source := c.Host.(Node).Moves(), m.Members[m.Self].ID
	if m.Led {
		source = m.Members[m.Leader].ID
	}
	c.Reply.Array(len(all))
	for i := len(all) - 1; i >= 0; i-- {
		move := &all[i]
		fields := []struct {
			name string
			text string
			n    int64
		}{
			{"name", move.Name, 0}, {"operation", "EXPORT", 0}, {"slot_ranges", move.Destination.Slots.String(), 0},
			{"target_node", move.Node, 0}, {"source_node", source, 0},
			{"create_time", "", move.Created / 1000}, {"last_update_time", "", move.Updated / 1000},
			{"state", string(move.State), 0}, {"message", move.Message, 0},
			{"slots", "", int64(move.Slots)}, {"slots_moved", "", int64(move.Moved)},
			{"keys_sent", "", move.Keys}, {"bytes_sent", "", move.Bytes}, {"longest_pause_ms", "", move.LongestFreeze.Milliseconds()},
		}
		c.Reply.Map(len(fields))
		for _, f := range fields {
			c.Reply.BulkString(f.name)
			switch f.name {
			case "create_time", "last_update_time", "slots", "slots_moved", "keys_sent", "bytes_sent", "longest_pause_ms":
				c.Reply.Int(f.n)
			default:
				c.Reply.BulkString(f.text)
			}
		}
	}
	return nil
}
