package lists

import (
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

func popRows() []commands.Command {
	one := []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete)}
	many := []commands.KeySpec{commands.KeyRange(1, -2, 1, commands.RW|commands.Access|commands.Delete)}
	return []commands.Command{
		{Name: "LPOP", Arity: -2, Flags: commands.Write | commands.Fast, Keys: one,
			Syntax: "key [count]", Since: "1.0.0", Cost: "O(n) for n elements returned",
			Summary: "Removes elements from the head of a list and returns them.",
			Run:     func(c *commands.Ctx) error { return pop(c, list.Head) }},
		{Name: "RPOP", Arity: -2, Flags: commands.Write | commands.Fast, Keys: one,
			Syntax: "key [count]", Since: "1.0.0", Cost: "O(n) for n elements returned",
			Summary: "Removes elements from the tail of a list and returns them.",
			Run:     func(c *commands.Ctx) error { return pop(c, list.Tail) }},
		{Name: "LMPOP", Arity: -4, Flags: commands.Write | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.KeyCount(1, commands.RW|commands.Access|commands.Delete)},
			Syntax: "numkeys key [key ...] LEFT|RIGHT [COUNT count]", Since: "7.0.0",
			Cost:    "O(n+m) for n keys and m elements returned",
			Summary: "Removes elements from the first list that is not empty and returns them.",
			Run:     func(c *commands.Ctx) error { return mpop(c, false) }},
		{Name: "BLPOP", Arity: -3, Flags: commands.Write | commands.Blocking, Keys: many,
			Syntax: "key [key ...] timeout", Types: commands.Types{"timeout": commands.ArgDouble}, Since: "2.0.0", Cost: "O(n) for n keys",
			Summary: "Removes and returns the first element of the first list that is not empty, waiting for one if needed.",
			Run:     func(c *commands.Ctx) error { return blockingPop(c, list.Head) }},
		{Name: "BRPOP", Arity: -3, Flags: commands.Write | commands.Blocking, Keys: many,
			Syntax: "key [key ...] timeout", Types: commands.Types{"timeout": commands.ArgDouble}, Since: "2.0.0", Cost: "O(n) for n keys",
			Summary: "Removes and returns the last element of the first list that is not empty, waiting for one if needed.",
			Run:     func(c *commands.Ctx) error { return blockingPop(c, list.Tail) }},
		{Name: "BLMPOP", Arity: -5, Flags: commands.Write | commands.Blocking | commands.MovableKeys,
			Keys:   []commands.KeySpec{commands.KeyCount(2, commands.RW|commands.Access|commands.Delete)},
			Syntax: "timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]", Types: commands.Types{"timeout": commands.ArgDouble}, Since: "7.0.0",
			Cost:    "O(n+m) for n keys and m elements returned",
			Summary: "Removes elements from the first list that is not empty and returns them, waiting for one if needed.",
			Run:     func(c *commands.Ctx) error { return mpop(c, true) }},
	}
}

// readPopCount reads the count of LPOP if there is one; without it a single
// element is asked for.
func readPopCount(c *commands.Ctx) (count int, single bool) {
	switch c.Args.Left() {
	case 0:
		return 1, true
	case 1:
		return int(c.Args.IntIn(0, math.MaxInt, commands.ErrMustBePositive)), false
	}
	c.Args.Fail(commands.ErrArity(c.Command))
	return 0, false
}

func pop(c *commands.Ctx, end list.End) error {
	key := c.Args.Key()
	count, single := readPopCount(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	l, ch, ok, err := edit(c, key)
	switch {
	case err != nil:
		return err
	case !ok && single:
		c.Reply.Null()
		return nil
	case !ok:
		c.Reply.NullArray()
		return nil
	case single:
		elem, _ := l.Pop(ch, end)
		c.Reply.Bulk(elem)
	default:
		replyPopped(c, l, ch, end, count)
	}
	if err := c.Tx.Err(); err != nil {
		return err
	}
	if count > 0 {
		notifyPop(c, l, end, key)
	}
	return nil
}

// replyPopped pops up to count elements and returns them in an array.
func replyPopped(c *commands.Ctx, l *list.List, ch *structures.Change, end list.End, count int) {
	c.Reply.Array(min(count, l.Len()))
	l.PopMany(ch, end, count, c.Reply.Bulk)
}

// takeOne pops one element of the first list that has any and returns it with
// its key; ok is false if there was none.
func takeOne(c *commands.Ctx, keys [][]byte, end list.End) (ok bool, err error) {
	for _, key := range keys {
		l, ch, ok, err := edit(c, key)
		if err != nil {
			return false, err
		}
		if ok {
			elem, _ := l.Pop(ch, end)
			c.Reply.Array(2)
			c.Reply.Bulk(key)
			c.Reply.Bulk(elem)
			if err := c.Tx.Err(); err != nil {
				return false, err
			}
			notifyPop(c, l, end, key)
			return true, nil
		}
	}
	return false, nil
}

// takeMany pops up to count elements of the first list that has any and
// returns them with its key; ok is false if there was none.
func takeMany(c *commands.Ctx, keys [][]byte, end list.End, count int) (ok bool, err error) {
	for _, key := range keys {
		l, ch, ok, err := edit(c, key)
		if err != nil {
			return false, err
		}
		if ok {
			c.Reply.Array(2)
			c.Reply.Bulk(key)
			replyPopped(c, l, ch, end, count)
			if err := c.Tx.Err(); err != nil {
				return false, err
			}
			notifyPop(c, l, end, key)
			return true, nil
		}
	}
	return false, nil
}

func mpop(c *commands.Ctx, blocking bool) error {
	return commands.MultiPop(c, blocking, readEnd, func(keys [][]byte, end list.End, count int) (bool, error) {
		return takeMany(c, keys, end, count)
	})
}

func blockingPop(c *commands.Ctx, end list.End) error {
	keys, timeout := c.Args.AllBut(1), c.Args.Timeout()
	if err := c.Args.Done(); err != nil {
		return err
	}
	return c.TakeOrWait(keys, timeout, func(keys [][]byte) (bool, error) { return takeOne(c, keys, end) })
}
