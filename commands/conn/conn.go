package conn

import (
	"math"

	"github.com/vigildb/vigil/commands"
)

// sessionFlags are the flags of most commands about the connection itself.
const sessionFlags = commands.NoScript | commands.Loading | commands.Stale

// Connection is what the client of the call does to its own connection.
type Connection interface {
	// ResetClient puts the client into the state of a new one.
	ResetClient(c *commands.Ctx)
	// SkipReply leaves the next command without a reply.
	SkipReply(c *commands.Ctx)
}

// Login is how clients become users.
type Login interface {
	// Open reports whether clients are the default user without a password.
	Open() bool
	// AnyPassword reports whether every password of the default user is right.
	AnyPassword() bool
	// Authenticate makes the client another user, or returns ErrWrongPass.
	Authenticate(c *commands.Ctx, user, password []byte) error
	// HasUser reports whether there is a user of that name.
	HasUser(name string) bool
}

// Role is whose keys the server has.
type Role interface {
	// Follows reports whether they are those of a master, which this server follows.
	Follows() bool
}

func Group() commands.Group {
	rows := []commands.Command{
		{Name: "PING", Arity: -1, Tips: "request_policy:all_shards response_policy:all_succeeded", Flags: commands.Fast | commands.Subscriber,
			Syntax: "[message]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns PONG, or the message if one is given.", Run: ping},
		{Name: "ECHO", Arity: 2, Flags: commands.Loading | commands.Stale | commands.Fast,
			Syntax: "message", Since: "1.0.0", Cost: "O(1)",
			Summary: "Returns the message.", Run: echo},
		{Name: "HELLO", Arity: -1, Flags: sessionFlags | commands.Fast | commands.NoAuth | commands.AllowBusy,
			Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Since: "6.0.0", Cost: "O(1)",
			Summary: "Selects the protocol version and returns information about the server.", Secrets: helloSecrets, Run: hello},
		{Name: "AUTH", Arity: -2, Flags: sessionFlags | commands.Fast | commands.NoAuth | commands.AllowBusy,
			Syntax: "[username] password", Since: "1.0.0", Cost: "O(1)",
			Summary: "Authenticates the connection.", Secrets: authSecrets, Run: auth},
		{Name: "SELECT", Arity: 2, Flags: commands.Loading | commands.Stale | commands.Fast,
			Syntax: "index", Since: "1.0.0", Cost: "O(1)", Databases: func([][]byte) []int { return []int{1} },
			Summary: "Selects the database of the connection.", Run: selectDB},
		{Name: "QUIT", Arity: -1, Flags: sessionFlags | commands.Fast | commands.NoAuth | commands.AllowBusy | commands.NotQueued | commands.Subscriber,
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Closes the connection after the reply.", Run: quit},
		{Name: "RESET", Arity: 1, Flags: sessionFlags | commands.Fast | commands.NoAuth | commands.AllowBusy | commands.NotQueued | commands.Subscriber,
			Since: "6.2.0", Cost: "O(1)",
			Summary: "Resets the connection to the state of a new one.", Run: reset},
	}
	return commands.Group{Name: "connection", Commands: append(rows, clientRows()...)}
}

func ping(c *commands.Ctx) error {
	if c.Args.Left() > 1 {
		return commands.ErrArity(c.Command)
	}
	message := c.Args.Peek()
	switch {
	case c.Client.Has(commands.ClientPubSub) && c.Client.Proto() == 2:
		c.Reply.Array(2)
		c.Reply.BulkString("pong")
		c.Reply.Bulk(message)
	case message != nil:
		c.Reply.Bulk(message)
	default:
		c.Reply.Status("PONG")
	}
	return nil
}

func echo(c *commands.Ctx) error {
	c.Reply.Bulk(c.Args.Bytes())
	return nil
}

// hello changes nothing until all options are read. Of several users or names the last
// one counts. The version holds from its own reply on.
func hello(c *commands.Ctx) error {
	version := c.Client.Proto()
	if c.Args.More() {
		version = int(c.Args.IntOr(errProtoNotInteger))
		if err := c.Args.Err(); err != nil {
			return err
		}
		if version != 2 && version != 3 {
			return errNoProto
		}
	}
	var o helloOptions
	for c.Args.More() {
		if err := o.read(c); err != nil {
			return err
		}
	}
	if o.login {
		if err := c.Host.(Login).Authenticate(c, o.user, o.password); err != nil {
			return err
		}
	}
	if !c.Client.Has(commands.ClientAuthenticated) && !c.Host.(Login).Open() {
		return errHelloNoAuth
	}
	if o.named {
		nameClient(c, o.name)
	}
	c.Client.SetProto(version)
	c.Reply.SetProto(version)
	writeHello(c)
	return nil
}

// helloOptions are the arguments of HELLO behind the version.
type helloOptions struct {
	login          bool // AUTH
	user, password []byte
	named          bool // SETNAME
	name           []byte
}

// read reads one option.
func (o *helloOptions) read(c *commands.Ctx) error {
	option := c.Args.Bytes()
	switch {
	case commands.EqualFold(option, "AUTH") && c.Args.Left() >= 2:
		o.login, o.user, o.password = true, c.Args.Bytes(), c.Args.Bytes()
		return nil
	case commands.EqualFold(option, "SETNAME") && c.Args.Left() >= 1:
		o.named, o.name = true, c.Args.Bytes()
		if !plainText(o.name) {
			return errBadClientName
		}
		return nil
	}
	return errHelloOption(option)
}

func writeHello(c *commands.Ctx) {
	zone := c.Host.Limits().AvailabilityZone
	if zone == "" {
		c.Reply.Map(7)
	} else {
		c.Reply.Map(8)
	}
	text := func(name, value string) {
		c.Reply.BulkString(name)
		c.Reply.BulkString(value)
	}
	text("server", "redis")
	text("version", c.Host.Limits().RedisVersion)
	c.Reply.BulkString("proto")
	c.Reply.Int(int64(c.Client.Proto()))
	c.Reply.BulkString("id")
	c.Reply.Int(int64(c.Client.ID))
	if c.Host.Limits().Slots {
		text("mode", "cluster")
	} else {
		text("mode", "standalone")
	}
	if m := c.Membership(); (m == nil || m.Leads) && !c.Host.(Role).Follows() {
		text("role", "master")
	} else {
		text("role", "replica")
	}
	c.Reply.BulkString("modules")
	c.ReplyModules()
	if zone != "" {
		text("availability_zone", zone)
	}
}

func auth(c *commands.Ctx) error {
	if c.Args.Left() > 2 {
		return commands.ErrSyntax
	}
	user, server := []byte("default"), c.Host.(Login)
	if c.Args.Left() == 2 {
		user = c.Args.Bytes()
	} else if server.AnyPassword() {
		return errNoPassSet
	}
	if err := server.Authenticate(c, user, c.Args.Bytes()); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// authSecrets are all arguments: the user's name may be a password that was
// mistaken for one.
func authSecrets(argv [][]byte) []int {
	var secret []int
	for i := 1; i < len(argv); i++ {
		secret = append(secret, i)
	}
	return secret
}

// helloSecrets are the two arguments after each AUTH.
func helloSecrets(argv [][]byte) []int {
	var secret []int
	for i := 2; i < len(argv); i++ {
		switch {
		case commands.EqualFold(argv[i], "AUTH") && i+2 < len(argv):
			secret = append(secret, i+1, i+2)
			i += 2
		case commands.EqualFold(argv[i], "SETNAME"):
			i++
		}
	}
	return secret
}

func selectDB(c *commands.Ctx) error {
	db := c.Args.Int()
	if db < math.MinInt32 || db > math.MaxInt32 {
		c.Args.Fail(commands.ErrInt32Range)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if c.Host.Limits().OneDatabase && db != 0 {
		return errSelectInCluster
	}
	if err := c.CheckDB(db); err != nil {
		return err
	}
	c.Client.SetDB(int(db))
	c.Tx.Select(int(db))
	c.Reply.OK()
	return nil
}

func quit(c *commands.Ctx) error {
	c.CloseAfter = true
	c.Reply.OK()
	return nil
}

func reset(c *commands.Ctx) error {
	c.Host.(Connection).ResetClient(c)
	c.Reply.SetProto(c.Client.Proto())
	c.Reply.Status("RESET")
	return nil
}

// plainText reports that b holds nothing that would break a line of CLIENT LIST.
func plainText(b []byte) bool {
	for _, ch := range b {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return true
}

// setClientName gives the client a name; an empty one takes it away.
func setClientName(c *commands.Ctx, name []byte) error {
	if !plainText(name) {
		return errBadClientName
	}
	nameClient(c, name)
	return nil
}

func nameClient(c *commands.Ctx, name []byte) {
	c.Client.SetText(func(t *commands.ClientText) { t.Name = string(name) })
}
