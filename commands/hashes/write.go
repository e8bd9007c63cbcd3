package hashes

import (
	"errors"
	"strconv"

	"github.com/vigildb/vigil/commands"
)

func writeRows() []commands.Command {
	update := []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}
	add := []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)}
	return []commands.Command{
		{Name: "HSET", Arity: -4, Elements: commands.Elements{First: 2, Step: 2}, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: update,
			Syntax: "key field value [field value ...]", Since: "2.0.0", Cost: "O(n) for n fields",
			Summary: "Sets fields of a hash and returns the number of new ones.", Run: hset},
		{Name: "HMSET", Arity: -4, Elements: commands.Elements{First: 2, Step: 2}, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: update,
			Syntax: "key field value [field value ...]", Since: "2.0.0", Cost: "O(n) for n fields",
			Summary: "Sets fields of a hash. HSET also returns the number of new ones.", Run: hmset},
		{Name: "HSETNX", Arity: 4, Elements: commands.Elements{First: 2}, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key field value", Since: "2.0.0", Cost: "O(1)",
			Summary: "Sets a field if the hash does not have it.", Run: hsetnx},
		{Name: "HDEL", Arity: -3, Elements: commands.Elements{First: 2, Step: 1}, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key field [field ...]", Since: "2.0.0", Cost: "O(n) for n fields",
			Summary: "Removes fields from a hash and returns the number removed.", Run: hdel},
		{Name: "HINCRBY", Arity: 4, Elements: commands.Elements{First: 2}, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: add,
			Syntax: "key field increment", Since: "2.0.0", Cost: "O(1)",
			Summary: "Adds an integer to a field. A missing field counts as 0.", Run: hincrby},
		{Name: "HINCRBYFLOAT", Arity: 4, Elements: commands.Elements{First: 2}, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: add,
			Syntax: "key field increment", Types: commands.Types{"increment": commands.ArgDouble}, Since: "2.6.0", Cost: "O(1)",
			Summary: "Adds a floating-point number to a field. A missing field counts as 0.", Run: hincrbyfloat},
	}
}

func hset(c *commands.Ctx) error {
	created, err := setFields(c)
	if err != nil {
		return err
	}
	c.Reply.Int(int64(created))
	return nil
}

func hmset(c *commands.Ctx) error {
	if _, err := setFields(c); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// setFields sets the pairs of the call and counts the fields that are new.
func setFields(c *commands.Ctx) (created int, err error) {
	key, pairs := c.Args.Key(), c.Args.Rest()
	if len(pairs)%2 != 0 {
		return 0, commands.ErrArity(c.Command)
	}
	h, ch, err := editOrCreate(c, key)
	if err != nil {
		return 0, err
	}
	if !h.ReadyPut(2, pairs...) {
		return 0, c.Tx.Err()
	}
	for i := 0; i < len(pairs); i += 2 {
		if h.Set(ch, pairs[i], pairs[i+1]) {
			created++
		}
	}
	notify(c, "hset", key, 2, pairs...)
	return created, nil
}

func hsetnx(c *commands.Ctx) error {
	key, name, value := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	h, ch, err := editOrCreate(c, key)
	if err != nil {
		return err
	}
	if err := ready(c, h, 1, name); err != nil {
		return err
	}
	if _, ok := h.Get(name, c.Now); ok {
		c.Reply.Int(0)
		return nil
	}
	h.Set(ch, name, value)
	notify(c, "hset", key, 1, name)
	c.Reply.Int(1)
	return nil
}

func hdel(c *commands.Ctx) error {
	key, fields := c.Args.Key(), c.Args.Rest()
	h, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if err := ready(c, h, 1, fields...); err != nil {
		return err
	}
	n, names := 0, c.PartNames()
	if ok {
		for _, name := range fields {
			if h.Delete(ch, name) {
				n++
				names.Add(name)
			}
		}
	}
	if n > 0 {
		c.NotifyParts(commands.EventHash, "hdel", key, &names)
		notifyEmptied(c, h, key)
	}
	c.Reply.Int(int64(n))
	return nil
}

func hincrby(c *commands.Ctx) error {
	key, name, by := c.Args.Key(), c.Args.Bytes(), c.Args.Int()
	if err := c.Args.Done(); err != nil {
		return err
	}
	h, ch, err := editOrCreate(c, key)
	if err != nil {
		return err
	}
	if err := ready(c, h, 1, name); err != nil {
		return err
	}
	var n int64
	if value, ok := h.Get(name, c.Now); ok {
		if n, ok = commands.ParseInt(value); !ok {
			return errNotInteger
		}
	}
	sum := n + by
	if (sum > n) != (by > 0) && by != 0 {
		return commands.ErrOverflow
	}
	var digits [20]byte
	h.SetKeepTTL(ch, name, strconv.AppendInt(digits[:0], sum, 10))
	notify(c, "hincrby", key, 1, name)
	c.Reply.Int(sum)
	return nil
}

func hincrbyfloat(c *commands.Ctx) error {
	key, name, by := c.Args.Key(), c.Args.Bytes(), c.Args.Bytes()
	if x, ok := commands.ParseLongDouble(by); !ok {
		return commands.ErrNotFloat
	} else if x.IsInf() {
		return errIncrNaNOrInf
	}
	h, ch, err := editOrCreate(c, key)
	if err != nil {
		return err
	}
	if err := ready(c, h, 1, name); err != nil {
		return err
	}
	value, ok := h.Get(name, c.Now)
	if !ok {
		value = []byte("0")
	}
	sum, err := commands.AddLongDouble(value, by)
	if errors.Is(err, commands.ErrNotFloat) {
		return errNotFloat
	}
	if err != nil {
		return err
	}
	h.SetKeepTTL(ch, name, sum)
	notify(c, "hincrbyfloat", key, 1, name)
	c.Reply.Bulk(sum)
	return nil
}
