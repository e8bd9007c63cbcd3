package commands

import (
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

func ListGroup() Group {
	rows := append(listPushRows(), listPopRows()...)
	rows = append(rows, listMoveRows()...)
	rows = append(rows, listReadRows()...)
	return Group{Name: "list", Commands: append(rows, listEditRows()...)}
}

func listPushRows() []Command {
	keys := []KeySpec{Key(1, RW|Insert)}
	const cost = "O(n) for n elements"
	return []Command{
		{Name: "LPUSH", Arity: -3, Flags: Write | DenyOOM | Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "1.0.0", Cost: cost,
			Summary: "Puts elements at the head of a list, making it if needed.",
			Run:     func(c *Ctx) error { return push(c, structures.Head) }},
		{Name: "RPUSH", Arity: -3, Flags: Write | DenyOOM | Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "1.0.0", Cost: cost,
			Summary: "Puts elements at the tail of a list, making it if needed.",
			Run:     func(c *Ctx) error { return push(c, structures.Tail) }},
		{Name: "LPUSHX", Arity: -3, Flags: Write | DenyOOM | Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "2.2.0", Cost: cost,
			Summary: "Puts elements at the head of a list that exists.",
			Run:     func(c *Ctx) error { return pushExisting(c, structures.Head) }},
		{Name: "RPUSHX", Arity: -3, Flags: Write | DenyOOM | Fast, Keys: keys,
			Syntax: "key element [element ...]", Since: "2.2.0", Cost: cost,
			Summary: "Puts elements at the tail of a list that exists.",
			Run:     func(c *Ctx) error { return pushExisting(c, structures.Tail) }},
	}
}

func push(c *Ctx, end structures.End) error {
	key, elems := c.Args.Key(), c.Args.Rest()
	c.NotifyNew(key)
	l, ch, _, err := persistence.Edit(c.Tx, key, structures.NewList)
	if err != nil {
		return err
	}
	l.Push(ch, end, elems...)
	c.Notify(EventList, pushEvent(end), key)
	c.Reply.Int(int64(l.Len()))
	return nil
}

func pushExisting(c *Ctx, end structures.End) error {
	key, elems := c.Args.Key(), c.Args.Rest()
	l, ch, ok, err := editList(c, key)
	if err != nil {
		return err
	}
	if !ok {
		c.Reply.Int(0)
		return nil
	}
	l.Push(ch, end, elems...)
	c.Notify(EventList, pushEvent(end), key)
	c.Reply.Int(int64(l.Len()))
	return nil
}

// editList finds a list to change; ok is false if the key does not exist.
func editList(c *Ctx, key []byte) (l *structures.List, ch *structures.Change, ok bool, err error) {
	return persistence.Edit[*structures.List](c.Tx, key, nil)
}

func pushEvent(end structures.End) string {
	if end == structures.Head {
		return "lpush"
	}
	return "rpush"
}

// notifyPop publishes that elements were popped, and that the key is gone if
// they were the last.
func notifyPop(c *Ctx, l *structures.List, end structures.End, key []byte) {
	event := "rpop"
	if end == structures.Head {
		event = "lpop"
	}
	notifyTaken(c, l, event, key)
}

func notifyTaken(c *Ctx, l *structures.List, event string, key []byte) {
	c.Notify(EventList, event, key)
	if l.Empty() {
		c.Notify(EventGeneric, "del", key)
	}
}

// endOf reads LEFT or RIGHT.
func endOf(a *Args) structures.End {
	switch a.Word() {
	case "LEFT":
		return structures.Head
	case "RIGHT":
		return structures.Tail
	}
	a.Syntax()
	return structures.Head
}
