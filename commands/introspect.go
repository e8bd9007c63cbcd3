package commands

import (
	"strings"

	"github.com/vigildb/vigil/structures/glob"
)

// IntrospectionRows are COMMAND and its subcommands, which belong to the group
// of the server.
func IntrospectionRows() []Command {
	const flags = Loading | Stale
	const about = "connection" // the category, as in Redis
	rows := []Command{
		{Name: "COMMAND", Arity: -1, Tips: "nondeterministic_output_order", Flags: flags, Category: about, Since: "2.8.13",
			Cost:    "O(n) for n commands",
			Summary: "Returns arity, flags, keys and categories of all commands.", Run: command},
		{Name: "COMMAND COUNT", Arity: 2, Flags: flags, Category: about, Since: "2.8.13", Cost: "O(1)",
			Summary: "Returns the number of commands, subcommands not included.", Run: commandCount},
		{Name: "COMMAND INFO", Arity: -2, Tips: "nondeterministic_output_order", Flags: flags, Category: about, Syntax: "[command-name [command-name ...]]",
			Since: "2.8.13", Cost: "O(n) for n commands",
			Summary: "Returns arity, flags, keys and categories of some commands, or of all.", Run: commandInfo},
		{Name: "COMMAND DOCS", Arity: -2, Tips: "nondeterministic_output_order", Flags: flags, Category: about, Syntax: "[command-name [command-name ...]]",
			Since: "7.0.0", Cost: "O(n) for n commands",
			Summary: "Returns the documentation of some commands, or of all: summary, version, group, complexity, arguments.", Run: commandDocs},
		{Name: "COMMAND LIST", Arity: -2, Tips: "nondeterministic_output_order", Flags: flags, Category: about,
			Syntax: "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
			Since:  "7.0.0", Cost: "O(n) for n commands",
			Summary: "Lists the names of the commands.", Run: commandList},
		{Name: "COMMAND GETKEYS", Arity: -3, Flags: flags, Category: about, Syntax: "command [arg [arg ...]]",
			Since: "2.8.13", Cost: "O(n) for n arguments",
			Summary: "Returns the keys of a call.", Run: commandGetKeys},
		{Name: "COMMAND GETKEYSANDFLAGS", Arity: -3, Flags: flags, Category: about, Syntax: "command [arg [arg ...]]",
			Since: "7.0.0", Cost: "O(n) for n arguments",
			Summary: "Returns the keys of a call and how it accesses them.", Run: commandGetKeysAndFlags},
		Help("COMMAND", "5.0.0", flags),
	}
	rows[len(rows)-1].Category = about
	return rows
}

func command(c *Ctx) error {
	all := c.Table.Top()
	c.Reply.Array(len(all))
	for _, cmd := range all {
		describe(&c.Reply, cmd)
	}
	return nil
}

func commandCount(c *Ctx) error {
	c.Reply.Int(int64(len(c.Table.Top())))
	return nil
}

func commandInfo(c *Ctx) error {
	names := c.Args.Rest()
	if len(names) == 0 {
		return command(c)
	}
	c.Reply.Array(len(names))
	for _, name := range names {
		if cmd := c.Table.Find(string(name)); cmd != nil {
			describe(&c.Reply, cmd)
		} else {
			c.Reply.Null()
		}
	}
	return nil
}

// describe writes one element of COMMAND.
func describe(r *Reply, cmd *Command) {
	first, last, step := cmd.Positions()
	r.Array(10)
	r.BulkString(cmd.FullName())
	r.Int(int64(cmd.Arity))
	r.Statuses(cmd.FlagNames())
	r.Int(int64(first))
	r.Int(int64(last))
	r.Int(int64(step))
	categories := cmd.Categories()
	r.Set(len(categories))
	for _, name := range categories {
		r.Status("@" + name)
	}
	tips := strings.Fields(cmd.Tips)
	r.Set(len(tips))
	for _, tip := range tips {
		r.BulkString(tip)
	}
	r.Set(len(cmd.Keys))
	for i := range cmd.Keys {
		cmd.Keys[i].describe(r)
	}
	subs := cmd.Subcommands()
	if len(subs) == 0 {
		r.Set(0)
		return
	}
	r.Array(len(subs))
	for _, s := range subs {
		describe(r, s)
	}
}

// describe writes the key specification as the map that COMMAND shows.
func (k *KeySpec) describe(r *Reply) {
	r.Map(3)
	r.BulkString("flags")
	r.Statuses(k.Flags.Names())
	r.BulkString("begin_search")
	if k.Find != nil && k.Keyword == "" && k.Begin == 0 {
		figures(r, "unknown", 0)
		r.BulkString("find_keys")
		figures(r, "unknown", 0)
		return
	}
	if k.Keyword != "" {
		figures(r, "keyword", 2)
		r.BulkString("keyword")
		r.BulkString(k.Keyword)
		figure(r, "startfrom", k.Begin)
	} else {
		figures(r, "index", 1)
		figure(r, "index", k.Begin)
	}
	r.BulkString("find_keys")
	figureType := "range"
	if k.Numbered {
		figureType = "keynum"
	}
	figures(r, figureType, 3)
	if k.Numbered {
		figure(r, "keynumidx", 0)
		figure(r, "firstkey", k.FirstAfter)
		figure(r, "keystep", k.Step)
		return
	}
	figure(r, "lastkey", k.Last)
	figure(r, "keystep", k.Step)
	figure(r, "limit", k.Limit)
}

// figures begins a pair of type and specification of n entries.
func figures(r *Reply, kind string, n int) {
	r.Map(2)
	r.BulkString("type")
	r.BulkString(kind)
	r.BulkString("spec")
	r.Map(n)
}

func figure(r *Reply, name string, value int) {
	r.BulkString(name)
	r.Int(int64(value))
}

// commandList names commands and subcommands.
func commandList(c *Ctx) error {
	if !c.Args.More() {
		names := []string{}
		for _, cmd := range c.Table.All() {
			names = append(names, cmd.FullName())
		}
		c.Reply.Strings(names)
		return nil
	}
	if !c.Args.Is("FILTERBY") || c.Args.Left() != 2 {
		return ErrSyntax
	}
	kind, value := c.Args.Word(), c.Args.String()
	names := []string{}
	switch kind {
	case "ACLCAT":
		names = c.Table.InCategory(strings.ToLower(value))
	case "PATTERN":
		for _, cmd := range c.Table.All() {
			if glob.MatchFold([]byte(value), []byte(cmd.FullName())) {
				names = append(names, cmd.FullName())
			}
		}
	case "MODULE": // everything is built in
	default:
		return ErrSyntax
	}
	c.Reply.Strings(names)
	return nil
}

// callKeys finds the keys of the call that the arguments spell out.
func callKeys(c *Ctx) (argv [][]byte, keys []KeyRef, err error) {
	argv = c.Args.Rest()
	cmd, _ := c.Table.Lookup(argv)
	switch {
	case cmd == nil || cmd.Run == nil:
		return nil, nil, ErrInvalidCommand
	case !cmd.namesKeys():
		return nil, nil, ErrNoKeyArgs
	case !cmd.ArityOK(len(argv)):
		return nil, nil, ErrInvalidArgNumber
	}
	if cmd.countsFit(argv) {
		keys = cmd.AppendAccess(nil, argv)
	}
	if len(keys) == 0 && !cmd.Is(NoMandatoryKeys) {
		return nil, nil, ErrInvalidArguments
	}
	return argv, keys, nil
}

func commandGetKeys(c *Ctx) error {
	argv, keys, err := callKeys(c)
	if err != nil {
		return err
	}
	c.Reply.Array(len(keys))
	for _, k := range keys {
		c.Reply.Bulk(argv[k.Index])
	}
	return nil
}

func commandGetKeysAndFlags(c *Ctx) error {
	argv, keys, err := callKeys(c)
	if err != nil {
		return err
	}
	c.Reply.Array(len(keys))
	for _, k := range keys {
		c.Reply.Array(2)
		c.Reply.Bulk(argv[k.Index])
		c.Reply.Statuses((k.Flags &^ Incomplete).Names())
	}
	return nil
}
