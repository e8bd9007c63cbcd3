package admin

import (
	"strings"

	"github.com/vigildb/vigil/commands"
)

// LogKind is what the calls in a log have too much of.
type LogKind int

const (
	SlowCalls     LogKind = iota // time
	LargeRequests                // bytes of arguments
	LargeReplies                 // bytes of the reply
	LogKinds
)

// logNames are the kinds as COMMANDLOG names them.
var logNames = [LogKinds]string{"slow", "large-request", "large-reply"}

// CallLog is a list of calls, newest first.
type CallLog interface {
	Entries(n int) []LoggedCall
	Len() int
	Reset()
}

// LoggedCall is one of them.
type LoggedCall struct {
	ID, UnixSeconds int64
	Amount          int64 // microseconds or bytes
	Args            [][]byte
	Addr, Name      string
}

const logFlags = commands.Admin | commands.Loading | commands.Stale

func slowlogRows() []commands.Command {
	const all = "request_policy:all_nodes"
	return []commands.Command{
		{Name: "SLOWLOG", Arity: -2, Since: "2.2.12", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about the log of slow commands."},
		{Name: "SLOWLOG GET", Arity: -2, Tips: all + " nondeterministic_output", Flags: logFlags, Syntax: "[count]",
			Since: "2.2.12", Cost: "O(n) for n entries",
			Summary: "Returns the newest entries of the slow log: 10 unless a count is given, -1 for all.", Run: slowlogGet},
		{Name: "SLOWLOG LEN", Arity: 2, Tips: all + " response_policy:agg_sum nondeterministic_output", Flags: logFlags, Since: "2.2.12", Cost: "O(1)",
			Summary: "Returns the number of entries in the slow log.", Run: func(c *commands.Ctx) error { return replyLogged(c, SlowCalls) }},
		{Name: "SLOWLOG RESET", Arity: 2, Tips: all + " response_policy:all_succeeded", Flags: logFlags, Since: "2.2.12",
			Cost:    "O(n) for n entries",
			Summary: "Removes all entries from the slow log.", Run: func(c *commands.Ctx) error { return resetLog(c, SlowCalls) }},
		commands.Help("SLOWLOG", "6.2.0", commands.Loading|commands.Stale),
		{Name: "COMMANDLOG", Arity: -2, Since: "8.1.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about the logs of slow commands, large requests and large replies."},
		{Name: "COMMANDLOG GET", Arity: 4, Tips: all + " nondeterministic_output", Flags: logFlags, Syntax: "count type",
			Since: "8.1.0", Cost: "O(n) for n entries",
			Summary: "Returns the newest entries of a log, all with -1.", Run: commandlogGet},
		{Name: "COMMANDLOG LEN", Arity: 3, Tips: all + " response_policy:agg_sum nondeterministic_output", Flags: logFlags, Syntax: "type", Since: "8.1.0", Cost: "O(1)",
			Summary: "Returns the number of entries in a log.", Run: ofLog(replyLogged)},
		{Name: "COMMANDLOG RESET", Arity: 3, Tips: all + " response_policy:all_succeeded", Flags: logFlags, Syntax: "type", Since: "8.1.0",
			Cost:    "O(n) for n entries",
			Summary: "Removes all entries from a log.", Run: ofLog(resetLog)},
		commands.Help("COMMANDLOG", "8.1.0", commands.Loading|commands.Stale),
	}
}

// readLog reads the name of a log.
func readLog(a *commands.Args) LogKind {
	name := a.Bytes()
	for kind, known := range logNames {
		if strings.EqualFold(string(name), known) {
			return LogKind(kind)
		}
	}
	a.Fail(errLogType)
	return SlowCalls
}

// ofLog makes a handler of one that is told the log.
func ofLog(run func(*commands.Ctx, LogKind) error) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		kind := readLog(&c.Args)
		if err := c.Args.Done(); err != nil {
			return err
		}
		return run(c, kind)
	}
}

func slowlogGet(c *commands.Ctx) error {
	count := int64(10)
	if c.Args.More() {
		count = c.Args.IntIn(-1, 1<<62, errSlowlogCount)
	}
	return replyLog(c, SlowCalls, count)
}

func commandlogGet(c *commands.Ctx) error {
	count := c.Args.IntIn(-1, 1<<62, errSlowlogCount)
	return replyLog(c, readLog(&c.Args), count)
}

func replyLog(c *commands.Ctx, kind LogKind, count int64) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	log := c.Host.(Statistics).CallLog(kind)
	if n := int64(log.Len()); count < 0 || count > n {
		count = n
	}
	entries := log.Entries(int(count))
	c.Reply.Array(len(entries))
	for _, e := range entries {
		c.Reply.Array(6)
		c.Reply.Int(e.ID)
		c.Reply.Int(e.UnixSeconds)
		c.Reply.Int(e.Amount)
		c.Reply.Array(len(e.Args))
		for _, a := range e.Args {
			c.Reply.Bulk(a)
		}
		c.Reply.BulkString(e.Addr)
		c.Reply.BulkString(e.Name)
	}
	return nil
}

func replyLogged(c *commands.Ctx, kind LogKind) error {
	c.Reply.Int(int64(c.Host.(Statistics).CallLog(kind).Len()))
	return nil
}

func resetLog(c *commands.Ctx, kind LogKind) error {
	c.Host.(Statistics).CallLog(kind).Reset()
	c.Reply.OK()
	return nil
}
