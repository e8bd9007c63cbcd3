package commands

// commandDocs documents commands that exist; unknown names are left out.
func commandDocs(c *Ctx) error {
	names := c.Args.Rest()
	var found []*Command
	if len(names) == 0 {
		found = c.Table.Top()
	}
	for _, name := range names {
		if cmd := c.Table.Find(string(name)); cmd != nil {
			found = append(found, cmd)
		}
	}
	writeDocs(&c.Reply, found)
	return nil
}

// writeDocs writes a map of full names and documentation.
func writeDocs(r *Reply, list []*Command) {
	r.Map(len(list))
	for _, cmd := range list {
		r.BulkString(cmd.FullName())
		writeDoc(r, cmd)
	}
}

func writeDoc(r *Reply, cmd *Command) {
	args := ParseSyntax(cmd)
	r.MapLater(func() int {
		pair := func(name, value string) {
			r.BulkString(name)
			r.BulkString(value)
		}
		pair("summary", cmd.Summary)
		pair("since", cmd.Since)
		pair("group", cmd.GroupName())
		pair("complexity", cmd.Cost)
		n := 4
		if len(args) > 0 {
			r.BulkString("arguments")
			writeArguments(r, args)
			n++
		}
		if len(cmd.Subcommands()) > 0 {
			r.BulkString("subcommands")
			writeDocs(r, cmd.Subcommands())
			n++
		}
		return n
	})
}

func writeArguments(r *Reply, args []*Argument) {
	r.Array(len(args))
	for _, a := range args {
		r.MapLater(func() int { return writeArgument(r, a) })
	}
}

func writeArgument(r *Reply, a *Argument) (pairs int) {
	pair := func(name, value string) {
		r.BulkString(name)
		r.BulkString(value)
		pairs++
	}
	pair("name", a.Name)
	pair("type", string(a.Type))
	if a.Type == ArgKey && a.KeySpec >= 0 {
		r.BulkString("key_spec_index")
		r.Int(int64(a.KeySpec))
		pairs++
	}
	if a.Token != "" {
		pair("token", a.Token)
	}
	if flags := a.flags(); len(flags) > 0 {
		r.BulkString("flags")
		r.Statuses(flags)
		pairs++
	}
	if len(a.Args) > 0 {
		r.BulkString("arguments")
		writeArguments(r, a.Args)
		pairs++
	}
	return pairs
}

func (a *Argument) flags() []string {
	var names []string
	for _, f := range []struct {
		on   bool
		name string
	}{{a.Optional, "optional"}, {a.Multiple, "multiple"}, {a.MultipleToken, "multiple_token"}} {
		if f.on {
			names = append(names, f.name)
		}
	}
	return names
}
