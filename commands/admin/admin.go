package admin

import "github.com/vigildb/vigil/commands"

// adminFlags are the flags of most administrative commands.
const adminFlags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale

// Statistics is what the server reports about itself.
type Statistics interface {
	// Info calls show with the text of INFO, which show must not keep; no sections means
	// the default ones.
	Info(sections []string, show func(text []byte))
	Memory() []MemoryFigure
	CallLog(kind LogKind) CallLog
	// Monitor shows the client every command from now on.
	Monitor(c *commands.Ctx)
	// UnixMicros is the time of the call.
	UnixMicros() int64
}

func Group() commands.Group {
	rows := []commands.Command{
		{Name: "INFO", Arity: -1, Tips: "nondeterministic_output request_policy:all_shards response_policy:special", Flags: commands.Loading | commands.Stale | commands.Dangerous,
			Syntax: "[section [section ...]]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns information about the server as sections of name:value lines.", Run: info},
		{Name: "TIME", Arity: 1, Tips: "nondeterministic_output", Flags: commands.Loading | commands.Stale | commands.Fast, Since: "2.6.0", Cost: "O(1)",
			Summary: "Returns the server's time: Unix seconds and microseconds.", Run: timeNow},
		{Name: "MONITOR", Arity: 1, Flags: adminFlags, Since: "1.0.0", Cost: "O(1)",
			Summary: "Streams every command that the server runs to the connection.", Run: monitor},
		{Name: "LOLWUT", Arity: -1, Flags: commands.ReadOnly | commands.Fast, Syntax: "[VERSION version]", Since: "5.0.0",
			Cost:    "O(1)",
			Summary: "Draws a city at night, different each time, and shows the version.", Run: lolwut},
	}
	for _, more := range [][]commands.Command{commands.IntrospectionRows(), replicationRows(), sourceRows(), changesRows(), configRows(), saveRows(), snapshotRows(), backupRows(), transferRows(), slowlogRows(),
		memoryRows(), latencyRows(), hotKeysRows(), moduleRows(), debugRows(), keyspaceRows()} {
		rows = append(rows, more...)
	}
	return commands.Group{Name: "server", Commands: rows}
}

func info(c *commands.Ctx) error {
	var sections []string
	for c.Args.More() {
		sections = append(sections, c.Args.String())
	}
	c.Host.(Statistics).Info(sections, func(text []byte) { c.Reply.Verbatim("txt", text) })
	return nil
}

func timeNow(c *commands.Ctx) error {
	micros := c.Host.(Statistics).UnixMicros()
	c.Reply.Array(2)
	c.Reply.BulkInt(micros / 1e6)
	c.Reply.BulkInt(micros % 1e6)
	return nil
}

func monitor(c *commands.Ctx) error {
	if c.InMulti {
		return errMonitorInMulti
	}
	c.Host.(Statistics).Monitor(c)
	return nil
}
