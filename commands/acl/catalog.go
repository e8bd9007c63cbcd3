package acl

import (
	"strings"

	"github.com/vigildb/vigil/commands"
)

// catalog is what rules name: commands by the names that rename-command does not
// change, and categories.
type catalog struct {
	rows       []*commands.Command
	byName     map[string]*commands.Command   // "get", "config|set"
	categories map[string][]*commands.Command // rows of each, containers first
}

func newCatalog(t *commands.Table) *catalog {
	cat := &catalog{rows: t.All(), byName: map[string]*commands.Command{}, categories: map[string][]*commands.Command{}}
	for _, name := range commands.Categories() {
		cat.categories[name] = nil
	}
	for _, cmd := range cat.rows {
		cat.byName[cmd.FullName()] = cmd
		for _, name := range cmd.Categories() {
			cat.categories[name] = append(cat.categories[name], cmd)
		}
	}
	return cat
}

// find returns a command by its full name in any case, or nil.
func (cat *catalog) find(name string) *commands.Command { return cat.byName[strings.ToLower(name)] }
