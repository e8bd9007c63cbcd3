package commands

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Table finds commands by name. It is read-only once made and renamed.
type Table struct {
	byName map[string]*Command // lower case, containers and plain commands
	subs   map[string]*Command // "client|list"
	all    []*Command          // every row, containers before their subcommands
}

// maxName bounds the names looked up, so that a lookup needs no allocation.
const maxName = 64

// NewTable makes a table of the groups. It reports every bad row: a name that
// is not upper case or declared twice, Write together with ReadOnly, keys with
// neither, elements without a key before them, a missing summary, syntax or version, a row without handler.
func NewTable(groups []Group) (*Table, error) {
	t := &Table{byName: map[string]*Command{}, subs: map[string]*Command{}}
	var errs []error
	for _, g := range groups {
		for i := range g.Commands {
			c := g.Commands[i]
			c.group = g.Name
			if err := t.add(&c); err != nil {
				errs = append(errs, fmt.Errorf("group %s: %w", g.Name, err))
			}
		}
	}
	for _, c := range t.all {
		if c.Run == nil && len(c.subs) == 0 {
			errs = append(errs, fmt.Errorf("%s has neither handler nor subcommands", c.Name))
		}
	}
	return t, errors.Join(errs...)
}

func (t *Table) add(c *Command) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(c.Keys) == 1 && c.Keys[0].isOne() {
		c.onlyKey = c.Keys[0].Begin
	}
	container, word := c.words()
	c.fullname = strings.ToLower(word)
	index := t.byName
	if container != "" {
		c.parent = t.byName[strings.ToLower(container)]
		if c.parent == nil {
			return fmt.Errorf("%s stands before its container", c.Name)
		}
		c.fullname = c.parent.fullname + "|" + c.fullname
		index = t.subs
	}
	if index[c.fullname] != nil {
		return fmt.Errorf("%s is declared twice", c.Name)
	}
	index[c.fullname] = c
	if c.parent != nil {
		c.parent.subs = append(c.parent.subs, c)
	}
	c.id = len(t.all)
	t.all = append(t.all, c)
	return nil
}

func (c *Command) check() error {
	switch {
	case c.Name == "" || c.Name != strings.ToUpper(c.Name) || len(c.Name) >= maxName:
		return fmt.Errorf("%q: a name is upper case and short", c.Name)
	case c.Is(Write | ReadOnly):
		return fmt.Errorf("%s is both Write and ReadOnly", c.Name)
	case len(c.Keys) > 0 && c.Flags&(Write|ReadOnly|LocksKeys) == 0 && c.Keys[0].Flags&NotKey == 0:
		return fmt.Errorf("%s has keys but is neither Write nor ReadOnly", c.Name)
	case c.Is(Keyspace) && c.Flags&(Write|ReadOnly|LocksKeys) == 0:
		return fmt.Errorf("%s works on the keyspace but is neither Write nor ReadOnly", c.Name)
	case c.Summary == "" || c.Since == "" || c.Cost == "":
		return fmt.Errorf("%s lacks a summary, version or cost", c.Name)
	case c.Elements.First != 0 && (len(c.Keys) == 0 || c.Elements.First <= c.Keys[0].Begin || c.Elements.Step < 0):
		return fmt.Errorf("%s has elements but no key before them", c.Name)
	case c.Arity == 0:
		return fmt.Errorf("%s has no arity", c.Name)
	}
	return nil
}

// Lookup finds the row for a call: the subcommand's if argv names one of a
// container. If only the container is found, sub is false and the row the
// container's. It does not allocate.
func (t *Table) Lookup(argv [][]byte) (c *Command, sub bool) {
	var buf [2 * maxName]byte
	n := lower(buf[:maxName], argv[0])
	c = t.byName[string(buf[:n])]
	if c == nil || len(c.subs) == 0 || len(argv) < 2 {
		return c, false
	}
	n = copy(buf[:], c.fullname) // not what it was called by: it may be renamed
	buf[n] = '|'
	m := lower(buf[n+1:n+maxName], argv[1])
	if s := t.subs[string(buf[:n+1+m])]; s != nil && m > 0 {
		return s, true
	}
	return c, false
}

// Find looks a command up by its full name, "get" or "client|list", in any case.
func (t *Table) Find(name string) *Command {
	name = strings.ToLower(name)
	if c := t.byName[name]; c != nil {
		return c
	}
	return t.subs[name]
}

var errRenameLength = errors.New("the new name of the command is too long")

// Rename makes a command callable by another name only, or by none if to is
// empty. Rows keep their names, and so do statistics and COMMAND. It fails if
// there is no such command, if the new name belongs to another one, or if it is
// too long. It must not be called once the table is in use.
func (t *Table) Rename(from, to string) error {
	from, to = strings.ToLower(from), strings.ToLower(to)
	c := t.byName[from]
	switch {
	case c == nil:
		return ErrNoSuchRename
	case to == from:
		return nil
	case t.byName[to] != nil:
		return ErrRenameTarget
	case len(to) >= maxName:
		return errRenameLength
	}
	delete(t.byName, from)
	if to != "" {
		t.byName[to] = c
	}
	return nil
}

// All lists every row, containers before their subcommands.
func (t *Table) All() []*Command { return t.all }

// Top lists the commands that are no subcommands, by name.
func (t *Table) Top() []*Command {
	out := make([]*Command, 0, len(t.byName))
	for _, c := range t.byName {
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// InCategory lists the full names of the commands of an ACL category.
func (t *Table) InCategory(category string) []string {
	names := []string{}
	for _, cmd := range t.all {
		if slices.Contains(cmd.Categories(), category) {
			names = append(names, cmd.fullname)
		}
	}
	return names
}

// lower copies src to dst in lower case and returns its length, or 0 if it
// does not fit: no command has such a name.
func lower(dst, src []byte) int {
	if len(src) >= len(dst) {
		return 0
	}
	for i, b := range src {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		dst[i] = b
	}
	return len(src)
}
