package hashes

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/hash"
)

func readRows() []commands.Command {
	look := []commands.KeySpec{commands.Key(1, commands.RO|commands.Access)}
	meta := []commands.KeySpec{commands.Key(1, commands.RO)}
	return []commands.Command{
		{Name: "HGET", Arity: 3, Elements: commands.Elements{First: 2}, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key field", Since: "2.0.0", Cost: "O(1)",
			Summary: "Returns the value of a field.", Run: hget},
		{Name: "HMGET", Arity: -3, Elements: commands.Elements{First: 2, Step: 1}, Flags: commands.ReadOnly | commands.Fast, Keys: look,
			Syntax: "key field [field ...]", Since: "2.0.0", Cost: "O(n) for n fields",
			Summary: "Returns the values of several fields.", Run: hmget},
		{Name: "HGETALL", Arity: 2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: look,
			Syntax: "key", Since: "2.0.0", Cost: "O(n) for n fields of the hash",
			Summary: "Returns all fields of a hash and their values.", Run: hgetall},
		{Name: "HKEYS", Arity: 2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: look,
			Syntax: "key", Since: "2.0.0", Cost: "O(n) for n fields of the hash",
			Summary: "Returns all fields of a hash.", Run: hkeys},
		{Name: "HVALS", Arity: 2, Tips: "nondeterministic_output_order", Flags: commands.ReadOnly, Keys: look,
			Syntax: "key", Since: "2.0.0", Cost: "O(n) for n fields of the hash",
			Summary: "Returns all values of a hash.", Run: hvals},
		{Name: "HLEN", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: meta,
			Syntax: "key", Since: "2.0.0", Cost: "O(1)",
			Summary: "Returns the number of fields of a hash.", Run: hlen},
		{Name: "HEXISTS", Arity: 3, Elements: commands.Elements{First: 2}, Flags: commands.ReadOnly | commands.Fast, Keys: meta,
			Syntax: "key field", Since: "2.0.0", Cost: "O(1)",
			Summary: "Reports whether a hash has a field.", Run: hexists},
		{Name: "HSTRLEN", Arity: 3, Elements: commands.Elements{First: 2}, Flags: commands.ReadOnly | commands.Fast, Keys: meta,
			Syntax: "key field", Since: "3.2.0", Cost: "O(1)",
			Summary: "Returns the length of a field's value.", Run: hstrlen},
	}
}

// field reads the value of a field; ok is false if there is no such key or
// field.
func field(c *commands.Ctx, key, name []byte) (value []byte, ok bool, err error) {
	h, ok, err := view(c, key)
	if !ok || err != nil {
		return nil, false, err
	}
	value, ok = h.Get(name, c.Now)
	return value, ok, nil
}

func hget(c *commands.Ctx) error {
	value, ok, err := field(c, c.Args.Key(), c.Args.Bytes())
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Null()
		return nil
	}
	c.Reply.Bulk(value)
	return nil
}

func hexists(c *commands.Ctx) error {
	_, ok, err := field(c, c.Args.Key(), c.Args.Bytes())
	if err != nil {
		return err
	}
	n := int64(0)
	if ok {
		n = 1
	}
	c.Reply.Int(n)
	return nil
}

func hstrlen(c *commands.Ctx) error {
	value, _, err := field(c, c.Args.Key(), c.Args.Bytes())
	if err != nil {
		return err
	}
	c.Reply.Int(int64(len(value)))
	return nil
}

func hmget(c *commands.Ctx) error {
	key, fields := c.Args.Key(), c.Args.Rest()
	h, ok, err := view(c, key)
	if err != nil {
		return err
	}
	c.Reply.Array(len(fields))
	for _, name := range fields {
		replyField(c, h, ok, name)
	}
	return nil
}

// replyField writes the value of a field, or null if there is no hash or no
// such field.
func replyField(c *commands.Ctx, h *hash.Hash, ok bool, name []byte) (found bool) {
	if ok {
		if value, found := h.Get(name, c.Now); found {
			c.Reply.Bulk(value)
			return true
		}
	}
	c.Reply.Null()
	return false
}

func hlen(c *commands.Ctx) error {
	h, ok, err := view(c, c.Args.Key())
	return c.ReplyLen(h, ok, err)
}

func hgetall(c *commands.Ctx) error {
	return wholeHash(c, (*commands.Reply).Map, func(name, value []byte) {
		c.Reply.Bulk(name)
		c.Reply.Bulk(value)
	})
}

func hkeys(c *commands.Ctx) error {
	return wholeHash(c, (*commands.Reply).Array, func(name, _ []byte) { c.Reply.Bulk(name) })
}

func hvals(c *commands.Ctx) error {
	return wholeHash(c, (*commands.Reply).Array, func(_, value []byte) { c.Reply.Bulk(value) })
}

// wholeHash replies with a part of each field; a missing key is an empty
// hash.
func wholeHash(c *commands.Ctx, begin func(*commands.Reply, int), write func(name, value []byte)) error {
	h, ok, err := view(c, c.Args.Key())
	if err != nil {
		return err
	}
	if !ok {
		begin(&c.Reply, 0)
		return nil
	}
	begin(&c.Reply, h.Live(c.Now))
	h.Each(c.Now, func(name, value []byte, _ int64) { write(name, value) })
	return nil
}
