package cluster

import (
	"context"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Node is a server whose clients see it as a node of a cluster.
type Node interface {
	// TakeOver asks the leader to hand over to this member, soon after it has returned.
	TakeOver()
	Keys
	Changes
	Membership
	Moves
}

// EveryDB is, as the number of a database, all of them.
const EveryDB = -1

// Keys finds keys by their slots.
type Keys interface {
	// ScanSlots calls visit with the keys of some slots in a database, or in EveryDB, until it returns false. It takes long, and
	// is called without locks. visit must not keep the key.
	ScanSlots(ctx context.Context, db int, of *slots.Set, visit func(key []byte) bool) error
	// EmptySlots removes the keys of some slots, of those that the group has, in all databases, and returns when that is committed.
	EmptySlots(ctx context.Context, of *slots.Set) error
	// Departed returns the slots that the group has given away, whose keys are about to be removed here; nil for none.
	Departed() *slots.Set
}

func keySlot(c *commands.Ctx) error {
	c.Reply.Int(int64(commands.KeySlot(c.Args.Bytes())))
	return nil
}

// readSlot reads a slot. In a transaction or a script, which hold locks, keys of slots cannot be
// looked for.
func readSlot(c *commands.Ctx, wrong error) (slot int64) {
	slot = c.Args.Int()
	if slot < 0 || slot >= commands.Slots {
		c.Args.Fail(wrong)
	}
	return slot
}

// only returns the set of one slot.
func only(slot int64) *slots.Set {
	s := new(slots.Set)
	s.Add(slots.Range{First: int(slot), Last: int(slot)})
	return s
}

// visit calls f with the keys of a slot in a database until it returns false. Those of a slot that was given away are not shown: tools
// would move them.
func visit(ctx context.Context, in Node, db int, slot int64, f func(key []byte) bool) error {
	return in.ScanSlots(ctx, db, only(slot).Without(in.Departed()), f)
}

func countKeys(c *commands.Ctx) error {
	slot, db := readSlot(c, errSlot), c.Client.DB()
	return scan(c, 0, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
		n := int64(0)
		err := visit(ctx, node, db, slot, func([]byte) bool { n++; return true })
		return func(r *commands.Reply) { r.Int(n) }, err
	})
}

// maxKeyBytes is how many bytes of keys a reply has, about: the call holds them.
const maxKeyBytes = 16 << 20

// getKeys returns fewer keys than asked for if these are long.
func getKeys(c *commands.Ctx) error {
	slot, most, db := readSlot(c, errSlotOrCount), c.Args.Int(), c.Client.DB()
	if most < 0 || most > math.MaxInt32 {
		c.Args.Fail(errSlotOrCount)
	}
	return scan(c, maxKeyBytes, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
		var found []string
		err, size := error(nil), 0
		if most > 0 {
			err = visit(ctx, node, db, slot, func(key []byte) bool {
				found, size = append(found, string(key)), size+len(key)+16
				return int64(len(found)) < most && size < maxKeyBytes
			})
		}
		return func(r *commands.Reply) { r.Strings(found) }, err
	})
}

// scan gives work to a worker of the server.
func scan(c *commands.Ctx, holds int, work func(ctx context.Context, node Node) (func(*commands.Reply), error)) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	if c.InMulti { // and holds locks
		return commands.ErrNotInMulti
	}
	if err := c.MayCompute(holds); err != nil {
		return err
	}
	node := c.Host.(Node)
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) { return work(ctx, node) })
}
