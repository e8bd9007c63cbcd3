package main

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

const refusedLogin = "WRONGPASS invalid username-password pair or user is disabled."

// logs in at a port, until the reply is that: members know of changes of users a moment after the leader's reply.
func logins(t *testing.T, port int, login, want string) {
	t.Helper()
	var got string
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got, err = callAt(port, "AUTH "+login); err == nil && got == want {
			return
		}
	}
	t.Fatalf("AUTH %s at %d: %s, %v, want %s", login, port, got, err, want)
}

func (g *trio) want(i int, line, want string) {
	g.t.Helper()
	if got, err := g.call(i, line); err != nil || got != want {
		g.t.Errorf("server %d: %s: got %s, %v, want %s", i, line, got, err, want)
	}
}

// What was acknowledged about users holds at the next leader, at once, when the leader is killed: a user that was made may
// log in, and one that was deleted or has another password may not. So it is after starts, for a member that joins later,
// and for one that goes on alone.
func TestUsersSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	g := newTrio(t, strings.Fields("--appendfsync always --user first on >x ~* +@all")...)
	lead := g.leader()
	for _, user := range []string{"kept", "gone", "changed"} {
		g.want(lead, "ACL SETUSER "+user+" on >x ~* &* +@all", "OK")
	}
	for i := range 3 {
		logins(t, g.ports[i], "gone x", "OK")
	}
	follower := (lead + 1) % 3
	gone := dialAt(t, "tcp", g.up[follower].addr)
	if got := gone.do(t, "AUTH gone x"); got != "OK" {
		t.Fatal(got)
	}
	g.want(follower, "ACL SETUSER mine on nopass", "READONLY You can't write against a read only replica.")
	g.want(lead, "ACL DELUSER gone first", "2")
	g.want(lead, "ACL SETUSER changed resetpass >y", "OK")
	g.up[lead].cmd.Process.Kill()
	g.up[lead].wait()
	next := g.leader()
	check := func(port int) {
		t.Helper()
		for login, want := range map[string]string{"kept x": "OK", "changed y": "OK", "changed x": refusedLogin, "gone x": refusedLogin, "first x": refusedLogin} {
			if got, err := callAt(port, "AUTH "+login); err != nil || got != want {
				t.Errorf("AUTH %s at %d: got %s, %v, want %s", login, port, got, err, want)
			}
		}
	}
	check(g.ports[next])
	if got, err := gone.reply(); err == nil {
		t.Errorf("a deleted user's client got %s", got)
	}
	g.start(lead)
	says(t, g.up[lead], "The users are those of the group")
	g.await(lead)
	g.whole()
	logins(t, g.ports[lead], "changed y", "OK")
	check(g.ports[lead])

	g.want(g.leader(), "ACL DELUSER changed", "1")
	g.want(g.leader(), "ACL SETUSER late on >x", "OK")
	g.restart()
	for i := range 3 {
		logins(t, g.ports[i], "late x", "OK")
		logins(t, g.ports[i], "changed y", refusedLogin)
	}
	g.leader()
	joiner := g.joiner(3)
	logins(t, joiner.port, "late x", "OK")
	logins(t, joiner.port, "gone x", refusedLogin)
	joiner.outlive(g)
	logins(t, joiner.port, "late x", "OK")
	logins(t, joiner.port, "changed y", refusedLogin)
	if got, err := callAt(joiner.port, "ACL USERS"); err != nil || got != "[default kept late]" {
		t.Errorf("%s, %v", got, err)
	}
}

// A server that becomes a replica has the users of its group, and its own again when it leaves.
func TestReplicaHasTheUsersOfItsGroup(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(2)
	s.want(0, "CLUSTER ADDSLOTSRANGE 0 16383", "OK")
	s.until(0, "ACL SETUSER theirs on >x", "OK")
	s.until(1, "ACL SETUSER own on >x", "OK")
	s.want(1, "CLUSTER REPLICATE "+s.id(0), "OK")
	port := func(i int) int {
		_, text, _ := strings.Cut(s.address(i), ":")
		n, _ := strconv.Atoi(text)
		return n
	}
	logins(t, port(1), "theirs x", "OK")
	logins(t, port(1), "own x", refusedLogin)
	s.until(1, "CLUSTER RESET", "OK")
	logins(t, port(1), "theirs x", refusedLogin)
	logins(t, port(1), "own x", refusedLogin)
	s.until(1, "ACL USERS", "[default]")
}
