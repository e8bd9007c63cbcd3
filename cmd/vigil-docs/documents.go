package main

import (
	"fmt"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/server/conf"
)

// document is one file, its path from the root of the repository.
type document struct{ path, text string }

// packaging is where the files for packages lie.
const packaging = "cmd/vigil-server/packaging/"

// documents makes all files from the tables and the scripts under root.
func documents(root string) ([]document, error) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		return nil, fmt.Errorf("command table: %w", err)
	}
	compat, err := compatibility(root)
	if err != nil {
		return nil, err
	}
	return []document{
		{"docs/commands.md", commandPage(table)},
		{"docs/configuration.md", conf.Markdown()},
		{"docs/compatibility.md", compat},
		{packaging + "vigil.conf", conf.Sample()},
		{packaging + "vigil-server.8", manualPage()},
	}, nil
}

// groupTitles are the headings of the groups; a group that is not here shows
// its own name.
var groupTitles = map[string]string{
	"connection": "Connections", "transactions": "Transactions", "pubsub": "Messages", "server": "Server",
	"generic": "Keys", "string": "Strings", "bitmap": "Bits", "list": "Lists", "hash": "Hashes",
	"hyperloglog": "HyperLogLogs", "bf": "Bloom filters", "sched": "Schedules",
	"place": "Placement maps",
}

// commandPage lists the commands by group, in the order of the table.
func commandPage(t *commands.Table) string {
	var b strings.Builder
	subs := 0
	for _, c := range t.All() {
		if c.Parent() != nil {
			subs++
		}
	}
	fmt.Fprintf(&b, `# Commands

<!-- Made from the table in package commands: make docs -->

vigil %s has %d commands with %d subcommands. It follows Redis %s. The column "since" names
the first version with the command: of Redis, RedisBloom (group bf), vigil (groups sched and
place) or Valkey (DELIFEQ). COMMAND DOCS returns the same texts.
`, commands.Version, len(t.Top()), subs, commands.RedisVersion)
	group := ""
	for _, c := range t.All() {
		if c.GroupName() != group {
			group = c.GroupName()
			title := groupTitles[group]
			if title == "" {
				title = group
			}
			fmt.Fprintf(&b, "\n## %s\n\n| command | since | cost | what it does |\n|---|---|---|---|\n", title)
		}
		if len(c.Subcommands()) > 0 && c.Run == nil {
			continue
		}
		call := strings.TrimSpace(c.Name + " " + c.Syntax)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.ReplaceAll(call, "|", `\|`), c.Since, c.Cost, c.Summary)
	}
	return b.String()
}
