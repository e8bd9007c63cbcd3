package keys

import (
	"bytes"
	"math"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

func Group() commands.Group {
	rows := append(keyRows(), scanRows()...)
	rows = append(rows, expireRows()...)
	rows = append(rows, objectRows()...)
	rows = append(rows, blessRows()...)
	rows = append(rows, dumpRows()...)
	rows = append(rows, migrateRows()...)
	rows = append(rows, sortRows()...)
	return commands.Group{Name: "generic", Commands: append(rows, waitRows()...)}
}

func keyRows() []commands.Command {
	return []commands.Command{
		{Name: "DEL", Arity: -2, Tips: "request_policy:multi_shard response_policy:agg_sum", Flags: commands.Write | commands.Frees, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RM|commands.Delete)},
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Removes keys and returns the number removed.", Run: del},
		{Name: "UNLINK", Arity: -2, Tips: "request_policy:multi_shard response_policy:agg_sum", Flags: commands.Write | commands.Fast | commands.Frees, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RM|commands.Delete)},
			Syntax: "key [key ...]", Since: "4.0.0", Cost: "O(n) for n keys; memory is reclaimed later",
			Summary: "Removes keys and frees their memory in the background.", Run: del},
		{Name: "EXISTS", Arity: -2, Tips: "request_policy:multi_shard response_policy:agg_sum", Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RO)},
			Syntax: "key [key ...]", Since: "1.0.0", Cost: "O(n) for n keys",
			Summary: "Returns how many of the keys exist; a key named twice counts twice.", Run: exists},
		{Name: "TYPE", Arity: 2, Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RO)},
			Syntax: "key", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the type of the value at a key.", Run: typeOf},
		{Name: "TOUCH", Arity: -2, Tips: "request_policy:multi_shard response_policy:agg_sum", Flags: commands.ReadOnly | commands.Fast, Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RO)},
			Syntax: "key [key ...]", Since: "3.2.1", Cost: "O(n) for n keys",
			Summary: "Marks keys as used now and returns how many of them exist.", Run: touch},
		{Name: "RENAME", Arity: 3, Flags: commands.Write,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete), commands.Key(2, commands.OW|commands.Update)},
			Syntax: "key newkey", Since: "1.0.0", Cost: "O(1)",
			Summary: "Renames a key, replacing any existing key of the new name.", Run: rename},
		{Name: "RENAMENX", Arity: 3, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Delete), commands.Key(2, commands.OW|commands.Insert)},
			Syntax: "key newkey", Since: "1.0.0", Cost: "O(1)",
			Summary: "Renames a key if no key has the new name.", Run: renameNX},
		{Name: "COPY", Arity: -3, Flags: commands.Write | commands.DenyOOM,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RO|commands.Access), commands.Key(2, commands.OW|commands.Update)},
			Syntax: "source destination [DB destination-db] [REPLACE]", Since: "6.2.0", Databases: copyDatabases,
			Cost:    "O(n) for n elements, O(1) for strings",
			Summary: "Copies the value and the expiry of a key to another key.", Run: copyKey},
		{Name: "MOVE", Arity: 3, Flags: commands.Write | commands.Fast, Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Access|commands.Update)},
			Syntax: "key db", Since: "1.0.0", Cost: "O(1)", Databases: func([][]byte) []int { return []int{2} },
			Summary: "Moves a key to another database if it does not exist there.", Run: move},
	}
}

// copyDatabases returns where COPY names databases. The last one counts.
func copyDatabases(argv [][]byte) (named []int) {
	for i := 3; i+1 < len(argv); i++ {
		if commands.EqualFold(argv[i], "DB") {
			i++
			named = append(named, i)
		}
	}
	return named
}

// lookKind is the type of what a key holds, for a command that reads. A key
// that is missing is published as a miss.
func lookKind(c *commands.Ctx, key []byte) structures.Kind {
	kind := c.Tx.Kind(key)
	c.Looked(key, kind != structures.KindNone, c.Tx.Err())
	return kind
}

func del(c *commands.Ctx) error {
	n, keys := 0, c.Args.Rest()
	if !c.Tx.Ready(1, keys...) {
		return c.Tx.Err()
	}
	for _, key := range keys {
		if c.Tx.Delete(key) {
			c.Notify(commands.EventGeneric, "del", key)
			n++
		}
	}
	c.Reply.Int(int64(n))
	return nil
}

func exists(c *commands.Ctx) error {
	n := 0
	for _, key := range c.Args.Rest() {
		if lookKind(c, key) != structures.KindNone {
			n++
		}
	}
	c.Reply.Int(int64(n))
	return nil
}

func typeOf(c *commands.Ctx) error {
	c.Reply.Status(types.Name(lookKind(c, c.Args.Key())))
	return nil
}

func touch(c *commands.Ctx) error {
	n := 0
	for _, key := range c.Args.Rest() {
		found := c.Tx.Usage().Touch(key)
		c.Looked(key, found, c.Tx.Err())
		if found {
			n++
		}
	}
	c.Reply.Int(int64(n))
	return nil
}

func rename(c *commands.Ctx) error {
	return c.Apart(func(c *commands.Ctx) (*commands.Job, error) {
		from, to := c.Args.Key(), c.Args.Key()
		return beginRename(c, from, to, func(c *commands.Ctx, do func()) {
			do()
			c.Reply.OK()
		})
	})
}

func renameNX(c *commands.Ctx) error {
	return c.Apart(func(c *commands.Ctx) (*commands.Job, error) {
		from, to := c.Args.Key(), bytes.Clone(c.Args.Key())
		return beginRename(c, from, to, func(c *commands.Ctx, do func()) {
			if c.Tx.Kind(to) != structures.KindNone {
				c.Reply.Int(0)
				return
			}
			do()
			c.Reply.Int(1)
		})
	})
}

// beginRename gives from the name to, as a part of end, which calls do or does not. To its own name nothing happens.
func beginRename(c *commands.Ctx, from, to []byte, end func(c *commands.Ctx, do func())) (*commands.Job, error) {
	switch {
	case c.Tx.Kind(from) == structures.KindNone:
		return nil, commands.ErrNoKey
	case string(from) == string(to):
		return &commands.Job{Work: func() error { return nil }, End: func(c *commands.Ctx) error {
			end(c, func() {})
			return nil
		}}, nil
	}
	from, to = bytes.Clone(from), bytes.Clone(to)
	return preparing(c, from, func(c *commands.Ctx, p *persistence.Prepared) error {
		end(c, func() {
			if p != nil {
				c.Tx.Transfers().MovePrepared(from, c.Client.DB(), to, p)
			} else {
				c.Tx.Transfers().Rename(from, to)
			}
			c.Notify(commands.EventNew, "new", to)
			c.Notify(commands.EventGeneric, "rename_from", from)
			c.Notify(commands.EventGeneric, "rename_to", to)
		})
		return nil
	}), nil
}

// preparing is a job that prepares a copy of the value of a key, if it is large and can be copied in little time, for place, which stores
// it. p is nil otherwise.
func preparing(c *commands.Ctx, key []byte, place func(c *commands.Ctx, p *persistence.Prepared) error) *commands.Job {
	fork, size := forkAny(c, key, c.Tx.Kind(key))
	var p *persistence.Prepared
	return &commands.Job{
		Bytes: 3 * size, // its record, and that in the journal
		Keys:  [][]byte{key},
		Work: func() error {
			if fork != nil {
				p = persistence.Prepare(fork)
			}
			return nil
		},
		End: func(c *commands.Ctx) error { return place(c, p) },
	}
}

func copyKey(c *commands.Ctx) error { return c.Apart(beginCopy) }

func beginCopy(c *commands.Ctx) (*commands.Job, error) {
	from, to := c.Args.Key(), c.Args.Key()
	db, replace := c.Client.DB(), false
	for c.Args.More() {
		switch {
		case c.Args.Is("REPLACE"):
			replace = true
		case c.Args.Left() >= 2 && c.Args.Is("DB"):
			db = readDB(c)
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return nil, err
	}
	if db != 0 && c.Host.Limits().OneDatabase {
		return nil, errCopyInCluster
	}
	if db == c.Client.DB() && string(from) == string(to) {
		return nil, errSameObject
	}
	lookKind(c, from)
	from, to = bytes.Clone(from), bytes.Clone(to)
	return preparing(c, from, func(c *commands.Ctx, p *persistence.Prepared) error {
		if made, err := c.Tx.Transfers().CopyPrepared(from, db, to, replace, p); err != nil || !made {
			c.Reply.Int(0)
			return err
		}
		notifyIn(c, db, commands.EventNew, "new", to)
		notifyIn(c, db, commands.EventGeneric, "copy_to", to)
		c.Reply.Int(1)
		return nil
	}), nil
}

func move(c *commands.Ctx) error { return c.Apart(beginMove) }

func beginMove(c *commands.Ctx) (*commands.Job, error) {
	if c.Host.Limits().OneDatabase {
		return nil, errMoveInCluster
	}
	key, db := bytes.Clone(c.Args.Key()), readDB(c)
	if err := c.Args.Done(); err != nil {
		return nil, err
	}
	if db == c.Client.DB() {
		return nil, errSameObject
	}
	return preparing(c, key, func(c *commands.Ctx, p *persistence.Prepared) error {
		if !moveTo(c, key, db, p) {
			c.Reply.Int(0)
			return nil
		}
		notifyIn(c, db, commands.EventNew, "new", key)
		c.Notify(commands.EventGeneric, "move_from", key)
		notifyIn(c, db, commands.EventGeneric, "move_to", key)
		c.Reply.Int(1)
		return nil
	}), nil
}

// moveTo moves a key to a database, and reports false if it is absent, or exists there.
func moveTo(c *commands.Ctx, key []byte, db int, p *persistence.Prepared) bool {
	if p == nil {
		return c.Tx.Transfers().Move(key, db)
	}
	from := c.Tx.DB()
	c.Tx.Select(db)
	exists := c.Tx.Kind(key) != structures.KindNone
	c.Tx.Select(from)
	if exists {
		return false
	}
	return c.Tx.Transfers().MovePrepared(key, db, key, p)
}

// notifyIn publishes an event of another database than the client's.
func notifyIn(c *commands.Ctx, db int, class commands.EventClass, event string, key []byte) {
	if c.Host.NotifyClasses()&class != 0 {
		c.Host.Notify(class, event, db, key)
	}
}

// database reads the number of a database.
func readDB(c *commands.Ctx) int {
	db := c.Args.Int()
	if db < math.MinInt32 || db > math.MaxInt32 {
		c.Args.Fail(commands.ErrInt32Range)
	}
	if err := c.CheckDB(db); err != nil {
		c.Args.Fail(err)
	}
	return int(db)
}
