package commands

func TransactionGroup() Group {
	return Group{Name: "transactions", Commands: []Command{
		{Name: "MULTI", Arity: 1, Flags: sessionFlags | Fast | AllowBusy | NotQueued,
			Since: "1.2.0", Cost: "O(1)",
			Summary: "Begins a transaction: the calls that follow are queued.", Run: multi},
		{Name: "EXEC", Arity: 1, Flags: sessionFlags | SkipSlowlog | NotQueued | LocksQueue,
			Since: "1.2.0", Cost: "That of the queued calls.",
			Summary: "Runs the queued calls as one.", Run: exec},
		{Name: "DISCARD", Arity: 1, Flags: sessionFlags | Fast | AllowBusy | NotQueued,
			Since: "2.0.0", Cost: "O(n) for n queued calls",
			Summary: "Drops the queued calls and ends the transaction.", Run: discard},
		{Name: "WATCH", Arity: -2, Flags: sessionFlags | Fast | AllowBusy | NotQueued | LocksKeys,
			Keys: []KeySpec{KeyRange(1, -1, 1, RO)}, Syntax: "key [key ...]", Since: "2.2.0", Cost: "O(1) for each key",
			Summary: "Makes the next EXEC fail if one of the keys changes before it.", Run: watch},
		{Name: "UNWATCH", Arity: 1, Flags: sessionFlags | Fast | AllowBusy,
			Since: "2.2.0", Cost: "O(1)",
			Summary: "Forgets the watched keys.", Run: unwatch},
	}}
}

func multi(c *Ctx) error { return c.Host.Multi(c) }

func exec(c *Ctx) error { return c.Host.Exec(c) }

func discard(c *Ctx) error { return c.Host.Discard(c) }

func watch(c *Ctx) error { return c.Host.Watch(c, c.Args.Rest()) }

func unwatch(c *Ctx) error {
	c.Host.Unwatch(c)
	c.Reply.OK()
	return nil
}
