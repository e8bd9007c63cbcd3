package acl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/commands/groups"
)

func newTable(t testing.TB) *commands.Table {
	t.Helper()
	table, err := commands.NewTable(groups.All())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func newUsers(t testing.TB) *acl.Users {
	t.Helper()
	return acl.NewUsers(newTable(t), func() bool { return false })
}

// rulesOf sets rules, separated by blanks, and describes what they make.
func rulesOf(us *acl.Users, rules string) string {
	us.Delete([]string{"u"}, nil)
	if err := us.Set("u", strings.Split(rules, " "), nil); err != nil {
		return err.Error()
	}
	return us.Find("u").Rules().String()
}

func TestRulesDescribeThemselves(t *testing.T) {
	const pw = "#5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8" // of "password"
	off := "off sanitize-payload"
	for _, x := range []struct{ rules, want string }{
		{"", off + " resetchannels -@all"},
		{"on nopass", "on nopass sanitize-payload resetchannels -@all"},
		{"ON NoPass ~* &* +@ALL", "on nopass sanitize-payload ~* &* +@all"},
		{"nopass >password", off + " " + pw + " resetchannels -@all"},
		{">password " + pw, off + " " + pw + " resetchannels -@all"},
		{">password nopass", "off nopass sanitize-payload resetchannels -@all"},
		{">password <password", off + " resetchannels -@all"},
		{">password !" + pw[1:], off + " resetchannels -@all"},
		{">password resetpass", off + " resetchannels -@all"},
		{"on >x ~a &b +get (+set) reset", off + " resetchannels -@all"},
		{"skip-sanitize-payload", "off skip-sanitize-payload resetchannels -@all"},
		{"~a %R~b %W~c %RW~d %wR~e ~a", off + " ~a %R~b %W~c ~d ~e resetchannels -@all"},
		{"%R~a %W~a", off + " ~a resetchannels -@all"},
		{"~a allkeys", off + " ~* resetchannels -@all"},
		{"~* resetkeys ~b", off + " ~b resetchannels -@all"},
		{"&a &a &b*", off + " resetchannels &a &b* -@all"},
		{"&a allchannels", off + " &* -@all"},
		{"&* resetchannels &b", off + " resetchannels &b -@all"},
		{"+@all -@admin +config|get", off + " resetchannels +@all -@admin +config|get"},
		{"+get -get +GET", off + " resetchannels -@all +get"},
		{"+config|get +config", off + " resetchannels -@all +config"},
		{"+config -config|set", off + " resetchannels -@all +config -config|set"},
		{"+select|0 +SELECT|1 +select|0", off + " resetchannels -@all +select|1 +select|0"},
		{"+select|0 -select", off + " resetchannels -@all -select"},
		{"+get nocommands", off + " resetchannels -@all"},
		{"-get allcommands", off + " resetchannels +@all"},
		{"(~a +get) ( %W~b  &c +set )", off + " resetchannels -@all (~a resetchannels -@all +get) (%W~b resetchannels &c -@all +set)"},
		{"() (+get", "Unmatched parenthesis in acl selector starting at '(+get'."},
		{"(+get) clearselectors", off + " resetchannels -@all"},
		{"nosuch", "Error in ACL SETUSER modifier 'nosuch': Syntax error"},
		{"+nosuch", "Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"},
		{"-get|x", "Error in ACL SETUSER modifier '-get|x': Unknown command or category name in ACL"},
		{"+@nosuch", "Error in ACL SETUSER modifier '+@nosuch': Unknown command or category name in ACL"},
		{"+config|nosuch", "Error in ACL SETUSER modifier '+config|nosuch': Unknown command or category name in ACL"},
		{"+config|get|x", "Error in ACL SETUSER modifier '+config|get|x': Allowing first-arg of a subcommand is not supported"},
		{"+get|", "Error in ACL SETUSER modifier '+get|': Syntax error"},
		{"+select|a\tb", "Error in ACL SETUSER modifier '+select|a\tb': Syntax error"},
		{"+", "Error in ACL SETUSER modifier '+': Unknown command or category name in ACL"},
		{"%~a", "Error in ACL SETUSER modifier '%~a': Syntax error"},
		{"%X~a", "Error in ACL SETUSER modifier '%X~a': Syntax error"},
		{"%RR~a", "Error in ACL SETUSER modifier '%RR~a': Syntax error"},
		{"%R", "Error in ACL SETUSER modifier '%R': Syntax error"},
		{"~a\x00b", "Error in ACL SETUSER modifier '~a\x00b': Syntax error"},
		{"~a\tb", "Error in ACL SETUSER modifier '~a\tb': Syntax error"},
		{"&a\nb", "Error in ACL SETUSER modifier '&a\nb': Syntax error"},
		{"~* ~a", "Error in ACL SETUSER modifier '~a': Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"},
		{"&* &a", "Error in ACL SETUSER modifier '&a': Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"},
		{"<password", "Error in ACL SETUSER modifier '<password': The password you are trying to remove from the user does not exist"},
		{"#abc", "Error in ACL SETUSER modifier '#abc': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
		{strings.ToUpper(pw), "Error in ACL SETUSER modifier '" + strings.ToUpper(pw) + "': The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"},
		{"(on)", "Error in ACL SETUSER modifier '(on)': Syntax error"},
		{"(+get (+set))", "Error in ACL SETUSER modifier '(+get (+set))': Syntax error"},
		{`(~"a)`, `Error in ACL SETUSER modifier '(~"a)': Syntax error`},
		{"~" + strings.Repeat("x", 70000), "Error in ACL SETUSER modifier '~" + strings.Repeat("x", 70000) + "': The rule is too long, or there are too many rules of its kind"},
	} {
		if got := rulesOf(newUsers(t), x.rules); got != x.want {
			t.Errorf("%.80q: got %.300s, want %.300s", x.rules, got, x.want)
		}
	}
}

func TestRulesAreAppliedAllOrNone(t *testing.T) {
	us := newUsers(t)
	before := rulesOf(us, "on >a ~k +get (+set)")
	if err := us.Set("u", []string{"off", "+del", "clearselectors", "nosuch"}, nil); err == nil {
		t.Fatal("no error")
	}
	if got := us.Find("u").Rules().String(); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
	if err := us.Set("new", []string{"nosuch"}, nil); err == nil || us.Find("new") != nil {
		t.Errorf("a user was made by rules that are wrong")
	}
}

// Whoever looks at rules while they change sees those before or those after.
func TestRulesThatAClientHoldsNeverChange(t *testing.T) {
	us := newUsers(t)
	rulesOf(us, "on >a ~k1 &c1 +get +select|1 (~s +set)")
	held := us.Find("u").Rules()
	before := held.String()
	if err := us.Set("u", strings.Split(">b ~k2 &c2 +del +select|2 (~t +append) -get", " "), nil); err != nil {
		t.Fatal(err)
	}
	if got := held.String(); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
}

func TestPasswords(t *testing.T) {
	us := newUsers(t)
	for rules, want := range map[string]string{
		"on >a >b >c": "a b c", "off >a": "", "on nopass": "a b c d", "off nopass": "", "on": "",
		"on nopass resetpass": "", "on >a <a": "", "on >a >b <a": "b",
	} {
		rulesOf(us, rules)
		for _, password := range []string{"a", "b", "c", "d"} {
			u := us.Authenticate([]byte("u"), []byte(password))
			if got := u != nil; got != slices.Contains(strings.Fields(want), password) {
				t.Errorf("%s: password %s: got %v", rules, password, got)
			}
		}
	}
	if us.Authenticate([]byte("nobody"), nil) != nil {
		t.Error("nobody is somebody")
	}
}

func TestAClientOfADeletedUserMayDoNothing(t *testing.T) {
	us := newUsers(t)
	rulesOf(us, "on nopass ~* &* +@all")
	u := us.Find("u")
	if deleted, _ := us.Delete([]string{"u", "default", "none", "u"}, nil); len(deleted) != 1 || deleted[0] != u {
		t.Fatalf("deleted %v", deleted)
	}
	table := newTable(t)
	for _, cmd := range table.All() {
		if u.Rules().Check(0, cmd, [][]byte{[]byte("x")}) == nil {
			t.Errorf("%s is allowed", cmd.Name)
		}
	}
	if u.Rules().Open() || us.Authenticate([]byte("u"), nil) != nil || us.Default().Rules().Everything() != true {
		t.Error("the user is still somebody")
	}
}

func TestUsersFileIsReadWholeOrNotAtAll(t *testing.T) {
	us := newUsers(t)
	rulesOf(us, "on nopass ~* &* +@all")
	for _, x := range []struct{ text, want string }{
		{"user a on\nusr b", "f.acl:2 should start with user keyword followed by the username."},
		{"user", "f.acl:1 should start with user keyword followed by the username."},
		{"# comment", "f.acl:1 should start with user keyword followed by the username."},
		{"user a on\nuser a off", "WARNING: Duplicate user 'a' found on line 2."},
		{"\n\nuser a on +nosuch +get +@none", "f.acl:3: Error in applying operation '+nosuch': Unknown command or category name in ACL. f.acl:3: Error in applying operation '+@none': Unknown command or category name in ACL."},
		{"user a on secret other", "f.acl:1: Syntax error."},
		{"user a (+get", "f.acl:1: Unmatched parenthesis in selector definition."},
		{"user a\tb on", "'f.acl:1: username 'a\tb' contains invalid characters."},
	} {
		want := x.want + " WARNING: ACL errors detected, no change to the previously active ACL rules was performed"
		if _, err := us.Load("f.acl", []byte(x.text), "pw", nil); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", x.text, err, want)
		}
	}
	if got := fmt.Sprint(us.Lines()); got != "[user default on nopass sanitize-payload ~* &* +@all user u on nopass sanitize-payload ~* &* +@all]" {
		t.Errorf("a file that is wrong changed the users: %s", got)
	}
	u := us.Find("u")
	deleted, err := us.Load("f.acl", []byte("user b on >x ~b* +get\r\n\nuser  off\n"), "pw", nil)
	if err != nil || len(deleted) != 1 || deleted[0] != u {
		t.Fatalf("got %v, %v", deleted, err)
	}
	if us.Default().Rules().Open() || us.Authenticate([]byte("default"), []byte("pw")) == nil {
		t.Error("the default user has lost the password of requirepass")
	}
	lines := us.Lines()
	again := newUsers(t)
	if _, err := again.Load("f.acl", us.File(), "", nil); err != nil || !slices.Equal(again.Lines(), lines) {
		t.Errorf("got %q, %v, want %q", again.Lines(), err, lines)
	}
	b := us.Find("b")
	if _, err := us.Load("f.acl", []byte("user b on +set"), "", nil); err != nil || us.Find("b") != b {
		t.Errorf("a user that stays is another one: %v", err)
	}
}

func TestDeclaredUsers(t *testing.T) {
	us, seen := newUsers(t), map[string]bool{}
	for _, x := range []struct{ line, want string }{
		{"alice on >secret ~a +get", "<nil>"},
		{"alice off", "Duplicate user found. A user can only be defined once in config files"},
		{"default off", "<nil>"},
		{"a\tb on", "Spaces not allowed in ACL usernames"},
		{"bob on secret", "Syntax error"},
		{"carol on (+get", "Unmatched parenthesis in selector definition."},
		{"dave on +nosuch", "Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"},
	} {
		if got := fmt.Sprint(us.Declare(strings.Split(x.line, " "), seen)); got != x.want {
			t.Errorf("%s: got %s, want %s", x.line, got, x.want)
		}
	}
	if us.Default().Rules().Open() || us.Find("dave") != nil {
		t.Errorf("got %q", us.Lines())
	}
}

// A call of a user with rules about keys is checked without taking memory.
func TestAllowedCallAllocatesNothing(t *testing.T) {
	us := newUsers(t)
	if err := us.Set("u", strings.Split("on nopass ~app:* +@read (~other:* +@write)", " "), nil); err != nil {
		t.Fatal(err)
	}
	rules, argv := us.Find("u").Rules(), [][]byte{[]byte("SET"), []byte("other:1"), []byte("v")}
	set, denied := newTable(t).Find("SET"), false
	if n := testing.AllocsPerRun(100, func() { denied = denied || rules.Check(0, set, argv) != nil }); n != 0 || denied {
		t.Errorf("%v allocations a call, denied: %v", n, denied)
	}
}

// Rules about databases are told from others, which may look alike.
func TestRulesAboutDatabasesAreKnown(t *testing.T) {
	for rules, want := range map[string]bool{
		"on nopass ~* +@all": false, "on db=0 +@all": true, "on resetdbs": true, "on ~db=* &resetdbs": false, "on (+get db=3)": true, "on (resetdbs)": true,
	} {
		if got := acl.NamesDatabases(rules); got != want {
			t.Errorf("%s: got %v", rules, got)
		}
	}
}
