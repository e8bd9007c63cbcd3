package commands

// Help makes the HELP subcommand of a container. Its reply, made from the table,
// has a line for each subcommand and one for what that does.
func Help(container, since string, flags Flag) Command {
	return Command{Name: container + " HELP", Arity: 2, Flags: flags, Since: since, Cost: "O(1)",
		Summary: "Lists the subcommands.", Run: help}
}

func help(c *Ctx) error {
	container := c.Command.Parent()
	subs := container.Subcommands()
	c.Reply.Array(1 + 2*len(subs))
	c.Reply.Status(container.Name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	line := func(s *Command) {
		_, word := s.words()
		if s.Syntax != "" {
			word += " " + s.Syntax
		}
		c.Reply.Status(word)
		c.Reply.Status("    " + s.Summary)
	}
	for _, s := range subs {
		if s != c.Command {
			line(s)
		}
	}
	line(c.Command)
	return nil
}
