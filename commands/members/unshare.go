package members

import "github.com/vigildb/vigil/commands"

// Sharer is a server whose group shares parameters of the configuration.
type Sharer interface {
	// Unshare removes the values that the group has of parameters: of all of them, or
	// of none if it returns an error. Those that it has none of stay as they are.
	Unshare(parameters []string) error
}

// unshareRow adds what the row of a change of shared parameters says.
func unshareRow(c commands.Command) commands.Command {
	c.Directives = func(argv [][]byte) [][]byte { return argv[min(2, len(argv)):] }
	return c
}

func unshare(c *commands.Ctx) error {
	var names []string
	for c.Args.More() {
		names = append(names, c.Args.String())
	}
	if _, err := group(c); err != nil {
		return err
	}
	if err := c.Host.(Sharer).Unshare(names); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}
