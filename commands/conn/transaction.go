package conn

import "github.com/vigildb/vigil/commands"

// Transactions is MULTI and WATCH for the client of the call.
type Transactions interface {
	Multi(c *commands.Ctx) error
	Exec(c *commands.Ctx) error
	Discard(c *commands.Ctx) error
	Watch(c *commands.Ctx, keys [][]byte) error
	Unwatch(c *commands.Ctx)
}

func TransactionGroup() commands.Group {
	return commands.Group{Name: "transactions", Commands: []commands.Command{
		{Name: "MULTI", Arity: 1, Flags: sessionFlags | commands.Fast | commands.AllowBusy | commands.NotQueued,
			Since: "1.2.0", Cost: "O(1)",
			Summary: "Starts a transaction: the commands that follow are queued.", Run: multi},
		{Name: "EXEC", Arity: 1, Flags: sessionFlags | commands.SkipSlowlog | commands.NotQueued | commands.LocksQueue,
			Since: "1.2.0", Cost: "The sum of the queued commands.",
			Summary: "Runs the queued commands as one transaction.", Run: exec},
		{Name: "DISCARD", Arity: 1, Flags: sessionFlags | commands.Fast | commands.AllowBusy | commands.NotQueued,
			Since: "2.0.0", Cost: "O(n) for n queued commands",
			Summary: "Discards the queued commands and ends the transaction.", Run: discard},
		{Name: "WATCH", Arity: -2, Flags: sessionFlags | commands.Fast | commands.AllowBusy | commands.NotQueued | commands.NoMulti | commands.LocksKeys | commands.LeaderOnly,
			Keys: []commands.KeySpec{commands.KeyRange(1, -1, 1, commands.RO)}, Syntax: "key [key ...]", Since: "2.2.0", Cost: "O(1) for each key",
			Summary: "Watches keys: the next EXEC fails if any of them changes before it.", Run: watch},
		{Name: "UNWATCH", Arity: 1, Flags: sessionFlags | commands.Fast | commands.AllowBusy,
			Since: "2.2.0", Cost: "O(1)",
			Summary: "Stops watching all keys.", Run: unwatch},
	}}
}

func multi(c *commands.Ctx) error { return c.Host.(Transactions).Multi(c) }

func exec(c *commands.Ctx) error { return c.Host.(Transactions).Exec(c) }

func discard(c *commands.Ctx) error { return c.Host.(Transactions).Discard(c) }

func watch(c *commands.Ctx) error { return c.Host.(Transactions).Watch(c, c.Args.Rest()) }

func unwatch(c *commands.Ctx) error {
	c.Host.(Transactions).Unwatch(c)
	c.Reply.OK()
	return nil
}
