package admin

import (
	"slices"

	"github.com/vigildb/vigil/commands"
)

// Config is the configuration of the server.
type Config interface {
	ConfigGet(patterns []string) []string // names and values
	ConfigSet(pairs []string) error
	ConfigRewrite(all bool) error
	ConfigResetStat()
}

func configRows() []commands.Command {
	return []commands.Command{
		{Name: "CONFIG", Arity: -2, Since: "2.0.0", Cost: "Depends on the subcommand.",
			Summary: "Groups the commands about the configuration."},
		{Name: "CONFIG GET", Arity: -3, Flags: adminFlags, Syntax: "parameter [parameter ...]",
			Since: "2.0.0", Cost: "O(n) for n parameters",
			Summary: "Returns the parameters whose names match any of the patterns.", Run: configGet},
		{Name: "CONFIG SET", Arity: -4, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: adminFlags, Syntax: "parameter value [parameter value ...]",
			Since: "2.0.0", Cost: "O(n) for n parameters",
			Summary: "Changes parameters: either all of them or none.", Secrets: configSecrets, Users: configUsers, Directives: configDirectives, Run: configSet},
		{Name: "CONFIG RESETSTAT", Arity: 2, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: adminFlags, Since: "2.0.0", Cost: "O(1)",
			Summary: "Resets the counters that INFO shows.", Run: configResetStat},
		{Name: "CONFIG REWRITE", Arity: 2, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: adminFlags, Since: "2.8.0", Cost: "O(1)",
			Summary: "Writes the parameters into the configuration file.", Run: configRewrite(false)},
		commands.Help("CONFIG", "5.0.0", commands.Loading|commands.Stale),
	}
}

func configGet(c *commands.Ctx) error {
	var patterns []string
	for c.Args.More() {
		patterns = append(patterns, c.Args.String())
	}
	found := c.Host.(Config).ConfigGet(patterns)
	c.Reply.Map(len(found) / 2)
	for _, s := range found {
		c.Reply.BulkString(s)
	}
	return nil
}

func configSet(c *commands.Ctx) error {
	if c.Args.Left()%2 != 0 {
		return commands.ErrSyntax
	}
	var pairs []string
	for c.Args.More() {
		pairs = append(pairs, c.Args.String())
	}
	if err := c.Host.(Config).ConfigSet(pairs); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// configSecrets are the values of parameters that hold passwords and users.
func configSecrets(argv [][]byte) []int {
	var secret []int
	for i := 2; i+1 < len(argv); i += 2 {
		for _, name := range []string{"REQUIREPASS", "MASTERAUTH", "MASTERUSER",
			"TLS-KEY-FILE-PASS", "TLS-CLIENT-KEY-FILE-PASS"} {
			if commands.EqualFold(argv[i], name) {
				secret = append(secret, i+1)
			}
		}
	}
	return secret
}

// configDirectives are the names of the parameters.
func configDirectives(argv [][]byte) (names [][]byte) {
	for i := 2; i < len(argv); i += 2 {
		names = append(names, argv[i])
	}
	return names
}

// configUsers reports whether a call changes the password of the default user.
func configUsers(argv [][]byte) bool {
	return slices.ContainsFunc(configDirectives(argv), func(name []byte) bool { return commands.EqualFold(name, "REQUIREPASS") })
}

func configResetStat(c *commands.Ctx) error {
	c.Host.(Config).ConfigResetStat()
	c.Reply.OK()
	return nil
}

// configRewrite returns the handler that writes the configuration file, with all
// parameters or with those that it needs.
func configRewrite(all bool) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		if err := c.Host.(Config).ConfigRewrite(all); err != nil {
			return err
		}
		c.Reply.OK()
		return nil
	}
}
