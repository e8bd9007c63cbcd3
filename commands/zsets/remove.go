package zsets

import "github.com/vigildb/vigil/commands"

func removeRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)}
	const cost = "O(log(n)+m) for n members of the sorted set and m removed"
	return []commands.Command{
		{Name: "ZREM", Arity: -3, Flags: commands.Write | commands.Fast, Keys: keys,
			Syntax: "key member [member ...]", Since: "1.2.0", Cost: "O(m*log(n)) for n members of the sorted set and m removed",
			Summary: "Removes members of a sorted set.", Run: zrem},
		{Name: "ZREMRANGEBYRANK", Arity: 4, Flags: commands.Write, Keys: keys,
			Syntax: "key start stop", Since: "2.0.0", Cost: cost,
			Summary: "Removes the members in a range of ranks.",
			Run:     func(c *commands.Ctx) error { return removeRange(c, byRank, "zremrangebyrank") }},
		{Name: "ZREMRANGEBYSCORE", Arity: 4, Flags: commands.Write, Keys: keys,
			Syntax: "key min max", Types: commands.Types{"min": commands.ArgDouble, "max": commands.ArgDouble}, Since: "1.2.0", Cost: cost,
			Summary: "Removes the members in a range of scores.",
			Run:     func(c *commands.Ctx) error { return removeRange(c, byScore, "zremrangebyscore") }},
		{Name: "ZREMRANGEBYLEX", Arity: 4, Flags: commands.Write, Keys: keys,
			Syntax: "key min max", Since: "2.8.9", Cost: cost,
			Summary: "Removes the members in a range of members, in a sorted set of equal scores.",
			Run:     func(c *commands.Ctx) error { return removeRange(c, byMember, "zremrangebylex") }},
	}
}

func zrem(c *commands.Ctx) error {
	key, members := c.Args.Key(), c.Args.Rest()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	n := 0
	if ok {
		if !s.Ready(1, members...) {
			return c.Tx.Err()
		}
		for _, member := range members {
			if s.Remove(ch, member) {
				n++
			}
		}
	}
	if n > 0 {
		notifyTaken(c, s, "zrem", key)
	}
	c.Reply.Int(int64(n))
	return nil
}
