package zsets

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/zset"
)

func addRows() []commands.Command {
	return []commands.Command{
		{Name: "ZADD", Arity: -4, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]", Types: commands.Types{"score": commands.ArgDouble}, Since: "1.2.0",
			Cost:    "O(n*log(m)) for n members, and m in the sorted set",
			Summary: "Adds members to a sorted set, or updates their scores.", Run: zadd},
		{Name: "ZINCRBY", Arity: 4, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)},
			Syntax: "key increment member", Since: "1.2.0", Cost: "O(log(n)) for n members of the sorted set",
			Summary: "Adds a number to the score of a member, adding the member if needed.", Run: zincrby},
	}
}

// addition is the options of ZADD, and its pairs.
type addition struct {
	rule    zset.Rule
	changes bool // CH: members with another score are counted too
	pairs   [][]byte
}

func readAddition(a *commands.Args, rule zset.Rule) addition {
	add := addition{rule: rule}
	for {
		switch {
		case a.Is("NX"):
			add.rule |= zset.OnlyNew
		case a.Is("XX"):
			add.rule |= zset.OnlyExisting
		case a.Is("GT"):
			add.rule |= zset.OnlyGreater
		case a.Is("LT"):
			add.rule |= zset.OnlyLess
		case a.Is("INCR"):
			add.rule |= zset.Increment
		case a.Is("CH"):
			add.changes = true
		default:
			add.pairs = a.Rest()
			add.check(a)
			return add
		}
	}
}

// check refuses options that exclude each other.
func (add *addition) check(a *commands.Args) {
	has := func(rule zset.Rule) bool { return add.rule&rule == rule }
	switch {
	case len(add.pairs) == 0 || len(add.pairs)%2 != 0:
		a.Syntax()
	case has(zset.OnlyNew | zset.OnlyExisting):
		a.Fail(errNotCompatible)
	case has(zset.OnlyGreater | zset.OnlyNew), has(zset.OnlyLess | zset.OnlyNew), has(zset.OnlyGreater | zset.OnlyLess):
		a.Fail(errOrderOptions)
	case has(zset.Increment) && len(add.pairs) > 2:
		a.Fail(errIncrementPair)
	}
}

func zadd(c *commands.Ctx) error { return addPairs(c, 0) }

// zincrby is ZADD with INCR, which takes the options of ZADD for such.
func zincrby(c *commands.Ctx) error { return addPairs(c, zset.Increment) }

// addPairs reads all scores before it adds a member.
func addPairs(c *commands.Ctx, rule zset.Rule) error {
	key := c.Args.Key()
	add := readAddition(&c.Args, rule)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if len(add.pairs) == 2 {
		score, ok := commands.ParseFloat(add.pairs[0])
		if !ok {
			return commands.ErrNotFloat
		}
		return addMembers(c, key, &add, []float64{score})
	}
	scores := make([]float64, len(add.pairs)/2)
	for i := range scores {
		var ok bool
		if scores[i], ok = commands.ParseFloat(add.pairs[2*i]); !ok {
			return commands.ErrNotFloat
		}
	}
	return addMembers(c, key, &add, scores)
}

// addMembers adds the members of pairs. With INCR the reply is the score of the one
// member, null if the options forbid it.
func addMembers(c *commands.Ctx, key []byte, add *addition, scores []float64) error {
	increment := add.rule&zset.Increment != 0
	if add.rule&zset.OnlyExisting != 0 {
		if _, _, ok, err := edit(c, key); !ok || err != nil {
			if err == nil {
				replyAdded(c, increment, 0)
			}
			return err
		}
	}
	s, ch, err := editOrCreate(c, key)
	if err != nil {
		return err
	}
	if !s.ReadyAdd(len(scores), func(i int) (float64, []byte) { return scores[i], add.pairs[2*i+1] }) {
		return c.Tx.Err()
	}
	added, updated, now, outcome := 0, 0, 0.0, zset.Refused
	for i, score := range scores {
		switch now, outcome = s.Add(ch, add.pairs[2*i+1], score, add.rule); outcome {
		case zset.NaN:
			return errNotANumber
		case zset.Added:
			added++
		case zset.Updated:
			updated++
		}
	}
	if added+updated > 0 {
		event := "zadd"
		if increment {
			event = "zincr"
		}
		c.Notify(commands.EventZSet, event, key)
	}
	switch {
	case increment && outcome != zset.Refused:
		c.Reply.Double(now)
	case add.changes:
		replyAdded(c, increment, added+updated)
	default:
		replyAdded(c, increment, added)
	}
	return nil
}

// replyAdded replies with a number of members, or with null to an increment that did
// nothing.
func replyAdded(c *commands.Ctx, increment bool, n int) {
	if increment {
		c.Reply.Null()
		return
	}
	c.Reply.Int(int64(n))
}
