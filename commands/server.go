package commands

// adminFlags are those of most commands for administrators.
const adminFlags = Admin | NoScript | Loading | Stale

func ServerGroup() Group {
	rows := []Command{
		{Name: "INFO", Arity: -1, Flags: Loading | Stale | Dangerous,
			Syntax: "[section [section ...]]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Describes the server in sections of name:value lines.", Run: info},
		{Name: "TIME", Arity: 1, Flags: Loading | Stale | Fast, Since: "2.6.0", Cost: "O(1)",
			Summary: "Answers the server's time: unix seconds and microseconds.", Run: timeNow},
		{Name: "ROLE", Arity: 1, Flags: NoScript | Loading | Stale | Fast | Dangerous, Category: "admin",
			Since: "2.8.12", Cost: "O(1)",
			Summary: "Answers the role in replication: a master without replicas.", Run: role},
		{Name: "MONITOR", Arity: 1, Flags: adminFlags, Since: "1.0.0", Cost: "O(1)",
			Summary: "Shows every command that the server runs.", Run: monitor},
		{Name: "LOLWUT", Arity: -1, Flags: ReadOnly | Fast, Syntax: "[VERSION version]", Since: "5.0.0",
			Cost:    "O(1)",
			Summary: "Draws a city at night, another one each time, and names the version.", Run: lolwut},
		{Name: "REPLICAOF", Arity: 3, Flags: Admin | NoScript | Stale | NoAsyncLoading,
			Syntax: "<host port | NO ONE>", Since: "5.0.0", Cost: "O(1)",
			Summary: "Accepts NO ONE: the server is a master, and cannot be a replica.", Run: replicaOf},
		{Name: "SLAVEOF", Arity: 3, Flags: Admin | NoScript | Stale | NoAsyncLoading,
			Syntax: "<host port | NO ONE>", Since: "1.0.0", Cost: "O(1)",
			Summary: "Is the old name of REPLICAOF.", Run: replicaOf},
	}
	for _, more := range [][]Command{IntrospectionRows(), configRows(), saveRows(), snapshotRows(), slowlogRows(),
		memoryRows(), latencyRows(), aclRows(), debugRows(), keyspaceRows()} {
		rows = append(rows, more...)
	}
	return Group{Name: "server", Commands: rows}
}

func info(c *Ctx) error {
	var sections []string
	for c.Args.More() {
		sections = append(sections, c.Args.String())
	}
	c.Reply.Verbatim("txt", c.Host.Info(c, sections))
	return nil
}

func timeNow(c *Ctx) error {
	micros := c.Host.UnixMicros()
	c.Reply.Array(2)
	c.Reply.BulkInt(micros / 1e6)
	c.Reply.BulkInt(micros % 1e6)
	return nil
}

func role(c *Ctx) error {
	c.Reply.Array(3)
	c.Reply.BulkString("master")
	c.Reply.Int(0)
	c.Reply.Array(0)
	return nil
}

func monitor(c *Ctx) error {
	if c.InMulti {
		return ErrMonitorInMulti
	}
	c.Host.Monitor(c)
	return nil
}

func replicaOf(c *Ctx) error {
	if c.Args.Is("NO") && c.Args.Is("ONE") {
		c.Reply.OK()
		return nil
	}
	all := c.Args.All()
	if port, ok := ParseInt(all[2]); !ok || port < 0 || port > 65535 {
		return ErrMasterPort
	}
	return ErrNoReplication
}
