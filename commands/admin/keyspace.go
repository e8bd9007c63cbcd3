package admin

import "github.com/vigildb/vigil/commands"

// Databases is what the server does for clients when whole databases change.
type Databases interface {
	// InvalidateDB is called before a database loses its keys, for WATCH.
	InvalidateDB(db int)
	// WakeDB is called before a database gets the keys of another one
	// (SWAPDB), for WATCH and for the clients that wait for keys.
	WakeDB(db, other int)
}

// keyspaceRows are the commands of group "server" that work on whole databases.
func keyspaceRows() []commands.Command {
	return []commands.Command{
		{Name: "DBSIZE", Arity: 1, Tips: "request_policy:all_shards response_policy:agg_sum", Flags: commands.ReadOnly | commands.Fast | commands.Keyspace, Category: "keyspace",
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the number of keys in the database.", Run: dbSize},
		{Name: "FLUSHDB", Arity: -1, Tips: "request_policy:all_shards response_policy:all_succeeded", Flags: commands.Write | commands.Keyspace | commands.Dangerous | commands.Frees, Category: "keyspace",
			Syntax: "[ASYNC | SYNC]", Since: "1.0.0", Cost: "O(1); memory and disk are reclaimed later",
			Summary: "Removes all keys from the database.", Run: flushDB},
		{Name: "FLUSHALL", Arity: -1, Tips: "request_policy:all_shards response_policy:all_succeeded", Flags: commands.Write | commands.Keyspace | commands.Dangerous | commands.Frees, Category: "keyspace",
			Syntax: "[ASYNC | SYNC]", Since: "1.0.0", Cost: "O(1); memory and disk are reclaimed later",
			Databases: commands.AllDatabases,
			Summary:   "Removes all keys from all databases.", Run: flushAll},
		{Name: "SWAPDB", Arity: 3, Flags: commands.Write | commands.Fast | commands.Keyspace | commands.Dangerous, Category: "keyspace",
			Databases: func([][]byte) []int { return []int{1, 2} },
			Syntax:    "index1 index2", Since: "4.0.0", Cost: "O(n) for n clients that watch keys of either database or wait for them",
			Summary: "Exchanges the contents of two databases.", Run: swapDB},
	}
}

func dbSize(c *commands.Ctx) error {
	c.Reply.Int(int64(c.Tx.Databases().Size(c.Client.DB())))
	return nil
}

// readFlushMode reads ASYNC or SYNC. Both do the same: the keys are removed at
// once and their memory is freed in the background.
func readFlushMode(c *commands.Ctx) error {
	if c.Args.Left() > 1 || c.Args.More() && !c.Args.Is("ASYNC") && !c.Args.Is("SYNC") {
		return commands.ErrSyntax
	}
	return nil
}

func flushDB(c *commands.Ctx) error {
	if err := readFlushMode(c); err != nil {
		return err
	}
	db := c.Client.DB()
	c.Host.(Databases).InvalidateDB(db)
	c.Tx.Databases().Flush(db)
	c.Reply.OK()
	return nil
}

func flushAll(c *commands.Ctx) error {
	if err := readFlushMode(c); err != nil {
		return err
	}
	for db := range c.Host.Limits().Databases {
		c.Host.(Databases).InvalidateDB(db)
	}
	c.Tx.Databases().FlushAll()
	c.Reply.OK()
	return nil
}

func swapDB(c *commands.Ctx) error {
	const least, most = -1 << 31, 1<<31 - 1
	if c.Host.Limits().Slots {
		return errSwapInCluster
	}
	a := c.Args.IntIn(least, most, errFirstDBIndex)
	b := c.Args.IntIn(least, most, errSecondDBIndex)
	if err := c.Args.Done(); err != nil {
		return err
	}
	n := int64(c.Host.Limits().Databases)
	if a < 0 || a >= n || b < 0 || b >= n {
		return commands.ErrDBIndex
	}
	if a != b {
		c.Host.(Databases).WakeDB(int(a), int(b))
		c.Host.(Databases).WakeDB(int(b), int(a))
		c.Tx.Databases().Swap(int(a), int(b))
	}
	c.Reply.OK()
	return nil
}
