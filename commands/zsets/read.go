package zsets

import "github.com/vigildb/vigil/commands"

func readRows() []commands.Command {
	look := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	const log = "O(log(n)) for n members of the sorted set"
	return []commands.Command{
		{Name: "ZCARD", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO)},
			Syntax: "key", Since: "1.2.0", Cost: "O(1)",
			Summary: "Returns the number of members of a sorted set.", Run: zcard},
		{Name: "ZSCORE", Arity: 3, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key member", Since: "1.2.0", Cost: "O(1)",
			Summary: "Returns the score of a member.", Run: zscore},
		{Name: "ZMSCORE", Arity: -3, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key member [member ...]", Since: "6.2.0", Cost: "O(n) for n members",
			Summary: "Returns the scores of several members.", Run: zmscore},
		{Name: "ZRANK", Arity: -3, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key member [WITHSCORE]", Since: "2.0.0", Cost: log,
			Summary: "Returns the rank of a member, counted from 0 for the lowest score.",
			Run:     func(c *commands.Ctx) error { return rank(c, false) }},
		{Name: "ZREVRANK", Arity: -3, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key member [WITHSCORE]", Since: "2.0.0", Cost: log,
			Summary: "Returns the rank of a member, counted from 0 for the highest score.",
			Run:     func(c *commands.Ctx) error { return rank(c, true) }},
		{Name: "ZCOUNT", Arity: 4, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key min max", Types: commands.Types{"min": commands.ArgDouble, "max": commands.ArgDouble}, Since: "2.0.0", Cost: log,
			Summary: "Returns the number of members in a range of scores.",
			Run:     func(c *commands.Ctx) error { return countRange(c, byScore) }},
		{Name: "ZLEXCOUNT", Arity: 4, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key min max", Since: "2.8.9", Cost: log,
			Summary: "Returns the number of members in a range of members, in a sorted set of equal scores.",
			Run:     func(c *commands.Ctx) error { return countRange(c, byMember) }},
	}
}

func zcard(c *commands.Ctx) error {
	s, ok, err := view(c, c.Args.Key())
	return c.ReplyLen(s, ok, err)
}

func zscore(c *commands.Ctx) error {
	s, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	score := 0.0
	if ok {
		score, ok = s.Score(c.Args.Bytes())
	}
	if !ok {
		c.Reply.Null()
		return nil
	}
	c.Reply.Double(score)
	return nil
}

func zmscore(c *commands.Ctx) error {
	key, members := c.Args.Key(), c.Args.Rest()
	s, exists, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(members))
	for _, member := range members {
		score, ok := 0.0, exists
		if ok {
			score, ok = s.Score(member)
		}
		if !ok {
			c.Reply.Null()
			continue
		}
		c.Reply.Double(score)
	}
	return nil
}

func rank(c *commands.Ctx, reverse bool) error {
	key, member := c.Args.Key(), c.Args.Bytes()
	if c.Args.Left() > 1 {
		return commands.ErrArity(c.Command)
	}
	scored := c.Args.Is("WITHSCORE")
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	n, score := 0, 0.0
	if ok {
		n, score, ok = s.Rank(member)
	}
	switch {
	case !ok && scored:
		c.Reply.NullArray()
		return nil
	case !ok:
		c.Reply.Null()
		return nil
	case reverse:
		n = s.Len() - 1 - n
	}
	if scored {
		c.Reply.Array(2)
	}
	c.Reply.Int(int64(n))
	if scored {
		c.Reply.Double(score)
	}
	return nil
}

func countRange(c *commands.Ctx, o order) error {
	key := c.Args.Key()
	sp := readSpan(&c.Args, o, c.Args.Bytes(), c.Args.Bytes())
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ok, err := view(c, key)
	if err != nil {
		return err
	}
	n := 0
	if ok {
		_, n = sp.of(s, false)
	}
	c.Reply.Int(int64(n))
	return nil
}
