package commands

import "math"

// sessionFlags are those of most commands that concern the connection alone.
const sessionFlags = NoScript | Loading | Stale

func ConnectionGroup() Group {
	rows := []Command{
		{Name: "PING", Arity: -1, Flags: Fast | Subscriber,
			Syntax: "[message]", Since: "1.0.0", Cost: "O(1)",
			Summary: "Answers PONG, or the message.", Run: ping},
		{Name: "ECHO", Arity: 2, Flags: Loading | Stale | Fast,
			Syntax: "message", Since: "1.0.0", Cost: "O(1)",
			Summary: "Answers the message.", Run: echo},
		{Name: "HELLO", Arity: -1, Flags: sessionFlags | Fast | NoAuth | AllowBusy,
			Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Since: "6.0.0", Cost: "O(1)",
			Summary: "Chooses the protocol version and says what the server is.", Secrets: helloSecrets, Run: hello},
		{Name: "AUTH", Arity: -2, Flags: sessionFlags | Fast | NoAuth | AllowBusy,
			Syntax: "[username] password", Since: "1.0.0", Cost: "O(1)",
			Summary: "Authenticates the connection.", Secrets: authSecrets, Run: auth},
		{Name: "SELECT", Arity: 2, Flags: Loading | Stale | Fast,
			Syntax: "index", Since: "1.0.0", Cost: "O(1)",
			Summary: "Chooses the database of the connection.", Run: selectDB},
		{Name: "QUIT", Arity: -1, Flags: sessionFlags | Fast | NoAuth | AllowBusy | NotQueued | Subscriber,
			Since: "1.0.0", Cost: "O(1)",
			Summary: "Closes the connection behind the reply.", Run: quit},
		{Name: "RESET", Arity: 1, Flags: sessionFlags | Fast | NoAuth | AllowBusy | NotQueued | Subscriber,
			Since: "6.2.0", Cost: "O(1)",
			Summary: "Puts the connection into the state of a new one.", Run: reset},
	}
	return Group{Name: "connection", Commands: append(rows, clientRows()...)}
}

func ping(c *Ctx) error {
	if c.Args.Left() > 1 {
		return ErrArity(c.Command)
	}
	message := c.Args.Peek()
	switch {
	case c.Host.Subscribed(c) && c.Client.Proto() == 2:
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

func echo(c *Ctx) error {
	c.Reply.Bulk(c.Args.Bytes())
	return nil
}

// hello changes nothing but the name and the user until all options are read:
// the version holds from its own reply on.
func hello(c *Ctx) error {
	version := c.Client.Proto()
	if c.Args.More() {
		version = int(c.Args.IntOr(ErrProtoNotInteger))
		if err := c.Args.Err(); err != nil {
			return err
		}
		if version != 2 && version != 3 {
			return ErrNoProto
		}
	}
	for c.Args.More() {
		if err := helloOption(c); err != nil {
			return err
		}
	}
	if _, required := c.Host.Password(nil, nil); required && !c.Client.Has(ClientAuthenticated) {
		return ErrHelloNoAuth
	}
	c.Client.SetProto(version)
	c.Reply.SetProto(version)
	writeHello(c)
	return nil
}

func helloOption(c *Ctx) error {
	option := c.Args.Bytes()
	switch {
	case EqualFold(option, "AUTH") && c.Args.Left() >= 2:
		user, password := c.Args.Bytes(), c.Args.Bytes()
		if ok, _ := c.Host.Password(user, password); !ok {
			return ErrWrongPass
		}
		c.Host.Login(c, user)
		return nil
	case EqualFold(option, "SETNAME") && c.Args.Left() >= 1:
		return setClientName(c, c.Args.Bytes())
	}
	return ErrHelloOption(option)
}

func writeHello(c *Ctx) {
	c.Reply.Map(7)
	text := func(name, value string) {
		c.Reply.BulkString(name)
		c.Reply.BulkString(value)
	}
	text("server", "redis")
	text("version", RedisVersion)
	c.Reply.BulkString("proto")
	c.Reply.Int(int64(c.Client.Proto()))
	c.Reply.BulkString("id")
	c.Reply.Int(int64(c.Client.ID))
	text("mode", "standalone")
	text("role", "master")
	c.Reply.BulkString("modules")
	c.Reply.Array(0)
}

func auth(c *Ctx) error {
	if c.Args.Left() > 2 {
		return ErrSyntax
	}
	user := []byte("default")
	alone := c.Args.Left() == 1
	if !alone {
		user = c.Args.Bytes()
	}
	ok, required := c.Host.Password(user, c.Args.Bytes())
	switch {
	case alone && !required:
		return ErrNoPassSet
	case !ok:
		return ErrWrongPass
	}
	c.Host.Login(c, user)
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

// helloSecrets are the two arguments behind AUTH.
func helloSecrets(argv [][]byte) []int {
	for i := 2; i+2 < len(argv); i++ {
		if EqualFold(argv[i], "AUTH") {
			return []int{i + 1, i + 2}
		}
	}
	return nil
}

func selectDB(c *Ctx) error {
	db := c.Args.Int()
	if db < math.MinInt32 || db > math.MaxInt32 {
		c.Args.Fail(ErrInt32Range)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if db < 0 || db >= int64(c.Host.Limits().Databases) {
		return ErrDBIndex
	}
	c.Client.SetDB(int(db))
	c.Tx.Select(int(db))
	c.Reply.OK()
	return nil
}

func quit(c *Ctx) error {
	c.CloseAfter = true
	c.Reply.OK()
	return nil
}

func reset(c *Ctx) error {
	c.Host.ResetClient(c)
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
func setClientName(c *Ctx, name []byte) error {
	if !plainText(name) {
		return ErrBadClientName
	}
	c.Client.SetText(func(t *ClientText) { t.Name = string(name) })
	return nil
}
