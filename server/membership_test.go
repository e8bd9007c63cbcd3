package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

// knownGroup is what a server is told of its group.
type knownGroup struct {
	now atomic.Pointer[commands.Membership]
}

// threeMembers is a group with the ids a, b and c repeated; the server is the first.
func threeMembers() commands.Membership {
	m := commands.Membership{Name: "mymaster", ID: strings.Repeat("f", 40), Term: 7, Synced: true, Leader: -1}
	for i, host := range []string{"10.0.0.1", "10.0.0.2", "::1"} {
		m.Members = append(m.Members, commands.Member{ID: strings.Repeat(string(rune('a'+i)), 40), Host: host, Port: 7001 + i})
	}
	return m
}

// set tells what is so now.
func (k *knownGroup) set(change func(m *commands.Membership)) {
	m := threeMembers()
	change(&m)
	k.now.Store(&m)
}

// newRigInGroup is a rig whose server is in a group that the test describes.
func newRigInGroup(t *testing.T) (*rig, *knownGroup) {
	k := &knownGroup{}
	return newRig(t, func(o *Options) {
		o.Config = testConfig(t, "--appendfsync", "always")
		o.Membership = k.now.Load
	}), k
}

func leads(m *commands.Membership) {
	m.Leader, m.Led, m.Leads, m.Last, m.Commits = 0, true, true, 40, 39
	m.Members[1].Active, m.Members[1].Entry = true, 38
}

func follows(m *commands.Membership) {
	m.Leader, m.Led, m.Last, m.Commits, m.Heard = 2, true, 40, 39, 2500*time.Millisecond
}

func leaderless(m *commands.Membership) { m.Last, m.Commits, m.Heard = 40, 39, time.Minute }

func TestRoleIsThatInTheGroup(t *testing.T) {
	r, k := newRigInGroup(t)
	c := r.dial()
	for _, x := range []struct {
		name     string
		is       func(*commands.Membership)
		role     string
		hello    string
		no1, of  string
		has, not []string // lines of INFO replication
	}{
		{"a leader", leads, `["master" (int) 40 [["10.0.0.2" "7002" "38"]]]`, `"role" "master"`, "OK", "", // see TestAGroupFollowsAMaster
			[]string{"role:master", "connected_slaves:1", "slave0:ip=10.0.0.2,port=7002,state=online,offset=38,lag=0", "master_repl_offset:40",
				"master_replid:" + strings.Repeat("f", 40)}, []string{"master_host", "slave1"}},
		{"a follower", follows, `["slave" "::1" (int) 7003 "connected" (int) 39]`, `"role" "replica"`,
			"(error) READONLY REPLICAOF is for the leader of a group: VIGIL.CLUSTER STATUS shows it",
			"(error) READONLY REPLICAOF is for the leader of a group: VIGIL.CLUSTER STATUS shows it",
			[]string{"role:slave", "master_host:::1", "master_port:7003", "master_link_status:up", "master_last_io_seconds_ago:2", "slave_repl_offset:39",
				"slave_read_repl_offset:40", "connected_slaves:0"}, []string{"slave0", "link_down_since"}},
		{"a follower of a lost leader", leaderless, `["slave" "::1" (int) 7003 "connect" (int) 39]`, `"role" "replica"`,
			"(error) READONLY REPLICAOF is for the leader of a group: VIGIL.CLUSTER STATUS shows it",
			"(error) READONLY REPLICAOF is for the leader of a group: VIGIL.CLUSTER STATUS shows it",
			[]string{"role:slave", "master_host:::1", "master_link_status:down", "master_link_down_since_seconds:60"}, nil},
	} {
		k.set(x.is)
		c.want("ROLE", x.role)
		if got := c.do("HELLO", "2"); !strings.Contains(got, x.hello) {
			t.Errorf("%s: HELLO: got %s, want %s", x.name, got, x.hello)
		}
		c.want("REPLICAOF NO ONE", x.no1)
		if x.of != "" {
			c.want("SLAVEOF 10.0.0.9 7001", x.of)
		}
		info := infoLines(c.do("INFO", "replication"))
		for _, line := range x.has {
			if !info[line] {
				t.Errorf("%s: INFO replication lacks %q: %v", x.name, line, info)
			}
		}
		for line := range info {
			for _, part := range x.not {
				if strings.Contains(line, part) {
					t.Errorf("%s: INFO replication has %q", x.name, line)
				}
			}
		}
	}
}

func infoLines(text string) map[string]bool {
	lines := map[string]bool{}
	for _, line := range strings.Split(strings.Trim(text, `"`), `\r\n`) {
		lines[line] = true
	}
	return lines
}

func TestBeforeALeaderIsKnownThereIsNoMaster(t *testing.T) {
	r, k := newRigInGroup(t)
	k.set(leaderless)
	c := r.dial()
	c.want("ROLE", `["slave" "" (int) 0 "connect" (int) 39]`)
	c.want("SENTINEL MASTERS", "[]")
	c.want("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", "(nil array)")
	c.want("SENTINEL MASTER mymaster", "(error) ERR No such master with that name")
}

func TestSentinelCommandsDescribeTheGroup(t *testing.T) {
	r, k := newRigInGroup(t)
	k.set(leads)
	c := r.dial()
	c.want("SENTINEL get-master-addr-by-name mymaster", `["10.0.0.1" "7001"]`)
	c.want("SENTINEL get-master-addr-by-name other", "(nil array)")
	c.want("SENTINEL MYID", `"`+strings.Repeat("a", 40)+`"`)
	c.want("SENTINEL CKQUORUM mymaster", "OK 2 usable Sentinels. Quorum and failover authorization can be reached")
	head := func(name, ip, port, id, flags string) string {
		return `"name" "` + name + `" "ip" "` + ip + `" "port" "` + port + `" "runid" "` + strings.Repeat(id, 40) + `" "flags" "` + flags + `"`
	}
	master := head("mymaster", "10.0.0.1", "7001", "a", "master")
	for _, x := range []struct {
		call  string
		parts []string
	}{
		{"MASTER mymaster", []string{master, `"num-slaves" "2" "num-other-sentinels" "2" "quorum" "2"]`, `"config-epoch" "7"`}},
		{"MASTERS", []string{"[[" + master}},
		{"REPLICAS mymaster", []string{head("10.0.0.2:7002", "10.0.0.2", "7002", "b", "slave"), `"master-link-status" "ok"`, `"slave-repl-offset" "38"`,
			head("::1:7003", "::1", "7003", "c", "s_down,slave,disconnected"), `"master-link-status" "err"`, `"master-host" "10.0.0.1" "master-port" "7001"`}},
		{"SLAVES mymaster", []string{head("10.0.0.2:7002", "10.0.0.2", "7002", "b", "slave")}},
		{"SENTINELS mymaster", []string{head(strings.Repeat("b", 40), "10.0.0.2", "7002", "b", "sentinel"),
			head(strings.Repeat("c", 40), "::1", "7003", "c", "s_down,sentinel,disconnected")}},
	} {
		got := c.do(append([]string{"SENTINEL"}, strings.Fields(x.call)...)...)
		for _, part := range x.parts {
			if !strings.Contains(got, part) {
				t.Errorf("SENTINEL %s: got %s, want %s in it", x.call, got, part)
			}
		}
		if strings.Contains(got, `"runid" "aaa`) && strings.HasPrefix(x.call, "SENTINELS") {
			t.Errorf("SENTINEL %s names the member that was asked", x.call)
		}
	}
	if got := r.dial().hello3().do("SENTINEL", "MASTER", "mymaster"); !strings.HasPrefix(got, `{"name": "mymaster"`) {
		t.Errorf("RESP3: got %s", got)
	}
}

func TestFollowersAnswerForTheLeader(t *testing.T) {
	r, k := newRigInGroup(t)
	k.set(follows)
	c := r.dial()
	c.want("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", `["::1" "7003"]`)
	c.want("SENTINEL CKQUORUM mymaster", "OK 2 usable Sentinels. Quorum and failover authorization can be reached")
	for call, want := range map[string]string{"REPLICAS": `"10.0.0.1:7001" "10.0.0.2:7002"`,
		"SENTINELS": strings.Repeat("b", 40) + `" "` + strings.Repeat("c", 40)} {
		var names []string
		for _, part := range strings.Split(c.do("SENTINEL", call, "mymaster"), `"name" `)[1:] {
			names = append(names, strings.Fields(part)[0])
		}
		if got := strings.Join(names, " "); strings.Trim(got, `"`) != strings.Trim(want, `"`) {
			t.Errorf("SENTINEL %s: got %s, want %s", call, got, want)
		}
	}
	k.set(leaderless)
	c.want("SENTINEL GET-MASTER-ADDR-BY-NAME mymaster", `["::1" "7003"]`)
	c.want("SENTINEL CKQUORUM mymaster",
		"(error) NOQUORUM 1 usable Sentinels. Not enough available Sentinels to reach the majority and authorize a failover")
	if got := c.do("SENTINEL", "MASTER", "mymaster"); !strings.Contains(got, `"s_down,master,disconnected"`) {
		t.Errorf("the lost leader is described as %s", got)
	}
}

func TestSubscribersHearThatAnotherMemberLeads(t *testing.T) {
	r, k := newRigInGroup(t)
	k.set(leads)
	c := r.dial()
	c.want("SUBSCRIBE +switch-master", `["subscribe" "+switch-master" (int) 1]`)
	r.clock.advance(cronPeriod) // the first one is not announced
	k.set(leaderless)
	r.clock.advance(cronPeriod)
	k.set(follows)
	r.clock.advance(cronPeriod)
	c.next(`["message" "+switch-master" "mymaster 10.0.0.1 7001 ::1 7003"]`)
	r.clock.advance(cronPeriod) // and once only
	k.set(leads)
	r.clock.advance(cronPeriod)
	c.next(`["message" "+switch-master" "mymaster ::1 7003 10.0.0.1 7001"]`)
	c.quietSubscriber()
}

func (c *testClient) quietSubscriber() {
	c.t.Helper()
	c.want("PING", `["pong" ""]`)
}

func TestSentinelFailoverHandsTheLeadershipOver(t *testing.T) {
	k := &knownGroup{}
	r, g := newGroupRig(t, func(o *Options) { o.Membership = k.now.Load })
	handed := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.handed
	}
	c := r.dial()
	k.set(follows)
	c.want("SENTINEL FAILOVER mymaster", "(error) READONLY 'sentinel|failover' needs the member that leads the group")
	k.set(func(m *commands.Membership) {
		leads(m)
		m.Members[1].Active = false
	})
	c.want("SENTINEL FAILOVER mymaster", "(error) NOGOODSLAVE No suitable replica to promote")
	k.set(leads)
	c.want("SENTINEL FAILOVER other", "(error) ERR No such master with that name")
	if handed() != 0 {
		t.Error("a call that is refused hands over")
	}
	c.want("SENTINEL FAILOVER mymaster", "OK")
	r.until("it is handed over", func() bool { return handed() == 1 })
}

func TestWaitCountsMembersThatHaveTheWrites(t *testing.T) {
	r, k := newRigInGroup(t)
	k.set(leads)
	c := r.dial()
	c.want("WAIT 0 0", "(int) 1") // of a client that has written nothing: the members that are there
	c.want("SET k v", "OK")
	written := r.srv.store.Stats().LSN
	has := func(b, c uint64) func(*commands.Membership) {
		return func(m *commands.Membership) {
			leads(m)
			m.Members[1].Record, m.Members[2].Record = b, c
		}
	}
	k.set(has(written-1, 0))
	c.want("WAIT 0 0", "(int) 0")
	c.send("WAIT", "1", "0")
	r.blocked(1)
	r.clock.advance(time.Second)
	r.blocked(1)
	k.set(has(written, 0))
	r.clock.advance(cronPeriod)
	c.next("(int) 1")
	c.want("WAIT 1 0", "(int) 1")
	c.want("WAITAOF 1 1 0", "[(int) 1 (int) 1]")
	c.send("WAIT", "2", "1500")
	r.blocked(1)
	r.clock.advance(2 * time.Second)
	c.next("(int) 1") // the time is over
	k.set(has(written, written+5))
	c.want("WAIT 2 0", "(int) 2")
	c.want("MULTI", "OK")
	c.want("SET k w", "QUEUED")
	c.want("WAIT 2 0", "QUEUED")
	c.want("EXEC", "[OK (int) 2]") // as in Redis, of the writes before EXEC
}

// A client that waits gets its reply when the engine tells of the acknowledgement, be its timer far away.
func TestWaitEndsWithTheAcknowledgement(t *testing.T) {
	k := &knownGroup{}
	r, g := newGroupRig(t, func(o *Options) { o.Membership = k.now.Load })
	k.set(leads)
	c := r.dial()
	c.want("SET k v", "OK")
	has := func(b, c uint64) {
		k.set(func(m *commands.Membership) {
			leads(m)
			m.Members[1].Record, m.Members[2].Record = b, c
		})
		g.acknowledged()
	}
	c.send("WAIT", "2", "0")
	r.blocked(1)
	has(1<<40, 0)
	c.send("CLIENT", "ID") // behind the wait
	has(1<<40, 1<<40)
	c.next("(int) 2")
	if c.next("(int) 1"); r.srv.blocked.Polled() > 0 {
		t.Error("a wait that has ended is looked at")
	}
	has(0, 0) // nobody waits
}

func TestWaitIsRefusedWhereItCouldNotBeKept(t *testing.T) {
	r, k := newRigInGroup(t)
	c := r.dial()
	k.set(follows)
	c.want("WAIT 1 0", "(error) ERR WAIT cannot be used with replica instances")
	c.want("WAITAOF 0 1 0", "(error) ERR WAITAOF cannot be used with replica instances")
	k.set(func(m *commands.Membership) {
		leads(m)
		m.Synced = false
	})
	c.want("WAITAOF 0 1 0",
		"(error) ERR WAITAOF in a group needs appendfsync always: no member tells the others what is on its device otherwise")
}

func TestWaitEndsWhenTheMemberCeasesToLead(t *testing.T) {
	r, k := newRigInGroup(t)
	k.set(leads)
	c := r.dial()
	c.want("SET k v", "OK")
	c.send("WAIT", "1", "1000")
	r.blocked(1)
	k.set(func(m *commands.Membership) {
		follows(m)
		m.Members[1].Record = 1 << 40
	})
	r.clock.advance(2 * time.Second)
	c.next("(int) 0")
}
