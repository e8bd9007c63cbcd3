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
	if got := admin.do("INFO", "commandstats"); !strings.Contains(got, "cmdstat_blpop:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0") {
		t.Errorf("a call that was refused when it was woken never ran, got %s", got)
	}
}

func TestRefusalsNameTheCommandThatTheClientSent(t *testing.T) {
	for _, x := range []struct {
		calls []string
		want  string
	}{
		{[]string{"INCR n"}, "incr"},
		{[]string{"SET a b", "INCR n"}, "incr"},
		{[]string{"MULTI", "INCR n"}, "incr"},
		{[]string{"MULTI", "SET a b", "HGET h f", "EXEC"}, "exec"},
		{[]string{"EVAL redis.pcall('incr','n') 0"}, "eval"},
		{[]string{"MULTI", "EVAL redis.pcall('incr','n') 0", "EXEC"}, "exec"},
	} {
		r := newRig(t)
		admin := r.dial()
		admin.want("ACL SETUSER u on nopass ~* +@all -incr", "OK")
		c := r.as("u")
		for i, call := range x.calls {
			if call == "EXEC" && i > 0 {
				admin.want("ACL SETUSER u -hget", "OK")
			}
			c.do(strings.Fields(call)...)
		}
		if got := admin.do("ACL", "LOG"); !strings.Contains(got, " cmd="+x.want+" ") {
			t.Errorf("%q: got %s, want cmd=%s", x.calls, got, x.want)
		}
	}
}

// DEBUG has no table of subcommands in Redis: rules may name any first argument of it.
func TestRulesMayNameAnyWordOfDebug(t *testing.T) {
	r := newRig(t)
	admin, noPermission := r.dial(), "(error) NOPERM User u has no permissions to run the 'debug"
	admin.want("ACL SETUSER u on nopass ~* +acl +debug|object +debug|SEGFAULT", "OK")
	if got := admin.do("ACL", "GETUSER", "u"); !strings.Contains(got, `"-@all +acl +debug|object +debug|segfault"`) {
		t.Errorf("got %s", got)
	}
	c := r.as("u")
	c.want("DEBUG OBJECT nosuch", "(error) ERR no such key")
	c.want("DEBUG segfault", "(error) ERR unknown subcommand 'segfault'. Try DEBUG HELP.")
	for _, call := range []string{"DEBUG SLEEP 0", "DEBUG JMAP", "DEBUG NOSUCH", "DEBUG PANIC now"} {
		if got := c.do(strings.Fields(call)...); !strings.HasPrefix(got, noPermission) {
			t.Errorf("%s: got %s", call, got)
		}
	}
	c.want("ACL DRYRUN u DEBUG SEGFAULT", "OK")
	if got := c.do("ACL", "DRYRUN", "u", "DEBUG", "PANIC"); !strings.Contains(got, "no permissions to run the 'debug' command") {
		t.Errorf("got %s", got)
	}
	admin.want("ACL SETUSER u -debug", "OK")
	if got := c.do("DEBUG", "SEGFAULT"); !strings.HasPrefix(got, noPermission) {
		t.Errorf("got %s", got)
	}
	admin.want("ACL SETUSER u +debug", "OK")
	c.want("DEBUG SEGFAULT", "(error) ERR unknown subcommand 'SEGFAULT'. Try DEBUG HELP.")
	const unknown = "': Unknown command or category name in ACL"
	for _, rule := range []string{"-debug|a", "+config|a", "-debug|segfault"} {
		admin.want("ACL SETUSER u "+rule, "(error) ERR Error in ACL SETUSER modifier '"+rule+unknown)
	}
}

// Redis 7.0 took each option of HELLO at once.
func TestTheLastOptionsOfHelloCount(t *testing.T) {
	r := newRig(t)
	admin := r.dial()
	admin.want("ACL SETUSER u on >right ~* &* +@all", "OK")
	admin.want("ACL SETUSER v on >secret ~* &* +@all", "OK")
	admin.want("CONFIG SET slowlog-log-slower-than 0", "OK")
	c := r.dial()
	c.do("HELLO", "2", "AUTH", "u", "wrong", "SETNAME", "auth", "AUTH", "v", "secret", "SETNAME", "last")
	c.want("ACL WHOAMI", `"v"`)
	c.want("CLIENT GETNAME", `"last"`)
	if got := admin.do("SLOWLOG", "GET"); !strings.Contains(got, `"HELLO"`) || strings.Contains(got, "secret") || strings.Contains(got, "wrong") {
		t.Errorf("the slow log has a password: %s", got)
	}
	c.do("HELLO", "2", "SETNAME", "", "AUTH", "u", "right")
	c.want("ACL WHOAMI", `"u"`)
	c.want("CLIENT GETNAME", "(nil)")
	const wrong = "(error) WRONGPASS invalid username-password pair or user is disabled."
	c.want("HELLO 2 SETNAME new AUTH v secret AUTH v wrong", wrong)
	c.want("HELLO 2 AUTH v secret SETNAME new NOSUCH", "(error) ERR Syntax error in HELLO option 'NOSUCH'")
	c.want("HELLO 2 AUTH v secret SETNAME a\u0001", "(error) ERR Client names cannot contain spaces, newlines or special characters.")
	c.want("ACL WHOAMI", `"u"`)
	c.want("CLIENT GETNAME", "(nil)")
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
