package commands

import (
	"math"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

func GenericGroup() Group {
	rows := append(keyRows(), scanRows()...)
	rows = append(rows, expireRows()...)
	rows = append(rows, objectRows()...)
	rows = append(rows, dumpRows()...)
	return Group{Name: "generic", Commands: append(rows, waitRows()...)}
}

func keyRows() []Command {
	return []Command{
		{Name: "DEL", Arity: -2, Flags: Write, Keys: []KeySpec{KeyRange(1, -1, 1, RM|Delete)},
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Removes keys and answers how many there were.", Run: del},
		{Name: "UNLINK", Arity: -2, Flags: Write | Fast, Keys: []KeySpec{KeyRange(1, -1, 1, RM|Delete)},
			Syntax: "key [key ...]", Since: "4.0.0", Cost: "O(n) for n keys; memory is reclaimed later",
			Summary: "Removes keys and leaves their memory to the collector.", Run: del},
		{Name: "EXISTS", Arity: -2, Flags: ReadOnly | Fast, Keys: []KeySpec{KeyRange(1, -1, 1, RO)},
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Counts which of the keys exist; a key named twice counts twice.", Run: exists},
		{Name: "TYPE", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{Key(1, RO)},
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Names the type of what a key holds.", Run: typeOf},
		{Name: "TOUCH", Arity: -2, Flags: ReadOnly | Fast, Keys: []KeySpec{KeyRange(1, -1, 1, RO)},
			Syntax: "key [key ...]", Since: "3.2.1", Cost: "O(n) for n keys",
			Summary: "Marks keys as used now and counts which of them exist.", Run: touch},
		{Name: "RENAME", Arity: 3, Flags: Write,
			Keys:   []KeySpec{Key(1, RW|Access|Delete), Key(2, OW|Update)},
			Syntax: "key newkey", Since: "1.0.0", Cost: "O(1)",
			Summary: "Gives a key another name, replacing what had that name.", Run: rename},
		{Name: "RENAMENX", Arity: 3, Flags: Write | Fast,
			Keys:   []KeySpec{Key(1, RW|Access|Delete), Key(2, OW|Insert)},
			Syntax: "key newkey", Since: "1.0.0", Cost: "O(1)",
			Summary: "Gives a key another name unless that is taken.", Run: renameNX},
		{Name: "COPY", Arity: -3, Flags: Write | DenyOOM,
			Keys:   []KeySpec{Key(1, RO|Access), Key(2, OW|Update)},
			Syntax: "source destination [DB destination-db] [REPLACE]", Since: "6.2.0",
			Cost:    "O(n) for n elements, O(1) for strings",
			Summary: "Copies what a key holds, with its expiry, to another key.", Run: copyKey},
		{Name: "MOVE", Arity: 3, Flags: Write | Fast, Keys: []KeySpec{Key(1, RW|Access|Update)},
			Syntax: "key db", Since: "1.0.0", Cost: "O(1)",
			Summary: "Moves a key to another database unless it exists there.", Run: move},
	}
}

// lookKind is the type of what a key holds, for a command that reads. A key
// that is missing is published as a miss.
func lookKind(c *Ctx, key []byte) structures.Kind {
	kind := c.Tx.Kind(key)
	if kind == structures.KindNone {
		c.NotifyMissed(key)
	}
	return kind
}

func del(c *Ctx) error {
	n := 0
	for _, key := range c.Args.Rest() {
		if c.Tx.Delete(key) {
			c.Notify(EventGeneric, "del", key)
			n++
		}
	}
	c.Reply.Int(int64(n))
	return nil
}

func exists(c *Ctx) error {
	n := 0
	for _, key := range c.Args.Rest() {
		if lookKind(c, key) != structures.KindNone {
			n++
		}
	}
	c.Reply.Int(int64(n))
	return nil
}

func typeOf(c *Ctx) error {
	c.Reply.Status(types.Name(lookKind(c, c.Args.Key())))
	return nil
}

func touch(c *Ctx) error {
	n := 0
	for _, key := range c.Args.Rest() {
		if !c.Tx.Touch(key) {
			c.NotifyMissed(key)
			continue
		}
		n++
	}
	c.Reply.Int(int64(n))
	return nil
}

func rename(c *Ctx) error {
	from, to := c.Args.Key(), c.Args.Key()
	if c.Tx.Kind(from) == structures.KindNone {
		return ErrNoKey
	}
	renameTo(c, from, to)
	c.Reply.OK()
	return nil
}

func renameNX(c *Ctx) error {
	from, to := c.Args.Key(), c.Args.Key()
	if c.Tx.Kind(from) == structures.KindNone {
		return ErrNoKey
	}
	if c.Tx.Kind(to) != structures.KindNone {
		c.Reply.Int(0)
		return nil
	}
	renameTo(c, from, to)
	c.Reply.Int(1)
	return nil
}

// renameTo gives from, which exists, the name to. To its own name nothing
// happens.
func renameTo(c *Ctx, from, to []byte) {
	if string(from) == string(to) {
		return
	}
	c.Tx.Rename(from, to)
	c.Notify(EventNew, "new", to)
	c.Notify(EventGeneric, "rename_from", from)
	c.Notify(EventGeneric, "rename_to", to)
}

func copyKey(c *Ctx) error {
	from, to := c.Args.Key(), c.Args.Key()
	db, replace := c.Client.DB(), false
	for c.Args.More() {
		switch {
		case c.Args.Is("REPLACE"):
			replace = true
		case c.Args.Left() >= 2 && c.Args.Is("DB"):
			db = database(c)
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if db == c.Client.DB() && string(from) == string(to) {
		return ErrSameObject
	}
	if lookKind(c, from) == structures.KindNone || !c.Tx.Copy(from, db, to, replace) {
		c.Reply.Int(0)
		return nil
	}
	notifyIn(c, db, EventNew, "new", to)
	notifyIn(c, db, EventGeneric, "copy_to", to)
	c.Reply.Int(1)
	return nil
}

func move(c *Ctx) error {
	key, db := c.Args.Key(), database(c)
	if err := c.Args.Done(); err != nil {
		return err
	}
	if db == c.Client.DB() {
		return ErrSameObject
	}
	if !c.Tx.Move(key, db) {
		c.Reply.Int(0)
		return nil
	}
	notifyIn(c, db, EventNew, "new", key)
	c.Notify(EventGeneric, "move_from", key)
	notifyIn(c, db, EventGeneric, "move_to", key)
	c.Reply.Int(1)
	return nil
}

// notifyIn publishes an event of another database than the client's.
func notifyIn(c *Ctx, db int, class EventClass, event string, key []byte) {
	if c.Host.NotifyClasses()&class != 0 {
		c.Host.Notify(class, event, db, key)
	}
}

// database reads the number of a database.
func database(c *Ctx) int {
	db := c.Args.Int()
	if db < math.MinInt32 || db > math.MaxInt32 {
		c.Args.Fail(ErrInt32Range)
	}
	if db < 0 || db >= int64(c.Host.Limits().Databases) {
		c.Args.Fail(ErrDBIndex)
	}
	return int(db)
}
