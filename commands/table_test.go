package commands_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
)

func TestTableHasNoBadRows(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range table.All() {
		if !strings.HasSuffix(c.Summary, ".") || strings.ToUpper(c.Summary[:1]) != c.Summary[:1] {
			t.Errorf("%s: the summary is no sentence: %q", c.Name, c.Summary)
		}
		if n := len(strings.Fields(c.Name)); c.Arity > 0 && c.Arity < n || -c.Arity > 0 && -c.Arity < n {
			t.Errorf("%s: arity %d does not count the name", c.Name, c.Arity)
		}
		if len(c.Keys) > 0 && c.Keys[0].Begin == 0 {
			t.Errorf("%s: the name is no key", c.Name)
		}
		for _, tip := range strings.Fields(c.Tips) {
			if name, _, _ := strings.Cut(tip, ":"); !slices.Contains(
				[]string{"nondeterministic_output", "nondeterministic_output_order", "request_policy", "response_policy"}, name) {
				t.Errorf("%s: unknown tip %q", c.Name, tip)
			}
		}
		// A command that looks for elements says so, where its syntax has their names.
		words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(c.Syntax))
		named := len(words) > 1 && words[0] == "key" && (words[1] == "field" || words[1] == "member") && (c.GroupName() == "hash" || c.GroupName() == "set")
		if e := c.Elements; (e.First > 0) != named || e.First > 0 && (e.First != 2 || e.Step == 1 && len(words) < 3) {
			t.Errorf("%s %s: elements at %+v", c.Name, c.Syntax, e)
		}
		if c.Syntax == "" && c.Run != nil && c.Arity > len(strings.Fields(c.Name)) {
			t.Errorf("%s takes arguments but has no syntax", c.Name)
		}
	}
}

func TestBadRowsAreReported(t *testing.T) {
	run := func(*commands.Ctx) error { return nil }
	good := commands.Command{Name: "GOOD", Arity: 1, Since: "1", Cost: "O(1)", Summary: "Does.", Run: run}
	for _, c := range []struct {
		why    string
		change func(*commands.Command)
	}{
		{"upper case", func(c *commands.Command) { c.Name = "Good" }},
		{"upper case", func(c *commands.Command) { c.Name = "" }},
		{"both Write and ReadOnly", func(c *commands.Command) { c.Flags = commands.Write | commands.ReadOnly }},
		{"neither Write nor ReadOnly", func(c *commands.Command) { c.Keys = []commands.KeySpec{commands.Key(1, commands.RO)} }},
		{"neither Write nor ReadOnly", func(c *commands.Command) { c.Flags = commands.Keyspace }},
		{"lacks a summary", func(c *commands.Command) { c.Summary = "" }},
		{"lacks a summary", func(c *commands.Command) { c.Since = "" }},
		{"lacks a summary", func(c *commands.Command) { c.Cost = "" }},
		{"no key before them", func(c *commands.Command) { c.Elements.First = 1 }},
		{"no key before them", func(c *commands.Command) {
			c.Flags, c.Keys = commands.ReadOnly, []commands.KeySpec{commands.Key(1, commands.RO)}
			c.Elements.First = 1
		}},
		{"no arity", func(c *commands.Command) { c.Arity = 0 }},
		{"neither handler nor subcommands", func(c *commands.Command) { c.Run = nil }},
		{"before its container", func(c *commands.Command) { c.Name = "NOSUCH SUB" }},
	} {
		bad := good
		c.change(&bad)
		if _, err := commands.NewTable([]commands.Group{{Name: "g", Commands: []commands.Command{bad}}}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: got %v", c.why, err)
		}
	}
	if _, err := commands.NewTable([]commands.Group{{Name: "g", Commands: []commands.Command{good, good}}}); err == nil {
		t.Error("a name declared twice is not reported")
	}
}

func TestLookupFindsSubcommandsInAnyCaseWithoutAllocating(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	split := func(s string) (argv [][]byte) {
		for _, w := range strings.Fields(s) {
			argv = append(argv, []byte(w))
		}
		return argv
	}
	for _, c := range []struct {
		call, name string
		sub        bool
	}{
		{"get k", "get", false}, {"GeT k", "get", false}, {"client", "client", false},
		{"Client lisT", "client|list", true}, {"client nosuch", "client", false},
		{"config|get x", "", false}, {strings.Repeat("x", 100), "", false},
		{"client " + strings.Repeat("x", 100), "client", false},
	} {
		argv := split(c.call)
		got, sub := table.Lookup(argv)
		name := ""
		if got != nil {
			name = got.FullName()
		}
		if name != c.name || sub != c.sub {
			t.Errorf("%.20s: got %q, %v, want %q, %v", c.call, name, sub, c.name, c.sub)
		}
		if n := testing.AllocsPerRun(10, func() { table.Lookup(argv) }); n > 0 {
			t.Errorf("%.20s: %v allocations", c.call, n)
		}
	}
}

func TestKeysAreFoundWhereTheRowSays(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		"GET a": "a", "MSET a 1 b 2": "a b", "DEL a b c": "a b c", "BLPOP a b 0": "a b", "RENAME a b": "a b",
		"LMPOP 2 a b LEFT": "a b", "BLMPOP 0 1 a LEFT": "a", "LMPOP 3 a b LEFT": "a b LEFT", "LMPOP 9 a b LEFT": "",
		"LMPOP -1 a LEFT": "", "PING": "", "BITOP AND d a b": "d a b", "PFMERGE d a": "d a", "WATCH a b": "a b",
		"MEMORY USAGE a": "a", "OBJECT ENCODING a": "a",
	} {
		var argv [][]byte
		for _, w := range strings.Fields(call) {
			argv = append(argv, []byte(w))
		}
		cmd, _ := table.Lookup(argv)
		if cmd == nil {
			t.Errorf("%s: no such command", call)
			continue
		}
		var got []string
		for _, k := range cmd.AppendKeys(nil, argv) {
			got = append(got, string(argv[k.Index]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", call, got, want)
		}
	}
}

func TestRenamedCommandIsFoundByItsNewNameOnly(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		from, to string
		fails    bool
	}{
		{"CONFIG", "Secret", false}, {"flushall", "", false}, {"get", "get", false},
		{"nosuch", "x", true}, {"set", "get", true}, {"set", strings.Repeat("x", commands.MaxName), true}, {"flushall", "x", true},
	} {
		if err := table.Rename(r.from, r.to); (err != nil) != r.fails {
			t.Errorf("rename %s to %q: got %v, want an error: %v", r.from, r.to, err, r.fails)
		}
	}
	for call, want := range map[string]string{
		"config GET": "", "secret GET": "CONFIG GET", "SECRET": "CONFIG", "flushall": "", "get": "GET", "set": "SET",
	} {
		var argv [][]byte
		for _, w := range strings.Fields(call) {
			argv = append(argv, []byte(w))
		}
		got := ""
		if c, _ := table.Lookup(argv); c != nil {
			got = c.Name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", call, got, want)
		}
	}
}
