package lists

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

func Group() commands.Group {
	rows := append(pushRows(), popRows()...)
	rows = append(rows, moveRows()...)
	rows = append(rows, movesRows()...)
	rows = append(rows, readRows()...)
	return commands.Group{Name: "list", Commands: append(rows, editRows()...)}
}

func pushRows() []commands.Command {
	keys := []commands.KeySpec{commands.Key(1, commands.RW|commands.Insert)}
	const cost = "O(n) for n elements"
	return []commands.Command{
		{Name: "LPUSH", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "1.0.0", Cost: cost,
			Summary: "Puts elements at the head of a list, creating it if needed.",
			Run:     func(c *commands.Ctx) error { return push(c, list.Head) }},
		{Name: "RPUSH", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "1.0.0", Cost: cost,
			Summary: "Puts elements at the tail of a list, creating it if needed.",
			Run:     func(c *commands.Ctx) error { return push(c, list.Tail) }},
		{Name: "LPUSHX", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "2.2.0", Cost: cost,
			Summary: "Puts elements at the head of a list if the list exists.",
			Run:     func(c *commands.Ctx) error { return pushExisting(c, list.Head) }},
		{Name: "RPUSHX", Arity: -3, Flags: commands.Write | commands.DenyOOM | commands.Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "2.2.0", Cost: cost,
			Summary: "Puts elements at the tail of a list if the list exists.",
			Run:     func(c *commands.Ctx) error { return pushExisting(c, list.Tail) }},
	}
}

func push(c *commands.Ctx, end list.End) error {
	key, elems := c.Args.Key(), c.Args.Rest()
	c.NotifyNew(key)
	l, ch, _, err := persistence.Edit(c.Tx, key, list.New)
	if err != nil {
		return err
	}
	l.Push(ch, end, elems...)
	if err := c.Tx.Err(); err != nil {
		return err
	}
	c.Notify(commands.EventList, pushEvent(end), key)
	c.Reply.Int(int64(l.Len()))
	return nil
}

func pushExisting(c *commands.Ctx, end list.End) error {
	key, elems := c.Args.Key(), c.Args.Rest()
	l, ch, ok, err := edit(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Int(0)
		return nil
	}
	l.Push(ch, end, elems...)
	if err := c.Tx.Err(); err != nil {
		return err
	}
	c.Notify(commands.EventList, pushEvent(end), key)
	c.Reply.Int(int64(l.Len()))
	return nil
}

// edit finds a list to change; ok is false if the key does not exist.
func edit(c *commands.Ctx, key []byte) (l *list.List, ch *structures.Change, ok bool, err error) {
	return persistence.Edit[*list.List](c.Tx, key, nil)
}

func pushEvent(end list.End) string {
	if end == list.Head {
		return "lpush"
	}
	return "rpush"
}

// notifyPop publishes that elements were popped, and that the key is gone if
// they were the last.
func notifyPop(c *commands.Ctx, l *list.List, end list.End, key []byte) {
	event := "rpop"
	if end == list.Head {
		event = "lpop"
	}
	notifyTaken(c, l, event, key)
}

func notifyTaken(c *commands.Ctx, l *list.List, event string, key []byte) {
	c.Notify(commands.EventList, event, key)
	if l.Empty() {
		c.Notify(commands.EventGeneric, "del", key)
	}
}

// readEnd reads LEFT or RIGHT.
func readEnd(a *commands.Args) list.End {
	switch a.Word() {
	case "LEFT":
		return list.Head
	case "RIGHT":
		return list.Tail
	}
	a.Syntax()
	return list.Head
}
