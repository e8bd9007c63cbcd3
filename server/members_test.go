package server

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
)

// newChangingRig is a server in a group that the test describes and whose changes it sees.
func newChangingRig(t *testing.T) (*rig, *testGroup, *knownGroup) {
	k := &knownGroup{}
	k.set(leads)
	r, g := newGroupRig(t, func(o *Options) { o.Membership = k.now.Load })
	return r, g, k
}

// numbered gives members numbers from 1 on, and makes the last one a learner.
func numbered(is func(m *commands.Membership)) func(m *commands.Membership) {
	return func(m *commands.Membership) {
		is(m)
		for i := range m.Members {
			m.Members[i].Number = uint64(i + 1)
		}
		m.Members[2].Learner, m.Members[2].Sent = true, 77
		m.Level, m.Members[0].NewestLevel = 2, 3
	}
}

func TestStatusDescribesTheMembers(t *testing.T) {
	r, _, k := newChangingRig(t)
	c := r.dial()
	for _, x := range []struct {
		name  string
		is    func(*commands.Membership)
		parts []string
		not   string
	}{
		{"a leader", leads, []string{`"state" "leads" "self" (int) 1 "leader" (int) 1 "term" (int) 7 "level" (int) 2 "last-entry" (int) 40 "committed-entry" (int) 39`,
			`"voters" (int) 2 "quorum" (int) 2`, `"address" "10.0.0.1:7001" "role" "leader" "link" "self" "newest-level" (int) 3 "entry"`,
			`"member" (int) 2 "id" "` + strings.Repeat("b", 40) + `" "address" "10.0.0.2:7002" "role" "voter" "link" "up" "entry" (int) 38 "lag" (int) 2 "state-bytes-sent" (int) 0`,
			`"address" "[::1]:7003" "role" "learner" "link" "down" "entry" (int) 0 "lag" (int) 40 "state-bytes-sent" (int) 77`}, ""},
		{"a follower", follows, []string{`"state" "follows"`, `"leader" (int) 3`, `"role" "voter" "link" "unknown"]`, `"role" "leader" "link" "up"]`}, "lag"},
		{"one that hears no leader", leaderless, []string{`"state" "no-leader"`, `"leader" (int) 0`}, `"leader" "link"`},
		{"one that may lack something", func(m *commands.Membership) { follows(m); m.Syncing = true }, []string{`"state" "may-lack-writes"`}, ""},
		{"one that gets the state", func(m *commands.Membership) { follows(m); m.Received = 5 },
			[]string{`"state" "receives-state"`, `"state-bytes-received" (int) 5`}, ""},
		{"one that has left", func(m *commands.Membership) { leaderless(m); m.Gone = true }, []string{`"state" "left"`, `"role" "none" "link" "self"`}, ""},
		{"one amid a change", func(m *commands.Membership) { follows(m); m.Members[1].Leaves = true }, []string{`"role" "leaving"`}, ""},
	} {
		k.set(numbered(x.is))
		got := c.do("VIGIL.CLUSTER", "STATUS")
		for _, part := range x.parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: got %s, want %s in it", x.name, got, part)
			}
		}
		if x.not != "" && strings.Contains(got, x.not) {
			t.Errorf("%s: got %s, with %s in it", x.name, got, x.not)
		}
	}
}

// Members are named by number, address or id, and what the group refuses is said.
func TestChangesOfTheMembersReachTheGroup(t *testing.T) {
	r, g, k := newChangingRig(t)
	k.set(numbered(leads))
	c := r.dial()
	for _, x := range []struct{ call, want, change string }{
		{"LEAVE 2", "OK", "leave 2 false"},
		{"LEAVE 10.0.0.2:7002 force", "OK", "leave 2 true"},
		{"LEAVE " + strings.Repeat("C", 40), "OK", "leave 3 false"},
		{"LEAVE [::1]:7003", "OK", "leave 3 false"},
		{"LEAVE 4", "(error) ERR The group has no member '4': members are named by their number, address or id", ""},
		{"REPLACE 2 BY 3", "OK", "replace 2 3"},
		{"REPLACE 2 BY 2", "(error) ERR A member cannot replace itself", ""},
		{"REPLACE 2 BY 9", "(error) ERR The group has no member '9': members are named by their number, address or id", ""},
		{"REPLACE 9 BY 2", "(error) ERR The group has no member '9': members are named by their number, address or id", ""},
		{"TRANSFER 2", "OK", "transfer 2"},
		{"TRANSFER nobody", "(error) ERR The group has no member 'nobody': members are named by their number, address or id", ""},
		{"UPGRADE dryrun", "OK the group would have level 3 in place of 1, and older versions could not take part any more; new: one thing, another one", "upgrade true"},
		{"UPGRADE", "OK the group has level 3 in place of 1, and older versions cannot take part any more; new: one thing, another one", "upgrade false"},
		{"RECOVER lose-writes", "OK this member votes again, with entries up to 40 of term 7", "recover"},
	} {
		g.set(func() { g.changes = nil })
		c.want("VIGIL.CLUSTER "+x.call, x.want)
		var want []string
		if x.change != "" {
			want = []string{x.change}
		}
		if g.set(func() {}); !slices.Equal(g.changes, want) {
			t.Errorf("%s: the group was asked %q, want %q", x.call, g.changes, want)
		}
	}
	c.want("VIGIL.CLUSTER BURY x LOSE-WRITES", "(error) ERR This instance has cluster support disabled")
	if got := c.do("VIGIL.CLUSTER", "RECOVER"); !strings.Contains(got, "say RECOVER LOSE-WRITES") {
		t.Errorf("RECOVER without a word: %s", got)
	}
	g.set(func() { g.refuses = errors.New("the member has not caught up") })
	for _, call := range []string{"LEAVE 2", "REPLACE 2 BY 3", "TRANSFER 2", "RECOVER LOSE-WRITES", "UPGRADE", "UPGRADE DRYRUN"} {
		c.want("VIGIL.CLUSTER "+call, "(error) ERR the member has not caught up")
	}
	g.set(func() { g.refuses, g.level = nil, 3 })
	c.want("VIGIL.CLUSTER UPGRADE", "OK the group has level 3, the newest that its members know: nothing is to be done")
}

// A group is buried by the leader of another one, which is told that writes may be lost; the reply names the slots that are free.
func TestGroupIsBuriedByTheLeaderOfAnother(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	if got := c.do("VIGIL.CLUSTER", "BURY", id("c")); !strings.Contains(got, "say BURY <node-id> LOSE-WRITES") {
		t.Errorf("BURY without a word: %s", got)
	}
	each(t, c, map[string]string{
		"VIGIL.CLUSTER BURY " + id("c") + " lose-writes":   "OK the slots 5-9 have no group now",
		"VIGIL.CLUSTER BURY " + id("8") + " LOSE-WRITES":   "OK", // it had none
		"VIGIL.CLUSTER BURY " + id("7") + " LOSE-WRITES":   "(error) ERR Unknown node " + id("7"),
		"VIGIL.CLUSTER BURY " + id("c") + " LOSE-WRITES x": "(error) ERR syntax error",
		"VIGIL.CLUSTER BURY " + id("c") + " SURE":          "(error) ERR syntax error",
		"VIGIL.CLUSTER BURY":                               "(error) ERR wrong number of arguments for 'vigil.cluster|bury' command",
	})
	r.g.set(func() { r.g.refuses = errors.New("the group was removed") })
	c.want("VIGIL.CLUSTER BURY "+id("c")+" LOSE-WRITES", "(error) ERR the group was removed")
	if got, want := r.g.changesAsked(), "bury "+id("7")+"; bury "+id("8")+"; bury "+id("c")+"; bury "+id("c"); got != want {
		t.Errorf("the group was asked for %s, want %s", got, want)
	}
	r.follow()
	r.dial().want("VIGIL.CLUSTER BURY "+id("c")+" LOSE-WRITES", "(error) ERR This member does not lead the group: ask 10.0.0.2:7000")
}

// A member that does not lead names the one that does, and can only be asked to leave itself.
func TestAFollowerNamesTheLeaderToAnAdministrator(t *testing.T) {
	r, g, k := newChangingRig(t)
	k.set(numbered(follows))
	c := r.dial()
	for _, call := range []string{"LEAVE 2", "REPLACE 2 BY 3", "TRANSFER 2", "UPGRADE", "UPGRADE DRYRUN"} {
		c.want("VIGIL.CLUSTER "+call, "(error) ERR This member does not lead the group: ask [::1]:7003")
	}
	c.want("VIGIL.CLUSTER LEAVE 1", "OK")
	k.set(numbered(leaderless))
	c.want("VIGIL.CLUSTER TRANSFER 2", "(error) CLUSTERDOWN The group has no leader now")
	if g.set(func() {}); !slices.Equal(g.changes, []string{"leave 1 false"}) {
		t.Errorf("the group was asked %q", g.changes)
	}
	c.want("MULTI", "OK")
	c.want("VIGIL.CLUSTER LEAVE 1", "(error) ERR Command not allowed inside a transaction")
}

// A server that has left its group says so to whoever wants its data.
func TestAServerThatHasLeftItsGroupSaysSo(t *testing.T) {
	r, g, k := newChangingRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	g.depose()
	g.set(func() { g.gone = true })
	k.set(func(m *commands.Membership) { leaderless(m); m.Gone = true })
	c = r.dial()
	const gone = "(error) CLUSTERDOWN This server has left its group"
	for _, call := range []string{"GET k", "SET k v", "DBSIZE", "WATCH k", "FLUSHALL", "VIGIL.CLUSTER LEAVE 2", "VIGIL.CLUSTER RECOVER LOSE-WRITES"} {
		c.want(call, gone)
	}
	c.want("PING", "PONG")
	c.want("READONLY", "OK")
	c.want("GET k", gone)
}

// No message reaches a server which has left its group. Its subscribers are disconnected, and find another one.
func TestAServerThatHasLeftItsGroupKeepsNoSubscribers(t *testing.T) {
	r, g, k := newChangingRig(t)
	g.depose()
	k.set(numbered(follows))
	subscribed, other := r.dial(), r.dial()
	subscribed.want("SUBSCRIBE ch", `["subscribe" "ch" (int) 1]`)
	r.clock.advance(cronPeriod)
	other.want("PUBLISH ch m", "(int) 1")
	subscribed.next(`["message" "ch" "m"]`)
	for _, gone := range []bool{true, false, true} {
		g.set(func() { g.gone = gone })
		for range goneRounds - 1 {
			r.clock.advance(cronPeriod)
		}
	}
	subscribed.want("PING", `["pong" ""]`)
	r.clock.advance(cronPeriod)
	subscribed.ended()
	const gone = "(error) CLUSTERDOWN This server has left its group"
	for _, call := range []string{"SUBSCRIBE ch", "PSUBSCRIBE *", "SSUBSCRIBE ch", "PUBLISH ch m", "SPUBLISH ch m"} {
		other.want(call, gone)
	}
	other.want("UNSUBSCRIBE", `["unsubscribe" (nil) (int) 0]`)
}

// What has less than the others is not shown to clients that read from replicas, and does not count.
func TestLearnersAreNoReplicasToClients(t *testing.T) {
	r, _, k := newChangingRig(t)
	k.set(numbered(func(m *commands.Membership) { leads(m); m.Members[2].Active = true }))
	c := r.dial()
	for _, call := range []string{"REPLICAS", "SENTINELS"} {
		if got := c.do("SENTINEL", call, "mymaster"); strings.Contains(got, "7003") || !strings.Contains(got, "7002") {
			t.Errorf("SENTINEL %s: %s", call, got)
		}
	}
	if got := c.do("SENTINEL", "MASTER", "mymaster"); !strings.Contains(got, `"num-slaves" "1" "num-other-sentinels" "1" "quorum" "2"`) {
		t.Errorf("SENTINEL MASTER: %s", got)
	}
	c.want("ROLE", `["master" (int) 40 [["10.0.0.2" "7002" "38"]]]`)
	info := infoLines(c.do("INFO", "replication"))
	if !info["slave1:ip=::1,port=7003,state=send_bulk,offset=0,lag=0"] || !info["connected_slaves:2"] {
		t.Errorf("INFO replication: %v", info)
	}
	c.want("SET k v", "OK")
	k.set(numbered(func(m *commands.Membership) {
		leads(m)
		for i := range m.Members {
			m.Members[i].Record = 1000
		}
	}))
	c.want("WAIT 1 0", "(int) 1")
}

// A leader that leaves, and with it its place in the list, is no index into another list.
func TestTheLeaderIsRememberedByItsId(t *testing.T) {
	r, _, k := newChangingRig(t)
	k.set(numbered(func(m *commands.Membership) { follows(m); m.Members[2].Learner = false }))
	c := r.dial()
	c.want("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", `["::1" "7003"]`)
	k.set(func(m *commands.Membership) {
		leaderless(m)
		m.Members = append(m.Members[:1], m.Members[2])
	})
	c.want("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", `["::1" "7003"]`)
	k.set(func(m *commands.Membership) { leaderless(m); m.Members = m.Members[:2] })
	c.want("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "(nil array)")
	c.want("ROLE", `["slave" "" (int) 0 "connect" (int) 39]`)
}
