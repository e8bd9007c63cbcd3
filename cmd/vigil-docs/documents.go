package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return nil, err
	}
	counted, err := countCommands(string(readme), table)
	if err != nil {
		return nil, err
	}
	adrs, err := decisions(filepath.Join(root, "docs/adr"))
	if err != nil {
		return nil, err
	}
	index, err := decisionPage(adrs)
	if err != nil {
		return nil, err
	}
	return []document{
		{"README.md", counted},
		{"docs/commands.md", commandPage(table)},
		{"docs/configuration.md", conf.Markdown()},
		{"docs/compatibility.md", compat},
		{"docs/adr/README.md", index},
		{packaging + "vigil.conf", conf.Sample()},
		{packaging + "vigil-server.8", manualPage()},
	}, nil
}

// countText is how README.md says how many commands there are.
var countText = regexp.MustCompile(`\d+ commands with \d+ subcommands`)

// countCommands puts the numbers of commands and subcommands into a text, which has to
// mention them once.
func countCommands(text string, t *commands.Table) (string, error) {
	if n := len(countText.FindAllString(text, -1)); n != 1 {
		return "", fmt.Errorf("README.md says %d times how many commands there are, want once", n)
	}
	top := len(t.Top())
	return countText.ReplaceAllString(text, fmt.Sprintf("%d commands with %d subcommands", top, len(t.All())-top)), nil
}

// groupTitles are the headings of the groups; a group that is not here shows
// its own name.
var groupTitles = map[string]string{
	"connection": "Connections", "transactions": "Transactions", "pubsub": "Messages", "server": "Server",
	"generic": "Keys", "string": "Strings", "bitmap": "Bits", "list": "Lists", "hash": "Hashes", "set": "Sets", "stream": "Streams", "sorted-set": "Sorted sets", "geo": "Geography", "scripting": "Scripts",
	"hyperloglog": "HyperLogLogs", "bf": "Bloom filters", "cf": "Cuckoo filters", "cms": "Count-min sketches", "topk": "Top lists", "tdigest": "Digests (t-digest)", "json": "JSON documents", "sched": "Schedules",
	"place": "Placement maps", "cluster": "Redis Cluster, for groups of servers",
	"sentinel": "Finding the leader of a group", "members": "Members of a group",
}

// commandPage lists the commands by group, in the order of the table.
func commandPage(t *commands.Table) string {
	var b strings.Builder
	top := len(t.Top())
	fmt.Fprintf(&b, `# Commands

<!-- Made from the table in package commands: make docs -->

All commands, by what they work on. A server tells the same of one:

    $ redis-cli COMMAND DOCS LPUSH
    1) "lpush"
    2)  1) "summary"
        2) "Prepends elements to a list, making it if needed."

vigil %s has %d commands with %d subcommands. It follows Redis %s. The column "since" names
the first version with the command: of Redis, RedisBloom (filters and sketches), Valkey (DELIFEQ) or vigil
(SCHED, PLACE and VIGIL commands, BF.MERGE, CF.MERGE). COMMAND DOCS returns the same texts.
`, commands.Version, top, len(t.All())-top, commands.RedisVersion)
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
