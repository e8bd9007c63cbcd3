package acl

import (
	"encoding/hex"
	"strings"

	"github.com/vigildb/vigil/commands"
)

func cat(c *commands.Ctx) error {
	if !c.Args.More() {
		c.Reply.Strings(commands.Categories())
		return nil
	}
	category := c.Args.Bytes()
	if c.Args.More() {
		return commands.ErrSubcommandArity(c)
	}
	for _, name := range commands.Categories() {
		if equalFold(category, name) {
			c.Reply.Strings(c.Table.InCategory(name))
			return nil
		}
	}
	return errUnknownCategory(category)
}

func whoAmI(c *commands.Ctx) error {
	c.Reply.BulkString(c.Client.Text().User)
	return nil
}

func users(c *commands.Ctx) error {
	names := []string{}
	for _, u := range c.Host.(Access).Users().List() {
		names = append(names, u.name)
	}
	c.Reply.Strings(names)
	return nil
}

func list(c *commands.Ctx) error {
	c.Reply.Strings(c.Host.(Access).Users().Lines())
	return nil
}

func getUser(c *commands.Ctx) error {
	u := c.Host.(Access).Users().Find(c.Args.String())
	if u == nil {
		c.Reply.Null()
		return nil
	}
	r := u.Rules()
	c.Reply.Map(7)
	c.Reply.BulkString("flags")
	flags := r.flags()
	c.Reply.Set(len(flags))
	for _, word := range flags {
		c.Reply.BulkString(word)
	}
	c.Reply.BulkString("passwords")
	c.Reply.Array(len(r.passwords))
	for i := range r.passwords {
		c.Reply.BulkString(hex.EncodeToString(r.passwords[i][:]))
	}
	r.selectors[0].describe(&c.Reply)
	c.Reply.BulkString("selectors")
	c.Reply.Array(len(r.selectors) - 1)
	for i := range r.selectors[1:] {
		c.Reply.Map(4)
		r.selectors[i+1].describe(&c.Reply)
	}
	return nil
}

// describe writes four pairs of a map.
func (s *selector) describe(r *commands.Reply) {
	for _, part := range [][2]string{{"commands", s.commandRules()}, {"keys", s.keyRules()}, {"channels", s.channelRules()}, {"databases", s.databaseRules()}} {
		r.BulkString(part[0])
		r.BulkString(part[1])
	}
}

func genPass(c *commands.Ctx) error {
	const most = 4096
	bits := int64(256)
	if c.Args.More() {
		bits = c.Args.Int()
	}
	if c.Args.More() {
		return commands.ErrSubcommandArity(c)
	}
	if err := c.Args.Err(); err != nil {
		return err
	}
	if bits <= 0 || bits > most {
		return errGenPassBits
	}
	c.Reply.BulkString(c.Host.(Access).RandomHex(int(bits+3) / 4))
	return nil
}

func dryRun(c *commands.Ctx) error {
	name, argv := c.Args.Bytes(), c.Args.Rest()
	u := c.Host.(Access).Users().Find(string(name))
	if u == nil {
		return errUserNotFound(name)
	}
	cmd, sub := c.Table.Lookup(argv)
	switch {
	case cmd == nil, len(cmd.Subcommands()) > 0 && !sub && len(argv) > 1 && !cmd.Is(commands.OpenWords):
		return errCommandNotFound(argv[0])
	case !cmd.ArityOK(len(argv)):
		return commands.ErrArity(cmd)
	}
	if d := u.Rules().Check(c.Client.DB(), cmd, argv); d != nil {
		c.Reply.BulkString(d.full(u, cmd, argv))
		return nil
	}
	c.Reply.OK()
	return nil
}

func showLog(c *commands.Ctx) error {
	l := c.Host.(Access).AccessLog()
	n := int64(10)
	if c.Args.Left() > 1 {
		return commands.ErrSubcommandArity(c)
	}
	if c.Args.More() {
		if strings.EqualFold(string(c.Args.Peek()), "reset") {
			l.clear()
			c.Reply.OK()
			return nil
		}
		n = max(c.Args.Int(), 0)
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	entries := l.newest(n)
	c.Reply.Array(len(entries))
	for i := range entries {
		entries[i].describe(&c.Reply, c.Now)
	}
	return nil
}

func (e *entry) describe(r *commands.Reply, now int64) {
	number := func(name string, n int64) {
		r.BulkString(name)
		r.Int(n)
	}
	text := func(name, value string) {
		r.BulkString(name)
		r.BulkString(value)
	}
	r.Map(10)
	number("count", e.count)
	text("reason", reasonWords[e.Reason])
	text("context", contextWords[e.Context])
	text("object", e.Object)
	text("username", e.User)
	r.BulkString("age-seconds")
	r.Double(float64(now-e.since) / 1000)
	text("client-info", e.Client)
	number("entry-id", e.id)
	number("timestamp-created", e.created)
	number("timestamp-last-updated", e.since)
}
