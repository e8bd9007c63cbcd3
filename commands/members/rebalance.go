package members

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/placement"
	"github.com/vigildb/vigil/structures/slots"
)

// Rebalancer is a server of a cluster of several groups.
type Rebalancer interface {
	// OrderMove has the leader of a group move slots of it to another one. Groups are named by their IDs. It
	// returns when that has begun.
	OrderMove(ctx context.Context, from, to string, of *slots.Set) error
}

// part is the slots of a plan that go from one group to another, which are indices.
type part struct {
	from, to int
	slots    *slots.Set
}

// maxWeight is the largest weight of a group; others are a part of it.
const maxWeight = 1e6

// rebalance moves slots so that each group has its share of them: as many as every other one, or by weights. A group
// whose weight is 0 is emptied. No fewer slots can move (placement.Reassign).
func rebalance(c *commands.Ctx) error {
	m, err := group(c)
	if err != nil {
		return err
	}
	if !c.Host.Limits().Slots {
		return errNoSlots
	}
	all := m.Shards()
	slices.SortFunc(all, func(a, b commands.Shard) int { return strings.Compare(a.ID, b.ID) }) // the plan is the same at every server
	dry := c.Args.More() && c.Args.Is("DRYRUN")
	weights, err := readWeights(c, all)
	if err != nil {
		return err
	}
	if err := mayRebalance(all, weights); err != nil {
		return err
	}
	plan := planOf(all, weights)
	if dry {
		writePlan(&c.Reply, all, plan)
		return nil
	}
	if err := c.MayCompute(0); err != nil {
		return err
	}
	to := c.Host.(Rebalancer)
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		for _, t := range plan {
			if err := to.OrderMove(ctx, all[t.from].ID, all[t.to].ID, t.slots); err != nil {
				return nil, commands.Errorf("ERR the slots %s are not moved, nor those after them in the plan: %s", t.slots, err.Error())
			}
		}
		return func(r *commands.Reply) { writePlan(r, all, plan) }, nil
	})
}

// readWeights reads "[WEIGHT node weight ...]" to the end of the arguments. A group that is not named has weight 1, or
// 0 if it has no leader and no slots.
func readWeights(c *commands.Ctx, all []commands.Shard) (weights []placement.Capacity, err error) {
	weights = make([]placement.Capacity, len(all))
	for i := range all {
		if all[i].Leader >= 0 && all[i].Up || all[i].Slots.Len() > 0 {
			weights[i] = unitWeight
		}
	}
	if c.Args.More() {
		if !c.Args.Is("WEIGHT") {
			c.Args.Syntax()
		}
		for first := true; (first || c.Args.More()) && c.Args.Err() == nil; first = false {
			id, weight := c.Args.Bytes(), c.Args.Float()
			if c.Args.Err() != nil {
				break
			}
			i := shardOf(all, string(id))
			if i < 0 {
				return nil, errUnknownNode(id)
			}
			if !(weight >= 0 && weight <= maxWeight) {
				return nil, errWeight
			}
			weights[i] = placement.Capacity(math.Round(weight * unitWeight))
		}
	}
	return weights, c.Args.Done()
}

// unitWeight is what weight 1 is, so that weights may have decimals.
const unitWeight = 1 << 20

// shardOf returns the index of the group that has a node, -1 if there is none.
func shardOf(all []commands.Shard, id string) int {
	for i := range all {
		for k := range all[i].Members {
			if all[i].Members[k].ID == id {
				return i
			}
		}
	}
	return -1
}

// mayRebalance refuses what cannot be done: slots of groups that nobody leads cannot move.
func mayRebalance(all []commands.Shard, weights []placement.Capacity) error {
	total, have := placement.Capacity(0), 0
	for i := range all {
		total += weights[i]
		have += all[i].Slots.Len()
		if weights[i]+placement.Capacity(all[i].Slots.Len()) > 0 && (all[i].Leader < 0 || !all[i].Up) {
			return errGroupDown(all[i].ID)
		}
	}
	switch {
	case total == 0:
		return errNoWeight
	case have < slots.Count:
		return errNotCovered
	}
	return nil
}

// planOf says which slots move.
func planOf(all []commands.Shard, weights []placement.Capacity) (plan []part) {
	owner := make([]int, slots.Count)
	for slot := range owner {
		owner[slot] = -1
		for i := range all {
			if all[i].Slots.Has(slot) {
				owner[slot] = i
			}
		}
	}
	at := map[[2]int]int{} // in plan
	for slot, to := range placement.Reassign(owner, weights) {
		from := owner[slot]
		if from == to {
			continue
		}
		k, known := at[[2]int{from, to}]
		if !known {
			k = len(plan)
			at[[2]int{from, to}] = k
			plan = append(plan, part{from, to, new(slots.Set)})
		}
		plan[k].slots.Add(slots.Range{First: slot, Last: slot})
	}
	return plan
}

// writePlan writes what moves from where to where: the IDs of the leaders, how many slots, and which.
func writePlan(r *commands.Reply, all []commands.Shard, plan []part) {
	r.Array(len(plan))
	for _, t := range plan {
		r.Map(4)
		text := func(name, value string) { r.BulkString(name); r.BulkString(value) }
		text("from", all[t.from].Members[all[t.from].Leader].ID)
		text("to", all[t.to].Members[all[t.to].Leader].ID)
		r.BulkString("slots")
		r.Int(int64(t.slots.Len()))
		text("slot_ranges", t.slots.String())
	}
}
