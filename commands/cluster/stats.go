package cluster

import (
	"context"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// readRanged reads a slot.
func readRanged(c *commands.Ctx) int64 { return c.Args.IntIn(0, commands.Slots-1, errSlotRange) }

// slotOrder says which slots SLOT-STATS lists, and in which order.
type slotOrder struct {
	first, last int64
	byKeys, asc bool
	limit       int64
}

// slotKeys is a slot and how many keys it has.
type slotKeys struct {
	slot int
	keys int64
}

func slotStats(c *commands.Ctx, m *commands.Membership) error {
	o := slotOrder{last: commands.Slots - 1, limit: commands.Slots}
	switch c.Args.Word() {
	case "SLOTSRANGE":
		if c.Args.Left() != 2 {
			return errSlotStats
		}
		o.first, o.last = readRanged(c), readRanged(c)
		if c.Args.Err() == nil && o.first > o.last {
			c.Args.Fail(errStatsOrder(o.first, o.last))
		}
	case "ORDERBY":
		if !c.Args.More() {
			return errSlotStats
		}
		if o.byKeys = true; !c.Args.Is("KEY-COUNT") {
			return errSlotMetric
		}
		readSlotOrder(c, &o)
	default:
		return errSlotStats
	}
	own := m.Shards()[0].Slots
	return scan(c, 0, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
		counts, err := countSlots(ctx, node, own)
		list := o.list(own, counts)
		return func(r *commands.Reply) { replySlotStats(r, list) }, err
	})
}

// readSlotOrder reads LIMIT, and ASC or DESC. None may be given twice.
func readSlotOrder(c *commands.Ctx, o *slotOrder) {
	limited, ordered := false, false
	for c.Args.More() {
		switch word := c.Args.Word(); {
		case word == "LIMIT" && !limited:
			limited = true
			o.limit = c.Args.IntIn(1, commands.Slots, errSlotLimit)
		case (word == "ASC" || word == "DESC") && !ordered:
			ordered, o.asc = true, word == "ASC"
		case word == "LIMIT" || word == "ASC" || word == "DESC":
			c.Args.Fail(errSlotFilters)
		default:
			c.Args.Syntax()
		}
	}
}

// countSlots counts the keys of slots in all databases: all keys are looked at.
func countSlots(ctx context.Context, node Node, own *slots.Set) ([]int64, error) {
	counts := make([]int64, commands.Slots)
	err := node.ScanSlots(ctx, EveryDB, own, func(key []byte) bool {
		counts[commands.KeySlot(key)]++
		return true
	})
	return counts, err
}

// list returns the slots to be listed of those that the node has.
func (o *slotOrder) list(own *slots.Set, counts []int64) (list []slotKeys) {
	for slot := int(o.first); slot <= int(o.last); slot++ {
		if own.Has(slot) {
			list = append(list, slotKeys{slot, counts[slot]})
		}
	}
	if o.byKeys {
		slices.SortStableFunc(list, func(a, b slotKeys) int { // which are by slot already
			if o.asc {
				a, b = b, a
			}
			return int(b.keys - a.keys)
		})
	}
	return list[:min(len(list), int(o.limit))]
}

func replySlotStats(r *commands.Reply, list []slotKeys) {
	r.Array(len(list))
	for _, s := range list {
		r.Array(2)
		r.Int(int64(s.slot))
		r.Map(1)
		r.BulkString("key-count")
		r.Int(s.keys)
	}
}

// flushSlot removes the keys of a slot in all databases. SYNC or not, it returns when they are gone.
func flushSlot(c *commands.Ctx) error {
	slot := readRanged(c)
	if c.Args.More() && !c.Args.Is("ASYNC") && !c.Args.Is("SYNC") {
		c.Args.Syntax()
	}
	return scan(c, 0, func(ctx context.Context, node Node) (func(*commands.Reply), error) {
		err := node.EmptySlots(ctx, only(slot))
		return func(r *commands.Reply) { r.OK() }, err
	})
}
