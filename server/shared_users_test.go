package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence"
)

const (
	wrongPass     = "(error) WRONGPASS invalid username-password pair or user is disabled."
	readOnlyError = "(error) READONLY You can't write against a read only replica."
)

// couple is a leader and a follower, which gets what the leader commits.
type couple struct {
	*rig          // of the leader
	follower *rig // with directives of its own
	g, other *testGroup
}

func newCouple(t *testing.T, leader, follower []string) *couple {
	t.Helper()
	c := &couple{}
	c.follower, c.other = newGroupRig(t, func(o *Options) { o.Config = testConfig(t, follower...) })
	c.other.depose()
	c.rig, c.g = newGroupRig(t, func(o *Options) { o.Config = testConfig(t, leader...) })
	c.g.to = c.other
	return c
}

// fail makes the follower lead.
func (c *couple) fail() {
	c.g.to = nil
	c.g.depose()
	c.other.elect()
}

// login is a client that has authenticated.
func (r *rig) login(user, password string) *testClient {
	r.t.Helper()
	c := r.dial()
	c.want("AUTH "+user+" "+password, "OK")
	return c
}

func (r *rig) noLogin(user, password string) {
	r.t.Helper()
	r.dial().want("AUTH "+user+" "+password, wrongPass)
}

// refusesAsFollower checks that a follower refuses calls, in a transaction too, and says why: by whether it hears the
// leader, and whether it has left.
func (r *rig) refusesAsFollower(g *testGroup, calls ...string) {
	r.t.Helper()
	admin := r.dial()
	refused := func(want string) {
		r.t.Helper()
		for _, call := range calls {
			admin.want(call, want)
			admin.want("MULTI", "OK")
			admin.want("ECHO hi", "QUEUED")
			admin.want(call, want)
			admin.want("EXEC", "(error) EXECABORT Transaction discarded because of previous errors.")
		}
	}
	refused(readOnlyError)
	g.set(func() { g.heard = false })
	refused("(error) CLUSTERDOWN The cluster is down")
	g.set(func() { g.gone = true })
	refused("(error) CLUSTERDOWN This server has left its group")
	g.set(func() { g.heard, g.gone = true, false })
}

func TestUsersOfALeaderAreThoseOfItsFollower(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin := c.dial()
	admin.want("SET k v", "OK")
	admin.want("ACL SETUSER u on >x ~* &* +@all", "OK")
	admin.want("ACL SETUSER v on >y ~* +get (~a* +@read) +select|0", "OK")
	u, v, open := c.follower.login("u", "x"), c.follower.login("v", "y"), c.follower.dial()
	c.follower.noLogin("u", "y")
	if got, want := open.do("ACL", "LIST"), admin.do("ACL", "LIST"); got != want {
		t.Errorf("the follower has %s, want %s", got, want)
	}
	u.want("GET k", `"v"`)
	admin.want("ACL SETUSER u -get", "OK")
	u.want("GET k", "(error) NOPERM User u has no permissions to run the 'get' command")
	u.do("SUBSCRIBE", "news")
	admin.want("ACL SETUSER u resetchannels", "OK")
	u.ended()
	v.want("GET k", `"v"`)
	admin.want("ACL DELUSER u v", "(int) 2")
	v.ended()
	c.follower.noLogin("v", "y")
	open.want("ACL USERS", `["default"]`)
	c.fail()
	c.follower.dial().want("ACL SETUSER w on nopass", "OK")
	c.follower.login("w", "any")
	c.noLogin("w", "any")
}

// A leader that waits for a call is not kept by the locks of a follower.
func TestBlockedClientOfADeletedUserIsDisconnectedAtTheFollower(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin := c.dial()
	admin.want("ACL SETUSER u on nopass ~* &* +@all", "OK")
	u := c.follower.login("u", "x")
	u.do("SUBSCRIBE", "news")
	admin.want("MULTI", "OK")
	admin.want("SET k v", "QUEUED")
	admin.want("ACL DELUSER u", "QUEUED")
	admin.want("SET l w", "QUEUED")
	admin.want("EXEC", "[OK (int) 1 OK]")
	u.ended()
	c.follower.dial().want("MGET k l", `["v" "w"]`)
}

// Before the first change each server has the users of its configuration; with it, all of the leader's are
// those of the group.
func TestFirstChangeOfUsersSharesAllOfThem(t *testing.T) {
	c := newCouple(t, strings.Fields("--requirepass lead --user both on nopass ~* +@all --user here on >x ~a +get"),
		strings.Fields("--requirepass follow --user both on nopass ~* +@all --user there on nopass +@all"))
	there, both, deflt := c.follower.login("there", "any"), c.follower.login("both", "any"), c.follower.login("default", "follow")
	c.follower.noLogin("here", "x")
	admin := c.login("default", "lead")
	lsn := c.srv.store.Stats().LSN
	admin.want("ACL SETUSER both on ~*", "OK") // which it has
	admin.want("ACL DELUSER nobody", "(int) 0")
	if got := c.srv.store.Stats().LSN; got != lsn {
		t.Errorf("record %d for changes of nothing", got)
	}
	c.follower.login("there", "any")
	admin.want("ACL SETUSER new on nopass", "OK")
	there.ended()
	deflt.ended() // its password does not count any more
	both.want("ECHO hi", `"hi"`)
	for user, password := range map[string]string{"default": "lead", "here": "x", "new": "any", "both": "any"} {
		c.follower.login(user, password)
	}
	c.follower.noLogin("there", "any")
	c.follower.noLogin("default", "follow")
	if got, want := both.do("ACL", "LIST"), admin.do("ACL", "LIST"); got != want {
		t.Errorf("the follower has %s, want %s", got, want)
	}
}

// What a follower refuses changes nothing, also as a part of a transaction. What concerns the server alone goes on.
func TestFollowersRefuseChangesOfUsers(t *testing.T) {
	for _, view := range []string{"sentinel", "cluster"} {
		c := newCouple(t, nil, []string{"--cluster-view", view})
		r, g := c.follower, c.other
		admin := r.dial()
		before := admin.do("ACL", "LIST")
		calls := []string{"ACL SETUSER u on nopass", "ACL DELUSER u", "ACL LOAD", "CONFIG SET requirepass x", "CONFIG SET maxmemory 100mb RequirePass x"}
		r.refusesAsFollower(g, calls...)
		if got := admin.do("ACL", "LIST"); got != before {
			t.Errorf("%s: the users are %s, were %s", view, got, before)
		}
		admin.want("CONFIG GET requirepass", `["requirepass" ""]`)
		admin.want("CONFIG GET maxmemory", `["maxmemory" "0"]`)
		admin.want("CONFIG SET maxmemory 100mb", "OK")
		admin.want("ACL WHOAMI", `"default"`)
		admin.want("ACL DRYRUN default GET k", "OK")
	}
}

// A member that ceases to lead after a change of users was admitted does not make it.
func TestChangeOfUsersIsRefusedUnderItsLocks(t *testing.T) {
	r, g := newGroupRig(t)
	g.depose()
	s := newFeeder(r.srv).s
	for _, call := range []string{"ACL SETUSER u", "CONFIG SET requirepass x"} {
		argv := [][]byte{}
		for _, word := range strings.Fields(call) {
			argv = append(argv, []byte(word))
		}
		cmd, _ := s.lookup(argv)
		s.prepare(cmd, argv)
		if err := s.lock(cmd, argv); err == nil || s.locked {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// No reply tells of users that are not committed: neither that of the change, nor of a client that looks at them, nor of one that has
// authenticated with a new password.
func TestRepliesAboutUsersWaitForTheCommit(t *testing.T) {
	r, g := newGroupRig(t)
	admin, reader, u := r.dial(), r.dial(), r.dial()
	admin.want("ACL SETUSER u on >x", "OK")
	g.holdBack(true)
	admin.send("ACL", "SETUSER", "u", ">y")
	r.until("the change is in memory", func() bool { return len(g.waiting()) == 1 })
	reader.send("ACL", "GETUSER", "u")
	u.send("AUTH", "u", "y")
	r.until("they were called", func() bool { return r.srv.stats.calls("acl|getuser") == 1 && r.srv.stats.calls("auth") == 1 })
	if len(g.waiting()) != 1 {
		t.Fatal("something was committed")
	}
	g.holdBack(false)
	admin.next("OK")
	u.next("OK")
	if got := reader.reply(); !strings.HasPrefix(got, `["flags" ["on"`) {
		t.Errorf("ACL GETUSER: %s", got)
	}
	reader.want("ACL USERS", `["default" "u"]`)
}

// A deposed leader forgets changes of users that are not committed. A client that comes in by one in the meantime is
// disconnected.
func TestDeposedLeaderForgetsChangesOfUsers(t *testing.T) {
	for _, x := range []struct{ name, before string }{{"the first change", ""}, {"a later change", "ACL SETUSER other on nopass"}} {
		r, g := newGroupRig(t, func(o *Options) {
			o.Config = testConfig(t, strings.Fields("--requirepass old --user u on >x ~* +@all --user gone on >x ~* +@all")...)
		})
		admin := r.login("default", "old")
		if x.before != "" {
			admin.want(x.before, "OK")
		}
		list := admin.do("ACL", "LIST")
		calls := []string{"ACL SETUSER u resetpass >y allchannels", "ACL DELUSER gone", "ACL SETUSER new on nopass", "CONFIG SET requirepass new"}
		var admins []*testClient
		for range calls {
			admins = append(admins, r.login("default", "old"))
		}
		g.holdBack(true)
		for i, call := range calls {
			command := strings.ToLower(strings.Join(strings.Fields(call)[:2], "|"))
			before := r.srv.stats.calls(command)
			admins[i].send(strings.Fields(call)...)
			r.until("the change is in memory", func() bool { return r.srv.stats.calls(command) > before })
		}
		var late []*testClient
		g.amid = func() {
			for _, pair := range []string{"u y", "new any", "default new"} {
				c, before := r.dial(), r.srv.stats.calls("auth")
				c.send(append([]string{"AUTH"}, strings.Fields(pair)...)...)
				r.until("it has authenticated", func() bool { return r.srv.stats.calls("auth") > before })
				late = append(late, c)
			}
		}
		g.depose()
		for _, c := range late {
			c.ended()
		}
		for user, password := range map[string]string{"u": "y", "new": "any", "default": "new"} {
			r.noLogin(user, password)
		}
		r.login("gone", "x")
		r.login("u", "x")
		if got := r.login("default", "old").do("ACL", "LIST"); got != list {
			t.Errorf("%s: the users are %s, were %s", x.name, got, list)
		}
		g.elect()
		r.login("default", "old").want("ACL SETUSER new on nopass", "OK")
		r.login("new", "any")
		r.noLogin("u", "y")
	}
}

func TestUsersOfTheGroupWinAtAStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users.acl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user default on nopass ~* &* +@all\nuser u on >x ~u* +get\n")
	start := func(t *testing.T) (*rig, *testGroup) {
		return newGroupRig(t, onDisk(dir), func(o *Options) {
			o.Config = testConfig(t, "--aclfile", "users.acl", "--dir", dir, "--requirepass", "p")
		})
	}
	list := ""
	const told = "The users are those of the group"
	t.Run("a new group begins with those of the file", func(t *testing.T) {
		r, _ := start(t)
		admin, u := r.dial(), r.login("u", "x")
		if r.log.has(told) {
			t.Error("there are users of the group")
		}
		write("user default on nopass ~* &* +@all\nuser u on >x ~u* +get\nuser v on >y ~v* +get\n")
		admin.want("ACL LOAD", "OK")
		u.want("GET u1", "(nil)") // is the same user as before
		list = admin.do("ACL", "LIST")
	})
	write("user default on >z ~* &* +@all\n")
	t.Run("later they are in the store", func(t *testing.T) {
		r, _ := start(t)
		admin := r.dial()
		r.login("v", "y")
		if got := admin.do("ACL", "LIST"); got != list || !r.log.has(told) {
			t.Errorf("the users are %s, want %s; the log tells it: %v", got, list, r.log.has(told))
		}
		admin.want("ACL SETUSER w on nopass", "OK")
		admin.want("ACL SAVE", "OK")
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "\nuser w on nopass") {
			t.Errorf("the file has %s, %v", text, err)
		}
		write("user default on >z ~* &* +@all\nuser v off\n")
		admin.want("ACL LOAD", "OK")
		r.noLogin("v", "y")
		r.login("default", "z").want("ACL USERS", `["default" "v"]`)
	})
	t.Run("and what ACL LOAD made of them", func(t *testing.T) {
		r, _ := start(t)
		r.login("default", "z").want("ACL USERS", `["default" "v"]`)
	})
}

// A client of the leader stays when the file has its user as before; at the follower too.
func TestLoadingTheFileChangesWhatDiffersEverywhere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users.acl")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user same on >x ~* &* +@all\nuser less on >x ~* &* +@all\nuser gone on >x ~* &* +@all\n")
	c := newCouple(t, []string{"--aclfile", "users.acl", "--dir", dir}, nil)
	admin := c.dial()
	admin.want("ACL SETUSER extra on >x ~* &* +@all", "OK")
	var clients [2]map[string]*testClient
	for i, r := range []*rig{c.rig, c.follower} {
		clients[i] = map[string]*testClient{}
		for _, user := range []string{"same", "less", "gone", "extra"} {
			clients[i][user] = r.login(user, "x")
		}
	}
	write("user same on >x ~* &* +@all\nuser less on >x ~* &* +@all -echo\nuser new on >x\n")
	admin.want("ACL LOAD", "OK")
	for i, r := range []*rig{c.rig, c.follower} {
		clients[i]["same"].want("ECHO hi", `"hi"`)
		clients[i]["less"].want("ECHO hi", "(error) NOPERM User less has no permissions to run the 'echo' command")
		clients[i]["gone"].ended()
		clients[i]["extra"].ended()
		r.login("new", "x")
	}
}

func TestRequirepassSetAtTheLeaderIsThatOfTheGroup(t *testing.T) {
	c := newCouple(t, nil, []string{"--requirepass", "other"})
	admin := c.dial()
	admin.want("CONFIG SET requirepass one maxmemory 100mb", "OK")
	c.follower.login("default", "one")
	c.follower.noLogin("default", "other")
	admin.want("ACL SETUSER default >two", "OK")
	c.follower.login("default", "two")
	admin.want("CONFIG SET requirepass one", "OK") // as it was; the user has another one besides
	c.follower.noLogin("default", "two")
	admin.want("CONFIG SET requirepass one", "OK")
	c.fail()
	next := c.follower.login("default", "one")
	next.want("CONFIG GET requirepass", `["requirepass" "other"]`)
	next.want(`CONFIG SET requirepass `, "(error) ERR wrong number of arguments for 'config|set' command")
	if got := next.do("CONFIG", "SET", "requirepass", ""); got != "OK" {
		t.Errorf("an empty password: %s", got)
	}
	c.follower.dial().want("GET k", "(nil)")
}

// A member that cannot read the rules of a user, as they may name what a later version has, lets it do nothing, and has
// it as before for the others.
func TestUserWhoseRulesCannotBeReadMayDoNothing(t *testing.T) {
	c := newCouple(t, nil, nil)
	admin := c.dial()
	admin.want("ACL SETUSER u on nopass ~* +@all", "OK")
	admin.want("ACL SETUSER odd on nopass ~* +@all", "OK")
	odd := c.follower.login("odd", "x")
	tx := c.srv.store.NewTx()
	var set persistence.Shards
	set.AddTexts()
	tx.Lock(&set, 0)
	tx.Texts(persistence.Users).Set("odd", "on nopass ~* +later")
	tx.Commit()
	tx.Unlock()
	admin.want("SET k v", "OK")
	odd.want("GET k", "(error) NOPERM User odd has no permissions to run the 'get' command")
	c.follower.noLogin("odd", "x")
	c.follower.login("u", "x").want("GET k", `"v"`)
	if !c.follower.log.has(`User "odd" of the group may do nothing here: Error in ACL SETUSER modifier '+later': Unknown command`) {
		t.Error("the log does not tell")
	}
	c.follower.dial().want("ACL GETUSER odd", `["flags" ["off" "sanitize-payload"] "passwords" [] "commands" "-@all" "keys" "" "channels" "" "databases" "alldbs" "selectors" []]`)
	c.fail()
	c.follower.dial().want("ACL SETUSER odd on nopass ~* +get", "OK")
	c.follower.login("odd", "x").want("GET k", `"v"`)
}

// The users of a group are bounded: all of them may have to be one record.
func TestUsersOfAGroupAreBounded(t *testing.T) {
	r, _ := newGroupRig(t)
	r.srv.shared.most = 64 << 10
	c := r.dial()
	call := []string{"ACL", "SETUSER", "u"}
	for i := range 700 {
		call = append(call, fmt.Sprintf("~%d%s", i, strings.Repeat("x", 60)))
	}
	if got := c.do(call...); got != "OK" {
		t.Fatal(got)
	}
	call[2] = "v"
	lsn := r.srv.store.Stats().LSN
	if got := c.do(call...); got != "(error) ERR the users of the group take more than 64 MiB" {
		t.Errorf("got %.100s", got)
	}
	c.want("ACL USERS", `["default" "u"]`)
	if got := r.srv.store.Stats().LSN; got != lsn {
		t.Errorf("record %d for a change that was refused", got)
	}
	call[2] = "u"
	if got := c.do(call...); got != "OK" {
		t.Errorf("the same once more: %.100s", got)
	}
	c.want("ACL DELUSER u", "(int) 1")
	call[2] = "v"
	if got := c.do(call...); got != "OK" {
		t.Errorf("in its place: %.100s", got)
	}
}

// A server that leaves its group has the users of its configuration again.
func TestServerThatLeavesItsGroupHasItsOwnUsersAgain(t *testing.T) {
	r, g := newGroupRig(t, func(o *Options) {
		o.Config = testConfig(t, strings.Fields("--requirepass p --user u on >x ~* +@all")...)
	})
	admin := r.login("default", "p")
	admin.want("ACL SETUSER v on >y", "OK")
	admin.want("ACL SETUSER u >z", "OK")
	admin.want("ACL SETUSER default >q", "OK")
	g.renew()
	r.noLogin("v", "y")
	r.noLogin("u", "z")
	r.noLogin("default", "q")
	r.login("u", "x")
	g.elect()
	r.login("default", "p").want("CONFIG SET requirepass q", "OK")
	g.renew()
	r.noLogin("default", "p") // CONFIG SET has changed the configuration
	g.elect()
	r.login("default", "q").want("ACL USERS", `["default" "u"]`)
}

// While a member loads it does not know its administrators. A client that has come in by the configuration is disconnected
// when the users of the group are others.
func TestMemberThatLoadsTakesNoAdministration(t *testing.T) {
	dir := t.TempDir()
	t.Run("before", func(t *testing.T) {
		r, _ := newGroupRig(t, onDisk(dir))
		admin := r.dial()
		admin.want("ACL SETUSER root on >x ~* &* +@all", "OK")
		admin.want("ACL SETUSER default off nopass", "OK")
	})
	g := newTestGroup(t)
	r := newLoadingRig(t, onDisk(dir), g.join, func(o *Options) {
		o.Config = testConfig(t, strings.Fields("--user old on >y ~* &* +@all")...)
	})
	old, open := r.login("old", "y"), r.dial()
	for _, call := range []string{"CONFIG SET maxmemory 1", "ACL SETUSER mine on nopass", "CONFIG GET *", "SHUTDOWN", "ACL LIST", "CLIENT KILL ID 1"} {
		if got := old.do(strings.Fields(call)...); !strings.HasPrefix(got, "(error) LOADING") {
			t.Errorf("%s: got %s", call, got)
		}
	}
	open.want("ECHO hi", `"hi"`)
	if err := r.srv.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	old.ended()
	open.ended()
	r.noLogin("old", "y")
	r.login("root", "x").want("ACL USERS", `["default" "root"]`)
	g.elect()
	r.login("root", "x").want("SET k v", "OK")
	r.dial().want("GET k", "(error) NOAUTH Authentication required.")
}
