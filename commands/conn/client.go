package conn

import (
	"math"

	"github.com/vigildb/vigil/commands"
)

// Clients is what a client asks about all clients, or does to others.
type Clients interface {
	ClientInfo(c *commands.Client) string // a line of CLIENT LIST, without newline
	ClientList(c *commands.Ctx, f ClientFilter) string
	ClientKill(c *commands.Ctx, f ClientFilter) int
	// ClientUnblock ends a client's wait with its timeout reply or an error;
	// false if it was not waiting.
	ClientUnblock(id uint64, withError bool) bool
	// ClientPause holds commands back until a time in unix milliseconds;
	// PauseNone ends it.
	ClientPause(mode PauseMode, until int64)
}

// PauseMode says which commands CLIENT PAUSE holds back.
type PauseMode int

const (
	PauseNone PauseMode = iota
	PauseWrite
	PauseAll
)

// clientFilters are the arguments of CLIENT LIST and CLIENT KILL.
const clientFilters = "[ID client-id [client-id ...]] [TYPE <NORMAL | MASTER | PRIMARY | REPLICA | SLAVE | PUBSUB>] [USER username] [ADDR ip:port] " +
	"[LADDR ip:port] [IP ip] [NAME client-name] [LIB-NAME lib-name] [LIB-VER lib-ver] [DB db] [FLAGS flags] [CAPA capa] " +
	"[IDLE idle] [MAXAGE maxage] [SKIPME yes/no] [NOT-ID client-id [client-id ...]] " +
	"[NOT-TYPE <NORMAL | MASTER | PRIMARY | REPLICA | SLAVE | PUBSUB>] [NOT-USER username] [NOT-ADDR ip:port] [NOT-LADDR ip:port] [NOT-IP ip] " +
	"[NOT-NAME client-name] [NOT-LIB-NAME lib-name] [NOT-LIB-VER lib-ver] [NOT-DB db] [NOT-FLAGS flags] [NOT-CAPA capa]"

func clientRows() []commands.Command {
	filterTypes := commands.Types{"idle": commands.ArgInteger, "maxage": commands.ArgInteger, "db": commands.ArgInteger}
	rows := []commands.Command{
		{Name: "CLIENT", Arity: -2, Since: "2.4.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about client connections."},
		{Name: "CLIENT ID", Arity: 2, Flags: sessionFlags, Since: "5.0.0", Cost: "O(1)",
			Summary: "Returns the ID of the connection.", Run: clientID},
		{Name: "CLIENT GETNAME", Arity: 2, Flags: sessionFlags, Since: "2.6.9", Cost: "O(1)",
			Summary: "Returns the name of the connection.", Run: clientGetName},
		{Name: "CLIENT SETNAME", Arity: 3, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: sessionFlags,
			Syntax: "connection-name", Since: "2.6.9", Cost: "O(1)",
			Summary: "Names the connection.", Run: clientSetName},
		{Name: "CLIENT SETINFO", Arity: 4, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: sessionFlags,
			Syntax: "<LIB-NAME libname | LIB-VER libver>", Since: "7.2.0", Cost: "O(1)",
			Summary: "Sets the name or the version of the connection's client library.", Run: clientSetInfo},
		{Name: "CLIENT INFO", Arity: 2, Tips: "nondeterministic_output", Flags: sessionFlags, Since: "6.2.0", Cost: "O(1)",
			Summary: "Returns information about the connection, as a line of CLIENT LIST.", Run: clientInfo},
		{Name: "CLIENT LIST", Arity: -2, Tips: "nondeterministic_output", Flags: sessionFlags | commands.Admin,
			Syntax: clientFilters, Types: filterTypes,
			Since: "2.4.0", Cost: "O(n) for n connections",
			Summary: "Returns information about the connections, one per line.", Run: clientList},
		{Name: "CLIENT KILL", Arity: -3, Flags: sessionFlags | commands.Admin,
			Syntax: "<ip:port | <" + clientFilters + ">>", Types: filterTypes,
			Since: "2.4.0", Cost: "O(n) for n connections",
			Summary: "Closes connections.", Run: clientKill},
		{Name: "CLIENT NO-EVICT", Arity: 3, Flags: sessionFlags | commands.Admin,
			Syntax: "<ON | OFF>", Since: "7.0.0", Cost: "O(1)",
			Summary: "Sets whether the connection may be closed to free memory of clients.", Run: clientNoEvict},
		{Name: "CLIENT NO-TOUCH", Arity: 3, Flags: sessionFlags,
			Syntax: "<ON | OFF>", Since: "7.2.0", Cost: "O(1)",
			Summary: "Sets whether reading a key on this connection counts as using it.", Run: clientNoTouch},
		{Name: "CLIENT IMPORT-SOURCE", Arity: 3, Flags: sessionFlags,
			Syntax: "<ON | OFF>", Since: "8.1.0", Cost: "O(1)",
			Summary: "Sets whether the connection copies data here, and sees what has expired, while import-mode is on.", Run: clientImports},
		{Name: "CLIENT CAPA", Arity: -3, Flags: sessionFlags,
			Syntax: "capability [capability ...]", Types: commands.Types{"capability": commands.ArgString}, Since: "8.0.0", Cost: "O(n) for n capabilities",
			Summary: "Tells what the client can. Known is redirect: a follower then says where the leader is.", Run: clientCapa},
		{Name: "CLIENT REPLY", Arity: 3, Flags: sessionFlags,
			Syntax: "<ON | OFF | SKIP>", Since: "3.2.0", Cost: "O(1)",
			Summary: "Turns replies to the connection on or off, or skips the next one.", Run: clientReply},
		{Name: "CLIENT UNBLOCK", Arity: -3, Flags: sessionFlags | commands.Admin,
			Syntax: "client-id [TIMEOUT | ERROR]", Since: "5.0.0", Cost: "O(log n) for n connections",
			Summary: "Unblocks a client that waits in a blocking command.", Run: clientUnblock},
		{Name: "CLIENT PAUSE", Arity: -3, Flags: sessionFlags | commands.Admin,
			Syntax: "timeout [WRITE | ALL]", Since: "2.9.50", Cost: "O(1)",
			Summary: "Suspends commands of clients for a number of milliseconds.", Run: clientPause},
		{Name: "CLIENT UNPAUSE", Arity: 2, Flags: sessionFlags | commands.Admin, Since: "6.2.0",
			Cost:    "O(n) for n paused connections",
			Summary: "Ends CLIENT PAUSE.", Run: clientUnpause},
	}
	return append(append(rows, trackingRows()...), commands.Help("CLIENT", "5.0.0", commands.Loading|commands.Stale))
}

func clientID(c *commands.Ctx) error {
	c.Reply.Int(int64(c.Client.ID))
	return nil
}

func clientGetName(c *commands.Ctx) error {
	if name := c.Client.Text().Name; name != "" {
		c.Reply.BulkString(name)
		return nil
	}
	c.Reply.Null()
	return nil
}

func clientSetName(c *commands.Ctx) error {
	if err := setClientName(c, c.Args.Bytes()); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func clientSetInfo(c *commands.Ctx) error {
	attr, value := c.Args.Bytes(), c.Args.Bytes()
	name := commands.EqualFold(attr, "LIB-NAME")
	switch {
	case !name && !commands.EqualFold(attr, "LIB-VER"):
		return errUnknownOption(attr)
	case !plainText(value):
		return errBadClientInfo(attr)
	}
	c.Client.SetText(func(t *commands.ClientText) {
		if name {
			t.LibName = string(value)
		} else {
			t.LibVersion = string(value)
		}
	})
	c.Reply.OK()
	return nil
}

func clientInfo(c *commands.Ctx) error {
	c.Reply.Verbatim("txt", []byte(c.Host.(Clients).ClientInfo(c.Client)+"\n"))
	return nil
}

func clientList(c *commands.Ctx) error {
	var f ClientFilter
	readFilter(c, &f, errInvalidClientID, math.MinInt64)
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Verbatim("txt", []byte(c.Host.(Clients).ClientList(c, f)))
	return nil
}

// clientKill has two forms: one address, which may be the caller's own, or
// pairs of filters, which spare the caller unless SKIPME says no.
func clientKill(c *commands.Ctx) error {
	if c.Args.Left() == 1 {
		f := ClientFilter{Conditions: []ClientCondition{{Field: ByAddr, Value: c.Args.String()}}}
		if c.Host.(Clients).ClientKill(c, f) == 0 {
			return errNoSuchClient
		}
		c.Reply.OK()
		return nil
	}
	f := ClientFilter{SkipMe: true}
	readFilter(c, &f, errClientIDRange, 1)
	if err := c.Args.Done(); err != nil {
		return err
	}
	c.Reply.Int(int64(c.Host.(Clients).ClientKill(c, f)))
	return nil
}

// readChoice reads one of two words and reports whether it is the first.
func readChoice(c *commands.Ctx, yes, no string) bool {
	if c.Args.Is(yes) {
		return true
	}
	if !c.Args.Is(no) {
		c.Args.Syntax()
	}
	return false
}

func clientNoEvict(c *commands.Ctx) error { return setClientFlag(c, commands.ClientNoEvict, nil) }

func clientNoTouch(c *commands.Ctx) error { return setClientFlag(c, commands.ClientNoTouch, nil) }

func clientImports(c *commands.Ctx) error {
	if c.Host.Limits().ImportMode {
		return setClientFlag(c, commands.ClientImports, nil)
	}
	return setClientFlag(c, commands.ClientImports, errNoImportMode)
}

// clientCapa takes every word: those that are not known have no effect.
func clientCapa(c *commands.Ctx) error {
	for c.Args.More() {
		if c.Args.Word() == "REDIRECT" {
			c.Client.Set(commands.ClientRedirects)
		}
	}
	c.Reply.OK()
	return nil
}

// setClientFlag reads ON or OFF. With an error the flag may not be set.
func setClientFlag(c *commands.Ctx, f commands.ClientFlag, refusal error) error {
	on := readChoice(c, "ON", "OFF")
	if c.Args.Err() == nil && on && refusal != nil {
		c.Args.Fail(refusal)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if on {
		c.Client.Set(f)
	} else {
		c.Client.Clear(f)
	}
	c.Reply.OK()
	return nil
}

// clientReply replies only to ON: OFF and SKIP suppress their own reply too.
func clientReply(c *commands.Ctx) error {
	switch c.Args.Word() {
	case "ON":
		c.Client.Clear(commands.ClientReplyOff | commands.ClientReplySkip)
		c.Reply.OK()
	case "OFF":
		c.Client.Set(commands.ClientReplyOff)
	case "SKIP":
		if !c.Client.Has(commands.ClientReplyOff) {
			c.Host.(Connection).SkipReply(c)
		}
	default:
		return commands.ErrSyntax
	}
	return nil
}

func clientUnblock(c *commands.Ctx) error {
	id := c.Args.Bytes()
	withError := false
	if c.Args.More() {
		switch c.Args.Word() {
		case "TIMEOUT":
		case "ERROR":
			withError = true
		default:
			return errUnblockReason
		}
	}
	n, ok := commands.ParseInt(id)
	if !ok {
		return commands.ErrNotInteger
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	var unblocked int64
	if c.Host.(Clients).ClientUnblock(uint64(n), withError) {
		unblocked = 1
	}
	c.Reply.Int(unblocked)
	return nil
}

func clientPause(c *commands.Ctx) error {
	timeout := c.Args.Bytes()
	mode := PauseAll
	if c.Args.More() {
		switch c.Args.Word() {
		case "ALL":
		case "WRITE":
			mode = PauseWrite
		default:
			return errPauseMode
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	millis, ok := commands.ParseInt(timeout)
	switch {
	case !ok:
		return commands.ErrTimeoutNotInt
	case millis < 0:
		return commands.ErrTimeoutNegative
	case millis > math.MaxInt64-c.Now:
		return commands.ErrTimeoutRange
	}
	c.Host.(Clients).ClientPause(mode, c.Now+millis)
	c.Reply.OK()
	return nil
}

func clientUnpause(c *commands.Ctx) error {
	c.Host.(Clients).ClientPause(PauseNone, 0)
	c.Reply.OK()
	return nil
}
