package sets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/set"
)

func readRows() []commands.Command {
	look := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	meta := []commands.KeySpec{commands.Key(1, commands.RO)}
	return []commands.Command{
		{Name: "SISMEMBER", Arity: 3, Elements: commands.Elements{First: 2}, Flags: commands.ReadOnly | commands.Fast, Keys: meta,
			Syntax: "key member", Since: "1.0.0", Cost: "O(1)",
			Summary: "Reports whether a set has a member.", Run: sismember},
		{Name: "SMISMEMBER", Arity: -3, Elements: commands.Elements{First: 2, Step: 1}, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)},
			Syntax: "key member [member ...]", Since: "6.2.0", Cost: "O(n) for n members",
			Summary: "Reports for each of several members whether a set has it.", Run: smismember},
		{Name: "SCARD", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: meta,
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the number of members of a set.", Run: scard},
		{Name: "SMEMBERS", Arity: 2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: look,
			Syntax: "key", Since: "1.0.0", Cost: "O(n) for n members of the set",
			Summary: "Returns all members of a set.", Run: smembers},
		{Name: "SSCAN", Arity: -3, Tips: "nondeterministic_output", Flags: commands.ReadOnly, Keys: look,
			Syntax: "key cursor [MATCH pattern] [COUNT count]", Since: "2.8.0",
			Cost:    "O(1) for each call, O(n) for all members",
			Summary: "Iterates over the members of a set.", Run: sscan},
	}
}

func sismember(c *commands.Ctx) error {
	key, member := c.Args.Key(), c.Args.Bytes()
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.IntBool(ok && s.Has(member))
	return nil
}

func smismember(c *commands.Ctx) error {
	key, members := c.Args.Key(), c.Args.Rest()
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(members))
	for _, member := range members {
		c.Reply.IntBool(ok && s.Has(member))
	}
	return nil
}

func scard(c *commands.Ctx) error {
	s, ok, err := view(c, c.Args.Key())
	return c.ReplyLen(s, ok, err)
}

func smembers(c *commands.Ctx) error {
	s, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Set(0)
		return nil
	}
	replyMembers(c, s)
	return nil
}

func sscan(c *commands.Ctx) error {
	return commands.ScanValue(c, view, func() bool { return false },
		func(s *set.Set, cursor uint64, o *commands.ScanOptions) (next uint64, n int) {
			next = s.Scan(cursor, o.Count, func(member []byte) {
				if o.Matches(member) {
					c.Reply.Bulk(member)
					n++
				}
			})
			return next, n
		})
}
