package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/conf"
)

// as is a client that has authenticated.
func (r *rig) as(user string) *testClient {
	r.t.Helper()
	c := r.dial()
	c.want("AUTH "+user+" x", "OK")
	return c
}

func TestExecAsksAgain(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("ACL SETUSER u on nopass ~* +@all", "OK")
	c := r.as("u")
	for _, call := range []string{"MULTI", "SET a 1", "INCR b", "GET a"} {
		c.do(strings.Fields(call)...)
	}
	admin.want("ACL SETUSER u -incr resetkeys ~a", "OK")
	if got := c.do("EXEC"); !strings.HasPrefix(got, "[OK (error) NOPERM ACLs rules changed") || !strings.Contains(got, "no permission to execute the command or subcommand") || !strings.HasSuffix(got, ` "1"]`) {
		t.Errorf("got %s", got)
	}
	if got := admin.do("ACL", "LOG"); !strings.Contains(got, `"multi" "object" "incr"`) {
		t.Errorf("got %s", got)
	}
}

func TestBlockedCallIsAskedAboutAgain(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("ACL SETUSER u on nopass ~* +@all", "OK")
	c := r.as("u")
	c.send("BLPOP", "q", "0")
	r.blocked(1)
	admin.want("ACL SETUSER u -blpop", "OK")
	admin.want("RPUSH q a", "(int) 1")
	c.next("(error) NOPERM User u has no permissions to run the 'blpop' command")
	admin.want("LLEN q", "(int) 1")
}

func TestChangesOfUsersDisconnect(t *testing.T) {
	eachTransport(t, func(t *testing.T, r *rig, dial func() *testClient) {
		admin := dial()
		admin.want("ACL SETUSER u on nopass ~* &* +@all", "OK")
		c, keeps, waits, stays := dial(), dial(), dial(), dial()
		for _, o := range []*testClient{c, keeps, waits} {
			o.want("AUTH u x", "OK")
		}
		c.do("SUBSCRIBE", "news", "other")
		keeps.do("SUBSCRIBE", "news")
		admin.want("ACL SETUSER u resetchannels &news", "OK")
		c.next(`["subscribe" "other" (int) 2]`)
		c.ended()
		admin.do("PUBLISH", "news", "m")
		keeps.next(`["message" "news" "m"]`)
		waits.send("BLPOP", "q", "0")
		r.blocked(1)
		admin.want("ACL DELUSER u", "(int) 1")
		keeps.ended()
		waits.ended()
		admin.want("RPUSH q a", "(int) 1")
		stays.want("LLEN q", "(int) 1")
	})
}

func TestPatternsOfSubscribersAreComparedWordForWord(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("ACL SETUSER u on nopass &news.* +@all", "OK")
	c := r.as("u")
	c.do("PSUBSCRIBE", "news.*")
	admin.want("ACL SETUSER u &n*", "OK")
	c.want("PING", `["pong" ""]`)
	admin.want("ACL SETUSER u resetchannels &n*", "OK")
	c.ended()
}

func TestResetMakesTheClientTheDefaultUser(t *testing.T) {
	r := newRig(t)
	r.dial().want("ACL SETUSER u on nopass +@all", "OK")
	c := r.as("u")
	c.want("RESET", "RESET")
	c.want("ACL WHOAMI", `"default"`)
}

func TestAUserMayDeleteItself(t *testing.T) {
	r := newRig(t)
	r.dial().want("ACL SETUSER u on nopass +@all", "OK")
	c := r.as("u")
	c.want("ACL DELUSER u", "(int) 1")
	c.ended()
}

func TestResetAndPasswordsOfTheDefaultUser(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("ACL SETUSER u on nopass +@all ~*", "OK")
	c := r.as("u")
	admin.want("CONFIG SET requirepass one", "OK")
	c.want("GET a", "(nil)")
	c.want("RESET", "RESET")
	c.want("GET a", "(error) NOAUTH Authentication required.")
	c.want("AUTH one", "OK")
	c.want("ACL WHOAMI", `"default"`)
	admin.want("ACL SETUSER default >two", "OK")
	r.dial().want("AUTH two", "OK")
	admin.want("CONFIG SET requirepass three", "OK")
	for _, old := range []string{"one", "two"} {
		r.dial().want("AUTH "+old, "(error) WRONGPASS invalid username-password pair or user is disabled.")
	}
	r.dial().want("HELLO 2 AUTH default one", "(error) WRONGPASS invalid username-password pair or user is disabled.")
	admin.want("ACL SETUSER default off", "OK")
	r.dial().want("AUTH three", "(error) WRONGPASS invalid username-password pair or user is disabled.")
	if got := admin.do("INFO", "stats"); !strings.Contains(got, "acl_access_denied_auth:4") {
		t.Errorf("got %s", got)
	}
}

func TestUsersAreSavedAndLoaded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users.acl")
	if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\nuser u on >x ~u* +get\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--aclfile", "users.acl", "--dir", dir) })
	admin, u := r.dial(), r.as("u")
	admin.want("ACL SETUSER v on >y +@all", "OK")
	admin.want("ACL SAVE", "OK")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "\nuser v on sanitize-payload #") {
		t.Fatalf("got %s, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "users.acl*")); len(left) != 1 {
		t.Errorf("files are left: %q", left)
	}
	if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\nuser v on x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin.want("ACL LOAD", "(error) ERR users.acl:2: Syntax error. WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	u.want("GET u1", "(nil)")
	if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\nuser v on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin.want("ACL LOAD", "OK")
	u.ended()
	admin.want("ACL USERS", `["default" "v"]`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	admin.want("ACL LOAD", "(error) ERR Error loading ACLs, opening file 'users.acl': No such file or directory")
}

func TestRewrittenConfigurationHasTheUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v.conf")
	if err := os.WriteFile(file, []byte("user u on >x ~u* +get\nuser gone on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(o *Options) {
		var err error
		if o.Config, err = conf.Load([]string{file}, nil); err != nil {
			t.Fatal(err)
		}
	}
	c := newRig(t, load).dial()
	c.want("ACL DELUSER gone", "(int) 1")
	c.want(`ACL SETUSER v on nopass ~a"b (~c +get)`, "OK")
	want := c.do("ACL", "LIST")
	c.want("CONFIG REWRITE", "OK")
	if got := newRig(t, load).dial().do("ACL", "LIST"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
