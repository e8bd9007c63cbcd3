package sets

import (
	"bytes"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/set"
)

func writeRows() []commands.Command {
	return []commands.Command{
		{Name: "SADD", Arity: -3, Elements: commands.Elements{First: 2, Step: 1}, Flags: commands.Write | commands.DenyOOM | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key member [member ...]", Since: "1.0.0", Cost: "O(n) for n members",
			Summary: "Adds members to a set, creating it if needed, and returns how many are new.", Run: sadd},
		{Name: "SREM", Arity: -3, Elements: commands.Elements{First: 2, Step: 1}, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key member [member ...]", Since: "1.0.0", Cost: "O(n) for n members",
			Summary: "Removes members from a set and returns the number removed.", Run: srem},
		{Name: "SMOVE", Arity: 4, Flags: commands.Write | commands.Fast,
			Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete),
				commands.Key(2, commands.RW|commands.Insert)},
			Syntax: "source destination member", Since: "1.0.0", Cost: "O(1)",
			Summary: "Moves a member from one set to another.", Run: smove},
	}
}

func sadd(c *commands.Ctx) error {
	key, members := c.Args.Key(), c.Args.Rest()
	s, ch, err := editOrCreate(c, key)
	if err != nil {
		return err
	}
	if !s.ReadyAdd(members...) {
		return c.Tx.Err()
	}
	n := 0
	for _, member := range members {
		if s.Add(ch, member) {
			n++
		}
	}
	if n > 0 {
		c.Notify(commands.EventSet, "sadd", key)
	}
	c.Reply.Int(int64(n))
	return nil
}

func srem(c *commands.Ctx) error {
	key, members := c.Args.Key(), c.Args.Rest()
	s, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	n := 0
	if ok {
		if !s.Ready(members...) {
			return c.Tx.Err()
		}
		for _, member := range members {
			if s.Remove(ch, member) {
				n++
			}
		}
	}
	if n > 0 {
		notifyRemoved(c, "srem", s, key)
	}
	c.Reply.Int(int64(n))
	return nil
}

// smove does not look at the destination if there is no source. The member has the expiry that it had in the source, or none.
func smove(c *commands.Ctx) error {
	from, to, member := c.Args.Key(), c.Args.Key(), c.Args.Bytes()
	src, srcChange, ok, err := edit(c, from)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Int(0)
		return nil
	}
	held, exists, err := persistence.View[*set.Set](c.Tx, to)
	if err != nil {
		return err
	}
	if c.Tx.Err() != nil || !src.Ready(member) || exists && !held.ReadyExpire(member) {
		return c.Tx.Err()
	}
	if bytes.Equal(from, to) {
		c.Reply.IntBool(src.Has(member))
		return nil
	}
	ms, expires, _ := src.ExpiryOf(member)
	if !src.Remove(srcChange, member) {
		c.Reply.Int(0)
		return nil
	}
	notifyRemoved(c, "srem", src, from)
	dst, dstChange, err := editOrCreate(c, to)
	if err != nil {
		return err
	}
	if dst.Add(dstChange, member) {
		c.Notify(commands.EventSet, "sadd", to)
	}
	switch {
	case expires:
		if err := set.MayExpire(dstChange); err != nil {
			return err
		}
		dst.ExpireAt(dstChange, member, ms)
		c.Notify(commands.EventSet, "sexpire", to)
	case dst.Persist(dstChange, member):
		c.Notify(commands.EventSet, "spersist", to)
	}
	c.Reply.Int(1)
	return nil
}
