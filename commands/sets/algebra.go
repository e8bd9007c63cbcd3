package sets

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/set"
)

func algebraRows() []commands.Command {
	read := []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RO|commands.Access)}
	store := func(destination commands.KeyFlag) []commands.KeySpec {
		return []commands.KeySpec{commands.Key(1, destination|commands.Update), commands.KeyRange(2, -1, 1, commands.RO|commands.Access)}
	}
	return []commands.Command{
		{Name: "SINTER", Arity: -2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: read,
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n m) for n members of the smallest of m sets",
			Summary: "Returns the members that all of several sets have.", Run: sinter},
		{Name: "SINTERCARD", Arity: -3, Flags: commands.ReadOnly | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.KeyCount(1, commands.RO|commands.Access)},
			Syntax: "numkeys key [key ...] [LIMIT limit]", Since: "7.0.0", Cost: "O(n m) for n members of the smallest of m sets",
			Summary: "Returns the number of members that all of several sets have.", Run: sintercard},
		{Name: "SUNIONCARD", Arity: -3, Flags: commands.ReadOnly | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.KeyCount(1, commands.RO|commands.Access)},
			Syntax: "numkeys key [key ...] [APPROX] [LIMIT limit]", Since: "8.10.0", Cost: "O(n) for n members of all sets",
			Summary: "Returns the number of members that any of several sets has.", Run: sunioncard},
		{Name: "SDIFFCARD", Arity: -3, Flags: commands.ReadOnly | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.KeyCount(1, commands.RO|commands.Access)},
			Syntax: "numkeys key [key ...] [LIMIT limit]", Since: "8.10.0", Cost: "O(n) for n members of all sets",
			Summary: "Returns the number of members of a set that none of the others has.", Run: sdiffcard},
		{Name: "SINTERSTORE", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: store(commands.OW),
			Syntax: "destination key [key ...]", Since: "1.0.0", Cost: "O(n m) for n members of the smallest of m sets",
			Summary: "Stores the members that all of several sets have.", Run: sinterstore},
		{Name: "SUNION", Arity: -2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: read,
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n members of all sets",
			Summary: "Returns the members that any of several sets has.", Run: sunion},
		{Name: "SUNIONSTORE", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: store(commands.OW),
			Syntax: "destination key [key ...]", Since: "1.0.0", Cost: "O(n) for n members of all sets",
			Summary: "Stores the members that any of several sets has.", Run: sunionstore},
		{Name: "SDIFF", Arity: -2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: read,
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n members of all sets",
			Summary: "Returns the members of a set that none of the others has.", Run: sdiff},
		{Name: "SDIFFSTORE", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: store(commands.OW),
			Syntax: "destination key [key ...]", Since: "1.0.0", Cost: "O(n) for n members of all sets",
			Summary: "Stores the members of a set that none of the others has.", Run: sdiffstore},
	}
}

// operands finds the sets of an operation. A missing key is an empty set.
func operands(c *commands.Ctx, keys [][]byte) ([]*set.Set, error) {
	sets := make([]*set.Set, len(keys))
	for i, key := range keys {
		s, ok, err := view(c, key)
		if err != nil {
			return nil, err
		}
		if sets[i] = s; !ok {
			sets[i] = set.New(c.Tx.HashKeys())
		}
	}
	return sets, nil
}

// replyVisited writes the members that each visits.
func replyVisited(c *commands.Ctx, each func(visit func(member []byte) bool)) {
	c.Reply.SetLater(func() (n int) {
		each(func(member []byte) bool {
			c.Reply.Bulk(member)
			n++
			return true
		})
		return n
	})
}

// store gives the destination the result of an operation, or removes it if that has
// no members, and replies with their number. Members have the nearest of the expiries that they have in the sets from.
func store(c *commands.Ctx, event string, destination []byte, result *set.Set, from []*set.Set) error {
	result.Inherit(from)
	switch {
	case !result.Empty():
		if err := commands.Store(c, destination, result); err != nil {
			return err
		}
		c.Notify(commands.EventSet, event, destination)
	case c.Tx.Delete(destination):
		c.Notify(commands.EventGeneric, "del", destination)
	}
	c.Reply.Int(int64(result.Len()))
	return nil
}

func sinter(c *commands.Ctx) error {
	sets, err := operands(c, c.Args.Rest())
	if err != nil {
		return err
	}
	replyVisited(c, func(visit func([]byte) bool) { set.Intersect(sets, visit) })
	return nil
}

func sinterstore(c *commands.Ctx) error {
	destination, keys := c.Args.Key(), c.Args.Rest()
	sets, err := operands(c, keys)
	if err != nil {
		return err
	}
	result := set.Collect(c.Tx.HashKeys(), func(visit func([]byte) bool) { set.Intersect(sets, visit) })
	return store(c, "sinterstore", destination, result, sets)
}

func sintercard(c *commands.Ctx) error { return card(c, false, set.Intersect) }

// sunioncard counts exactly with APPROX, too.
func sunioncard(c *commands.Ctx) error {
	return card(c, true, func(sets []*set.Set, visit func([]byte) bool) { set.Unite(sets, c.Tx.HashKeys(), visit) })
}

func sdiffcard(c *commands.Ctx) error {
	return card(c, false, func(sets []*set.Set, visit func([]byte) bool) {
		set.Subtract(sets[0], sets[1:], c.Tx.HashKeys(), visit)
	})
}

// card replies with how many members each visits, up to a limit.
func card(c *commands.Ctx, approximate bool, each func(sets []*set.Set, visit func(member []byte) bool)) error {
	n := c.Args.IntIn(1, math.MaxInt64, commands.ErrNumkeys)
	if c.Args.Err() == nil && n > int64(c.Args.Left()) {
		c.Args.Fail(commands.ErrNumkeysTooMany)
	}
	keys, limit := c.Args.Take(int(n)), int64(0)
	for c.Args.More() {
		switch {
		case c.Args.Left() >= 2 && c.Args.Is("LIMIT"):
			limit = c.Args.IntIn(0, math.MaxInt64, commands.ErrLimitNegative)
		case approximate && c.Args.Is("APPROX"):
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	sets, err := operands(c, keys)
	if err != nil {
		return err
	}
	met := int64(0)
	each(sets, func([]byte) bool {
		met++
		return met != limit
	})
	c.Reply.Int(met)
	return nil
}

func sunion(c *commands.Ctx) error {
	sets, err := operands(c, c.Args.Rest())
	if err != nil {
		return err
	}
	replyVisited(c, func(visit func([]byte) bool) { set.Unite(sets, c.Tx.HashKeys(), visit) })
	return nil
}

func sunionstore(c *commands.Ctx) error {
	destination, keys := c.Args.Key(), c.Args.Rest()
	sets, err := operands(c, keys)
	if err != nil {
		return err
	}
	return store(c, "sunionstore", destination, set.Union(sets, c.Tx.HashKeys()), sets)
}

func sdiff(c *commands.Ctx) error {
	sets, err := operands(c, c.Args.Rest())
	if err != nil {
		return err
	}
	replyVisited(c, subtracted(c, sets))
	return nil
}

func sdiffstore(c *commands.Ctx) error {
	destination, keys := c.Args.Key(), c.Args.Rest()
	sets, err := operands(c, keys)
	if err != nil {
		return err
	}
	return store(c, "sdiffstore", destination, set.Collect(c.Tx.HashKeys(), subtracted(c, sets)), sets[:1])
}

// subtracted visits the members of the first set that none of the others has.
func subtracted(c *commands.Ctx, sets []*set.Set) func(visit func([]byte) bool) {
	return func(visit func([]byte) bool) { set.Subtract(sets[0], sets[1:], c.Tx.HashKeys(), visit) }
}
