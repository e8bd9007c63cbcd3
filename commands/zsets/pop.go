package zsets

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/zset"
)

func popRows() []commands.Command {
	const key = commands.RW | commands.Access | commands.Delete
	one, many := []commands.KeySpec{commands.Key(1, key)}, []commands.KeySpec{commands.KeyRange(1, -2, 1, key)}
	const cost = "O(m*log(n)) for n members of the sorted set and m returned"
	timeout := commands.Types{"timeout": commands.ArgDouble}
	return []commands.Command{
		{Name: "ZPOPMIN", Arity: -2, Flags: commands.Write | commands.Fast, Keys: one,
			Syntax: "key [count]", Since: "5.0.0", Cost: cost,
			Summary: "Removes the members with the lowest scores and returns them.",
			Run:     func(c *commands.Ctx) error { return pop(c, zset.Least) }},
		{Name: "ZPOPMAX", Arity: -2, Flags: commands.Write | commands.Fast, Keys: one,
			Syntax: "key [count]", Since: "5.0.0", Cost: cost,
			Summary: "Removes the members with the highest scores and returns them.",
			Run:     func(c *commands.Ctx) error { return pop(c, zset.Greatest) }},
		{Name: "ZMPOP", Arity: -4, Flags: commands.Write | commands.MovableKeys, Keys: []commands.KeySpec{commands.KeyCount(1, key)},
			Syntax: "numkeys key [key ...] MIN|MAX [COUNT count]", Since: "7.0.0", Cost: "O(k)+" + cost,
			Summary: "Removes members from the first sorted set that is not empty and returns them.",
			Run:     func(c *commands.Ctx) error { return mpop(c, false) }},
		{Name: "BZPOPMIN", Arity: -3, Flags: commands.Write | commands.Blocking | commands.Fast, Keys: many,
			Syntax: "key [key ...] timeout", Types: timeout, Since: "5.0.0", Cost: "O(log(n)) for n members of the sorted set",
			Summary: "Removes and returns the member with the lowest score of the first sorted set that is not empty, waiting for one if needed.",
			Run:     func(c *commands.Ctx) error { return blockingPop(c, zset.Least) }},
		{Name: "BZPOPMAX", Arity: -3, Flags: commands.Write | commands.Blocking | commands.Fast, Keys: many,
			Syntax: "key [key ...] timeout", Types: timeout, Since: "5.0.0", Cost: "O(log(n)) for n members of the sorted set",
			Summary: "Removes and returns the member with the highest score of the first sorted set that is not empty, waiting for one if needed.",
			Run:     func(c *commands.Ctx) error { return blockingPop(c, zset.Greatest) }},
		{Name: "BZMPOP", Arity: -5, Flags: commands.Write | commands.Blocking | commands.MovableKeys, Keys: []commands.KeySpec{commands.KeyCount(2, key)},
			Syntax: "timeout numkeys key [key ...] MIN|MAX [COUNT count]", Types: timeout, Since: "7.0.0", Cost: "O(k)+" + cost,
			Summary: "Removes members from the first sorted set that is not empty and returns them, waiting for one if needed.",
			Run:     func(c *commands.Ctx) error { return mpop(c, true) }},
	}
}

// readPopCount reads the count of ZPOPMIN if there is one; without it a single member
// is asked for.
func readPopCount(c *commands.Ctx) (count int, single bool) {
	if c.Args.Left() == 0 {
		return 1, true
	}
	if c.Args.Left() > 1 {
		c.Args.Syntax()
	}
	return int(c.Args.IntIn(0, math.MaxInt, commands.ErrMustBePositive)), false
}

// pop replies with an array of members and scores, which are pairs in RESP3 if a count
// was given.
func pop(c *commands.Ctx, end zset.End) error {
	key := c.Args.Key()
	count, single := readPopCount(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok || count == 0 {
		c.Reply.Array(0)
		return nil
	}
	if single {
		c.Reply.Array(2)
		takeFrom(c, s, ch, end, key, 1, flat)
		return nil
	}
	beginMembers(c, min(count, s.Len()), true)
	takeFrom(c, s, ch, end, key, count, func(c *commands.Ctx, member []byte, score float64) {
		replyMember(c, member, score, true)
	})
	return nil
}

// takeFrom pops up to count members of a set that has some, writes each, and publishes
// what happened, unless a page cannot be read.
func takeFrom(c *commands.Ctx, s *zset.Set, ch *structures.Change, end zset.End, key []byte, count int,
	write func(c *commands.Ctx, member []byte, score float64)) {
	s.Pop(ch, end, count, func(member []byte, score float64) { write(c, member, score) })
	if c.Tx.Err() != nil {
		return
	}
	event := "zpopmin"
	if end == zset.Greatest {
		event = "zpopmax"
	}
	notifyTaken(c, s, event, key)
}

// flat writes a member and its score as two replies.
func flat(c *commands.Ctx, member []byte, score float64) {
	c.Reply.Bulk(member)
	c.Reply.Double(score)
}

// paired writes a member and its score as an array of two.
func paired(c *commands.Ctx, member []byte, score float64) {
	c.Reply.Array(2)
	flat(c, member, score)
}

// firstOf returns the first set of several that exists; ok is false if none does.
func firstOf(c *commands.Ctx, keys [][]byte) (key []byte, s *zset.Set, ch *structures.Change, ok bool, err error) {
	for _, key := range keys {
		if s, ch, ok, err = edit(c, key); ok || err != nil {
			return key, s, ch, ok, err
		}
	}
	return nil, nil, nil, false, nil
}

// takeOne pops one member of the first set that has any and replies with it behind its
// key; taken is false if there was none.
func takeOne(c *commands.Ctx, keys [][]byte, end zset.End) (taken bool, err error) {
	key, s, ch, ok, err := firstOf(c, keys)
	if !ok || err != nil {
		return false, err
	}
	c.Reply.Array(3)
	c.Reply.Bulk(key)
	takeFrom(c, s, ch, end, key, 1, flat)
	return true, c.Tx.Err()
}

// takeMany pops up to count members of the first set that has any and replies with
// them behind its key; taken is false if there was none.
func takeMany(c *commands.Ctx, keys [][]byte, end zset.End, count int) (taken bool, err error) {
	key, s, ch, ok, err := firstOf(c, keys)
	if !ok || err != nil {
		return false, err
	}
	c.Reply.Array(2)
	c.Reply.Bulk(key)
	c.Reply.Array(min(count, s.Len()))
	takeFrom(c, s, ch, end, key, count, paired)
	return true, c.Tx.Err()
}

func readEnd(a *commands.Args) zset.End {
	switch a.Word() {
	case "MIN":
		return zset.Least
	case "MAX":
		return zset.Greatest
	}
	a.Syntax()
	return zset.Least
}

func mpop(c *commands.Ctx, blocking bool) error {
	return commands.MultiPop(c, blocking, readEnd, func(keys [][]byte, end zset.End, count int) (bool, error) {
		return takeMany(c, keys, end, count)
	})
}

func blockingPop(c *commands.Ctx, end zset.End) error {
	keys, timeout := c.Args.AllBut(1), c.Args.Timeout()
	if err := c.Args.Done(); err != nil {
		return err
	}
	return c.TakeOrWait(keys, timeout, func(keys [][]byte) (bool, error) { return takeOne(c, keys, end) })
}
