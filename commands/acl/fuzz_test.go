package acl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/acl"
)

// FuzzRules checks that no rules panic, and that what they make is described by rules
// that make the same.
func FuzzRules(f *testing.F) {
	f.Add("on >pw ~a* %R~b &c +@all -@admin +config|get (+get ~x) +select|0")
	f.Add("(\n+get\n) reset +@read|x +|x -| %RW~ %~ & ~ # ! < > ((((")
	table := newTable(f)
	f.Fuzz(func(t *testing.T, text string) {
		us := acl.NewUsers(table, func() bool { return false })
		if us.Set("u", strings.Split(text, "\n"), nil) != nil {
			return
		}
		want := us.Find("u").Rules().String()
		if err := us.Set("v", append([]string{"reset"}, strings.Split(want, " ")...), nil); err != nil {
			t.Fatalf("%q makes %q, which is wrong: %v", text, want, err)
		}
		if got := us.Find("v").Rules().String(); got != want {
			t.Fatalf("%q makes %q, which makes %q", text, want, got)
		}
	})
}

// FuzzFile checks that no file panics the reader or changes anything if it is refused,
// and that a file that is read is written as it can be read again.
func FuzzFile(f *testing.F) {
	f.Add([]byte("user a on >x\n\nuser default off (+get ~a) -@all\r\n"))
	f.Add([]byte("user a off (+get ~)) &0"))
	f.Add([]byte("user  on\nuser a #00\n# no\nuser b +nosuch"))
	table := newTable(f)
	closed := func() bool { return false }
	f.Fuzz(func(t *testing.T, text []byte) {
		us := acl.NewUsers(table, closed)
		before := us.Lines()
		if _, err := us.Load("f", text, "pw", nil); err != nil {
			if !slices.Equal(us.Lines(), before) {
				t.Fatalf("%q was refused and changed the users to %q", text, us.Lines())
			}
			return
		}
		again := acl.NewUsers(table, closed)
		if _, err := again.Load("f", us.File(), "pw", nil); err != nil || !slices.Equal(again.Lines(), us.Lines()) {
			t.Fatalf("%q: got %q, %v, want %q", text, again.Lines(), err, us.Lines())
		}
	})
}

// FuzzTake checks that no kept rules panic, and that they make what they say or a user that may do nothing.
func FuzzTake(f *testing.F) {
	f.Add("u", "on nopass sanitize-payload ~* &* +@all")
	f.Add("default", "(((\x00 +nosuch")
	table := newTable(f)
	f.Fuzz(func(t *testing.T, name, rules string) {
		us := acl.NewUsers(table, func() bool { return true })
		bad := false
		us.Take(map[string]string{name: rules}, nil, func(string, error) { bad = true })
		u := us.Find(name)
		if bad && u.Rules().String() != "off sanitize-payload resetchannels -@all" {
			t.Fatalf("%q makes %q", rules, u.Rules().String())
		}
		again := acl.NewUsers(table, func() bool { return false })
		want := u.Rules().String()
		again.Take(map[string]string{name: want}, []string{name}, func(_ string, err error) { t.Fatal(err) })
		if got := again.Find(name).Rules().String(); got != want {
			t.Fatalf("%q makes %q, which makes %q", rules, want, got)
		}
	})
}
