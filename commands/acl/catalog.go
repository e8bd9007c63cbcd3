package acl

import (
	"slices"
	"strings"
	"sync"

	"github.com/vigildb/vigil/commands"
)

// catalog is what rules name: commands by the names that rename-command does not
// change, and categories. Most servers have rules of categories only, and are made
// often, as by tests: what names need is made when the first one is looked for.
type catalog struct {
	rows  []*commands.Command
	names func() map[string]*commands.Command // "get", "config|set"
}

func newCatalog(t *commands.Table) *catalog {
	rows := t.All()
	return &catalog{rows, sync.OnceValue(func() map[string]*commands.Command {
		names := make(map[string]*commands.Command, len(rows))
		for _, cmd := range rows {
			names[cmd.FullName()] = cmd
		}
		return names
	})}
}

// find returns a command by its full name in any case, or nil.
func (cat *catalog) find(name string) *commands.Command { return cat.names()[strings.ToLower(name)] }

// category returns the rows of a category, containers first.
func (cat *catalog) category(name string) (rows []*commands.Command, known bool) {
	if !slices.Contains(commands.Categories(), name) {
		return nil, false
	}
	for _, cmd := range cat.rows {
		if cmd.In(name) {
			rows = append(rows, cmd)
		}
	}
	return rows, true
}
