package text

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

func multiRows() []commands.Command {
	counted := commands.KeyCount(1, commands.OW|commands.Update)
	counted.Step = 2
	return []commands.Command{
		{Name: "MSET", Arity: -3, Tips: "request_policy:multi_shard response_policy:all_succeeded", Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 2, commands.OW|commands.Update)},
			Syntax: "key value [key value ...]", Since: "1.0.1", Cost: "O(n) for n keys",
			Summary: "Stores strings under several keys at once.", Run: mset},
		{Name: "MSETNX", Arity: -3, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 2, commands.OW|commands.Insert)},
			Syntax: "key value [key value ...]", Since: "1.0.1", Cost: "O(n) for n keys",
			Summary: "Stores strings under several keys if none of them exists.", Run: msetnx},
		{Name: "MSETEX", Arity: -4, Tips: "request_policy:multi_shard response_policy:all_succeeded", Flags: commands.Write | commands.DenyOOM | commands.MovableKeys, Keys: []commands.KeySpec{counted},
			Syntax: "numkeys key value [key value ...] [NX|XX] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]",
			Since:  "8.4.0", Cost: "O(n) for n keys",
			Summary: "Stores strings under several keys at once with an expiry, on request only if all of them exist or none does.", Run: msetex},
	}
}

func mset(c *commands.Ctx) error {
	pairs := c.Args.Rest()
	if len(pairs)%2 != 0 {
		return commands.ErrArity(c.Command)
	}
	if !c.Tx.Ready(2, pairs...) {
		return c.Tx.Err()
	}
	for i := 0; i < len(pairs); i += 2 {
		store(c, pairs[i], pairs[i+1], always, persistence.NoExpiry)
	}
	c.Reply.OK()
	return nil
}

func msetnx(c *commands.Ctx) error {
	pairs := c.Args.Rest()
	if len(pairs)%2 != 0 {
		return commands.ErrArity(c.Command)
	}
	for i := 0; i < len(pairs); i += 2 {
		if c.Tx.Kind(pairs[i]) != structures.KindNone {
			c.Reply.Int(0)
			return nil
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		store(c, pairs[i], pairs[i+1], always, persistence.NoExpiry)
	}
	c.Reply.Int(1)
	return nil
}

func msetex(c *commands.Ctx) error {
	a := &c.Args
	n := a.IntIn(1, math.MaxInt32, errNumPairs)
	if a.Err() == nil && 2*n > int64(a.Left()) {
		return errPairs
	}
	pairs := a.Take(2 * int(n))
	cond, ttl := always, expiryOption{}
	for a.More() {
		switch word := a.Word(); {
		case word == "NX" && cond != ifPresent:
			cond = ifAbsent
		case word == "XX" && cond != ifAbsent:
			cond = ifPresent
		case !ttl.read(a, word, whenKeep):
			a.Syntax()
		}
	}
	if err := a.Done(); err != nil {
		return err
	}
	e, err := ttl.expiry(c)
	if err != nil {
		return err
	}
	if !c.Tx.Ready(2, pairs...) {
		return c.Tx.Err()
	}
	for i := 0; cond != always && i < len(pairs); i += 2 {
		if (c.Tx.Kind(pairs[i]) == structures.KindNone) != (cond == ifAbsent) {
			c.Reply.Int(0)
			return nil
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		store(c, pairs[i], pairs[i+1], always, e)
	}
	c.Reply.Int(1)
	return nil
}
