package lists

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

func moveRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete), commands.Key(2, commands.RW|commands.Insert)}
	return []commands.Command{
		{Name: "LMOVE", Arity: 5, Flags: commands.Write | commands.DenyOOM, Keys: keys,
			Syntax: "source destination LEFT|RIGHT LEFT|RIGHT", Since: "6.2.0", Cost: "O(1)",
			Summary: "Removes an element from an end of a list, puts it at an end of another and returns it.", Run: lmove},
		{Name: "RPOPLPUSH", Arity: 3, Flags: commands.Write | commands.DenyOOM, Keys: keys,
			Syntax: "source destination", Since: "1.2.0", Cost: "O(1)",
			Summary: "Removes the last element of a list, puts it at the head of another and returns it.", Run: rpoplpush},
		{Name: "BLMOVE", Arity: 6, Flags: commands.Write | commands.DenyOOM | commands.Blocking, Keys: keys,
			Syntax: "source destination LEFT|RIGHT LEFT|RIGHT timeout", Types: commands.Types{"timeout": commands.ArgDouble}, Since: "6.2.0", Cost: "O(1)",
			Summary: "Does the same as LMOVE, waiting for an element if needed.", Run: blmove},
		{Name: "BRPOPLPUSH", Arity: 4, Flags: commands.Write | commands.DenyOOM | commands.Blocking, Keys: keys,
			Syntax: "source destination timeout", Types: commands.Types{"timeout": commands.ArgDouble}, Since: "2.2.0", Cost: "O(1)",
			Summary: "Does the same as RPOPLPUSH, waiting for an element if needed.", Run: brpoplpush},
	}
}

func lmove(c *commands.Ctx) error {
	from, to := c.Args.Key(), c.Args.Key()
	out, in := readEnd(&c.Args), readEnd(&c.Args)
	if err := c.Args.Done(); err != nil {
		return err
	}
	return moveOrNull(c, from, to, out, in)
}

func rpoplpush(c *commands.Ctx) error {
	return moveOrNull(c, c.Args.Key(), c.Args.Key(), list.Tail, list.Head)
}

func moveOrNull(c *commands.Ctx, from, to []byte, out, in list.End) error {
	ok, err := moveElement(c, from, to, out, in)
	if err == nil && !ok {
		c.Reply.Null()
	}
	return err
}

// moveElement pops from one list, pushes to the other and returns the element.
// ok is false if from does not exist; to is not looked at then. Nothing is
// popped if to holds something else than a list.
func moveElement(c *commands.Ctx, from, to []byte, out, in list.End) (ok bool, err error) {
	src, srcChange, ok, err := edit(c, from)
	if err != nil || !ok {
		return false, err
	}
	if string(from) == string(to) {
		elem, ok := src.Rotate(srcChange, out, in)
		if !ok {
			return false, c.Tx.Err()
		}
		c.Reply.Bulk(elem)
		c.Notify(commands.EventList, pushEvent(in), to)
		notifyPop(c, src, out, from)
		return true, nil
	}
	if !src.Ready(out) {
		return false, c.Tx.Err()
	}
	c.NotifyNew(to)
	dst, dstChange, _, err := persistence.Edit(c.Tx, to, list.New)
	if err != nil {
		return false, err
	}
	if !dst.Ready(in) {
		return false, c.Tx.Err()
	}
	elem, _ := src.Pop(srcChange, out)
	c.Reply.Bulk(elem)
	dst.Push(dstChange, in, elem)
	c.Notify(commands.EventList, pushEvent(in), to)
	notifyPop(c, src, out, from)
	return true, nil
}

func blmove(c *commands.Ctx) error {
	from, to := c.Args.Key(), c.Args.Key()
	out, in := readEnd(&c.Args), readEnd(&c.Args)
	timeout := c.Args.Timeout()
	if err := c.Args.Done(); err != nil {
		return err
	}
	return moveOrPark(c, from, to, out, in, timeout)
}

func brpoplpush(c *commands.Ctx) error {
	from, to, timeout := c.Args.Key(), c.Args.Key(), c.Args.Timeout()
	if err := c.Args.Done(); err != nil {
		return err
	}
	return moveOrPark(c, from, to, list.Tail, list.Head, timeout)
}

// moveOrPark moves an element or waits for one. A client that waits already
// continues to wait if the source came to hold something else than a list; if
// the destination did, it gets an error, and the element stays.
func moveOrPark(c *commands.Ctx, from, to []byte, out, in list.End, millis int64) error {
	if c.Woken != nil && isNoList(c, from) {
		return parkMove(c, from, millis)
	}
	ok, err := moveElement(c, from, to, out, in)
	if ok || err != nil {
		return err
	}
	return parkMove(c, from, millis)
}

// isNoList reports that a key holds something else than a list.
func isNoList(c *commands.Ctx, key []byte) bool {
	_, _, err := persistence.View[*list.List](c.Tx, key)
	return errors.Is(err, structures.ErrWrongType)
}

// parkMove waits for the source. After the timeout Redis returns a null
// array, though the reply would be a string; but inside MULTI, where nothing
// waits, a null string.
func parkMove(c *commands.Ctx, from []byte, millis int64) error {
	if c.InMulti {
		c.Reply.Null()
		return nil
	}
	return c.Park([][]byte{from}, millis, (*commands.Reply).NullArray)
}
