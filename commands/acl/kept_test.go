package acl_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands/acl"
)

func noneBad(t *testing.T) func(string, error) {
	return func(name string, err error) {
		t.Helper()
		t.Errorf("the rules of %s: %v", name, err)
	}
}

// keptOf is the users as they are kept.
func keptOf(us *acl.Users) map[string]string {
	kept := map[string]string{}
	for _, u := range us.List() {
		kept[u.Name()] = u.Rules().String()
	}
	return kept
}

func names(users []*acl.User) string {
	var list []string
	for _, u := range users {
		list = append(list, u.Name())
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// What is kept of changes makes, elsewhere, the same users.
func TestKeptChangesMakeTheSameUsers(t *testing.T) {
	us, other, kept := newUsers(t), newUsers(t), map[string]string{}
	var changed []string
	keep := func(c *acl.Changes) error {
		before := us.Default().Rules().String() // takes no lock
		if len(kept) == 0 {
			for _, l := range c.All() {
				kept[l.Name] = l.Rules
			}
		}
		for _, l := range c.Lines() {
			changed = append(changed, l.Name)
			if kept[l.Name] = l.Rules; l.Deleted {
				delete(kept, l.Name)
			}
		}
		if us.Default().Rules().String() != before {
			t.Error("a change has taken effect before it was kept")
		}
		return nil
	}
	file := []byte("user default on nopass ~* &* +@all\nuser a on >x ~a +get (%R~b &c +@all -@admin)\nuser c off\n")
	for i, change := range []func() error{
		func() error { return us.Set("a", []string{"on", ">x", "~a", "+get", "(%R~b &c +@all -@admin)"}, keep) },
		func() error { return us.Set("b", []string{"on", "nopass"}, keep) },
		func() error { return us.Set("b", []string{"on", "nopass"}, keep) }, // as it was
		func() error { return us.SetPassword("pw", keep) },
		func() error { _, err := us.Load("f", file, "", keep); return err },
		func() error { _, err := us.Delete([]string{"a", "default", "nobody", "a"}, keep); return err },
	} {
		changed = nil
		if err := change(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(changed)
		if got, want := strings.Join(changed, " "), []string{"a", "b", "", "default", "b c default", "a"}[i]; got != want {
			t.Errorf("change %d: %q changed, want %q", i, got, want)
		}
		if i == 0 {
			changed = nil // what comes first is taken as a whole
		}
		if i != 2 {
			other.Take(kept, changed, noneBad(t))
		}
		if got, want := other.Lines(), us.Lines(); !slices.Equal(got, want) || fmt.Sprint(keptOf(us)) != fmt.Sprint(kept) {
			t.Errorf("change %d: got %q, want %q, kept %q", i, got, want, kept)
		}
	}
	if other.Authenticate([]byte("c"), []byte("")) != nil || other.Authenticate([]byte("default"), []byte("any")) == nil {
		t.Error("the users are others")
	}
}

func TestChangesThatAreNotKeptDoNotHappen(t *testing.T) {
	us := newUsers(t)
	rulesOf(us, "on >x ~a +get")
	before, no := us.Lines(), errors.New("no")
	refuse := func(*acl.Changes) error { return no }
	if err := us.Set("u", []string{"off"}, refuse); err != no {
		t.Errorf("Set: %v", err)
	}
	if err := us.Set("v", nil, refuse); err != no {
		t.Errorf("Set of another one: %v", err)
	}
	if err := us.SetPassword("pw", refuse); err != no {
		t.Errorf("SetPassword: %v", err)
	}
	if deleted, err := us.Delete([]string{"u"}, refuse); err != no || deleted != nil {
		t.Errorf("Delete: %v, %v", deleted, err)
	}
	if deleted, err := us.Load("f", []byte("user v on"), "", refuse); err != no || deleted != nil {
		t.Errorf("Load: %v, %v", deleted, err)
	}
	if got := us.Lines(); !slices.Equal(got, before) {
		t.Errorf("got %q, want %q", got, before)
	}
}

// Take returns whose clients are to be disconnected: those of users that are gone and, when all are taken, of users that have other rules.
func TestTakeReturnsWhoIsLost(t *testing.T) {
	us := newUsers(t)
	for _, name := range []string{"same", "less", "gone", "gone2"} {
		if err := us.Set(name, []string{"on", "nopass", "+get"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	kept := keptOf(us)
	delete(kept, "gone")
	kept["less"] = "on nopass sanitize-payload resetchannels -@all"
	kept["new"] = kept["less"]
	same, gone := us.Find("same"), us.Find("gone")
	rules := same.Rules()
	if got := names(us.Take(kept, []string{"gone", "less", "new", "never"}, noneBad(t))); got != "gone" {
		t.Errorf("lost: %s", got)
	}
	if us.Find("same") != same || same.Rules() != rules || us.Find("gone2") == nil || us.Find("new") == nil || us.Find("gone") != nil || gone.Rules().NoPass() {
		t.Errorf("the users are %q", us.Lines())
	}
	delete(kept, "gone2")
	kept["same"], kept["default"] = kept["same"]+" +set", "on sanitize-payload resetchannels -@all"
	if got := names(us.Take(kept, nil, noneBad(t))); got != "default gone2 same" {
		t.Errorf("lost: %s", got)
	}
	if got := fmt.Sprint(keptOf(us)); got != fmt.Sprint(kept) {
		t.Errorf("got %s, want %v", got, kept)
	}
}

// With nothing kept the users are those that were remembered.
func TestTakeOfNothingGoesBackToWhatWasRemembered(t *testing.T) {
	us := newUsers(t)
	rulesOf(us, "on >x ~a +get")
	us.Remember()
	want := us.Lines()
	us.Take(map[string]string{"default": "off", "w": "on nopass"}, nil, noneBad(t))
	if us.Find("u") != nil || us.Find("w") == nil || us.Default().Rules().Open() {
		t.Fatalf("the users are %q", us.Lines())
	}
	if got := names(us.Take(nil, nil, noneBad(t))); got != "default w" {
		t.Errorf("lost: %s", got)
	}
	if got := us.Lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A default user that is not kept beside others may do nothing, and so may one whose rules are unknown here.
func TestUnreadableRulesAllowNothing(t *testing.T) {
	us := newUsers(t)
	rulesOf(us, "on nopass ~* +@all")
	var told []string
	us.Take(map[string]string{"u": "on nopass +@all ~secret +nosuch", "v": "on #secret"}, nil, func(name string, err error) {
		told = append(told, name+" "+err.Error())
	})
	slices.Sort(told)
	if len(told) != 2 || !strings.HasPrefix(told[0], "u Error in ACL SETUSER modifier '+nosuch'") || !strings.HasPrefix(told[1], "v The password hash") ||
		strings.Contains(strings.Join(told, ""), "secret") {
		t.Errorf("told %q", told)
	}
	for _, name := range []string{"u", "v", "default"} {
		if u := us.Find(name); u == nil || u.Rules().Open() || u.Admits([]byte("")) || u.Rules().Everything() {
			t.Errorf("%s: %v", name, us.Lines())
		}
		if err := us.Set(name, []string{"on", "nopass", "+get"}, nil); err != nil || !us.Find(name).Rules().Open() {
			t.Errorf("%s, set again: %v", name, err)
		}
	}
}
