package admin

import "github.com/vigildb/vigil/commands"

func moduleRows() []commands.Command {
	return []commands.Command{
		{Name: "MODULE", Arity: -2, Since: "4.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about modules; vigil loads none."},
		{Name: "MODULE LIST", Arity: 2, Tips: "nondeterministic_output_order", Flags: commands.Admin | commands.NoScript, Since: "4.0.0", Cost: "O(1)",
			Summary: "Returns the modules that directives such as module-list-bf announce to clients: vigil loads none.", Run: moduleList},
		commands.Help("MODULE", "5.0.0", commands.Loading|commands.Stale),
	}
}

func moduleList(c *commands.Ctx) error {
	c.ReplyModules()
	return nil
}
