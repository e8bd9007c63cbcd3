package lists

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/list"
)

func editRows() []commands.Command {
	return []commands.Command{
		{Name: "LSET", Arity: 4, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key index element", Since: "1.0.0", Cost: "O(n) for n nodes between the element and the nearer end",
			Summary: "Replaces an element of a list by its index.", Run: lset},
		{Name: "LINSERT", Arity: 5, Flags: commands.Write | commands.DenyOOM, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)},
			Syntax: "key BEFORE|AFTER pivot element", Since: "2.2.0", Cost: "O(n) for n elements before the pivot",
			Summary: "Puts an element next to the first one that equals the pivot.", Run: linsert},
		{Name: "LREM", Arity: 4, Flags: commands.Write, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key count element", Since: "1.0.0", Cost: "O(n) for n elements of the list",
			Summary: "Removes elements that equal a given one: the first, the last, or all.", Run: lrem},
		{Name: "LTRIM", Arity: 4, Flags: commands.Write, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Delete)},
			Syntax: "key start stop", Since: "1.0.0", Cost: "O(n) for n nodes removed",
			Summary: "Keeps the elements between two indexes, both included, and removes the others.", Run: ltrim},
	}
}

// lset reads the index only if there is a list, as Redis does.
func lset(c *commands.Ctx) error {
	key := c.Args.Key()
	l, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok {
		return commands.ErrNoKey
	}
	i, elem := c.Args.Int(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	set := l.Set(ch, int(i), elem)
	if err := c.Tx.Err(); err != nil {
		return err
	}
	if !set {
		return errIndexRange
	}
	c.Notify(commands.EventList, "lset", key)
	c.Reply.OK()
	return nil
}

// readSide reads BEFORE or AFTER.
func readSide(a *commands.Args) list.Side {
	switch a.Word() {
	case "BEFORE":
		return list.Before
	case "AFTER":
		return list.After
	}
	a.Syntax()
	return list.Before
}

func linsert(c *commands.Ctx) error {
	key, side := c.Args.Key(), readSide(&c.Args)
	pivot, elem := c.Args.Bytes(), c.Args.Bytes()
	if err := c.Args.Done(); err != nil {
		return err
	}
	l, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Int(0)
		return nil
	}
	n, found := l.Insert(ch, side, pivot, elem)
	if !found {
		c.Reply.Int(-1)
		return nil
	}
	c.Notify(commands.EventList, "linsert", key)
	c.Reply.Int(int64(n))
	return nil
}

func lrem(c *commands.Ctx) error {
	key, count, elem := c.Args.Key(), c.Args.Int(), c.Args.Bytes()
	if c.Args.Err() == nil && count == math.MinInt64 {
		c.Args.Fail(commands.ErrValueNotSymmetric) // its negative is no count
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	l, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	n := 0
	if ok {
		n = l.Remove(ch, int(count), elem)
	}
	if n > 0 {
		notifyTaken(c, l, "lrem", key)
	}
	c.Reply.Int(int64(n))
	return nil
}

// ltrim publishes its event even if it removed nothing, as Redis does.
func ltrim(c *commands.Ctx) error {
	key, start, stop := c.Args.Key(), c.Args.Int(), c.Args.Int()
	if err := c.Args.Done(); err != nil {
		return err
	}
	l, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if ok {
		l.Trim(ch, int(start), int(stop))
		if err := c.Tx.Err(); err != nil {
			return err
		}
		notifyTaken(c, l, "ltrim", key)
	}
	c.Reply.OK()
	return nil
}
