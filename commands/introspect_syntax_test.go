package commands_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
)

// spell writes a tree in one line: name:type, (children), ? optional,
// * multiple, + multiple token.
func spell(args []*commands.Argument) string {
	var out []string
	for _, a := range args {
		s := a.Name + ":" + string(a.Type)
		if a.Token != "" {
			s += "=" + a.Token
		}
		if len(a.Args) > 0 {
			s += "(" + spell(a.Args) + ")"
		}
		for _, f := range []struct {
			on   bool
			mark string
		}{{a.Optional, "?"}, {a.Multiple, "*"}, {a.MultipleToken, "+"}} {
			if f.on {
				s += f.mark
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestSyntaxBecomesTheTreeThatHintsAreMadeOf(t *testing.T) {
	for _, c := range []struct{ syntax, want string }{
		{"", ""},
		{"key", "key:key"},
		{"key [key ...]", "key:key*"},
		{"key element [element ...]", "key:key element:string*"},
		{"key value [key value ...]", "data:block(key:key value:string)*"},
		{"[channel [channel ...]]", "channel:string?*"},
		{"key value [NX|XX] [GET] [EX seconds|PX milliseconds|KEEPTTL]",
			"key:key value:string nx-xx:oneof(nx:pure-token=NX xx:pure-token=XX)? get:pure-token=GET? " +
				"seconds-milliseconds-keepttl:oneof(seconds:integer=EX milliseconds:integer=PX keepttl:pure-token=KEEPTTL)?"},
		{"key [NX | XX]", "key:key nx-xx:oneof(nx:pure-token=NX xx:pure-token=XX)?"},
		{"numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
			"numkeys:integer key:key* left-right:oneof(left:pure-token=LEFT right:pure-token=RIGHT) count:integer=COUNT?"},
		{"source destination LEFT|RIGHT", "source:key destination:key left-right:oneof(left:pure-token=LEFT right:pure-token=RIGHT)"},
		{"key [GET pattern [GET pattern ...]]", "key:key pattern:pattern=GET?*+"},
		{"[LIMIT offset count]", "limit:block=LIMIT(offset:integer count:integer)?"},
		{"key [OVERFLOW WRAP|SAT|FAIL]", "key:key wrap-sat-fail:oneof=OVERFLOW(wrap:pure-token=WRAP sat:pure-token=SAT fail:pure-token=FAIL)?"},
		{"key FIELDS numfields field [field ...]", "key:key numfields:integer=FIELDS field:string*"},
		{"key [field", "key:key field:string?"},
		{"]", ""},
	} {
		cmd := &commands.Command{Syntax: c.syntax, Keys: []commands.KeySpec{commands.Key(1, commands.RO)}}
		if got := spell(commands.ParseSyntax(cmd)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.syntax, got, c.want)
		}
	}
}

func TestArgumentsHaveTheTypesThatTheirCommandsRead(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"BF.RESERVE":   "key:key error_rate:double capacity:integer expansion:integer=EXPANSION? nonscaling:pure-token=NONSCALING?",
		"INCRBY":       "key:key increment:integer",
		"INCRBYFLOAT":  "key:key increment:double",
		"HINCRBYFLOAT": "key:key field:string increment:double",
		"BRPOP":        "key:key* timeout:double",
		"WAIT":         "numreplicas:integer timeout:integer",
		"PLACE.SET":    "key:key unit:string capacity:double domain:string=DOMAIN? unit:block(unit:string capacity:double)?*",
	} {
		cmd := table.Find(name)
		if got := spell(commands.ParseSyntax(cmd)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestEveryRowsSyntaxParses(t *testing.T) {
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range table.All() {
		args := commands.ParseSyntax(cmd)
		if (len(args) == 0) != (cmd.Syntax == "") {
			t.Errorf("%s: %q parses to %s", cmd.Name, cmd.Syntax, spell(args))
		}
		for name := range cmd.Types {
			if !slices.Contains(commands.SplitSyntax(cmd.Syntax), name) {
				t.Errorf("%s: has a type for %s, which is not in %q", cmd.Name, name, cmd.Syntax)
			}
		}
		if err := checkTree(args); err != nil {
			t.Errorf("%s: %q: %v in %s", cmd.Name, cmd.Syntax, err, spell(args))
		}
	}
}

func checkTree(args []*commands.Argument) error {
	for _, a := range args {
		if nested := a.Type == commands.ArgOneOf || a.Type == commands.ArgBlock; nested != (len(a.Args) > 0) {
			return fmt.Errorf("%s of type %s has %d arguments", a.Name, a.Type, len(a.Args))
		}
		if err := checkTree(a.Args); err != nil {
			return err
		}
	}
	return nil
}

func FuzzSyntax(f *testing.F) {
	for _, s := range []string{"key [NX|XX] ...", "<a | [b ...]>", "a|...|B", "[[", "]]>|<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := checkTree(commands.ParseSyntax(&commands.Command{Syntax: s})); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	})
}

// A word that may be left out takes nothing of what follows it.
func TestOptionalWordTakesNoArgument(t *testing.T) {
	args := commands.ParseSyntax(&commands.Command{Syntax: "key [INCR] score member [score member ...]"})
	if len(args) != 3 || args[1].Name != "incr" || args[1].Type != commands.ArgToken || !args[1].Optional || args[2].Type != commands.ArgBlock || !args[2].Multiple || len(args[2].Args) != 2 {
		t.Errorf("%d arguments: %+v", len(args), args)
	}
}
