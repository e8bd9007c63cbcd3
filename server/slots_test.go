package server

import (
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigildb/vigil/commands"
)

// slotsRig is a server of a group of three, which clients see as a Redis Cluster. Its members
// are reached at 10.0.0.1 to 10.0.0.3, and it is the first.
type slotsRig struct {
	*rig
	g *testGroup
	m atomic.Pointer[commands.Membership]
}

// awaits advances the clock until a client has a reply, and returns that.
func (r *slotsRig) awaits(c *testClient, step time.Duration) (got string) {
	r.t.Helper()
	replied := make(chan string, 1)
	go func() { replied <- c.reply() }()
	r.until("a reply comes", func() bool {
		r.clock.advance(step)
		select {
		case got = <-replied:
			return true
		default:
			return false
		}
	})
	return got
}

// newSlotsRig opens a server that leads.
func newSlotsRig(t *testing.T, directives ...string) *slotsRig {
	t.Helper()
	s := &slotsRig{}
	m := &commands.Membership{ID: strings.Repeat("9", 40), Led: true, Leads: true, Term: 5, Last: 70}
	for i := range 3 {
		m.Members = append(m.Members, commands.Member{ID: strings.Repeat(fmt.Sprint(i+1), 40),
			Host: fmt.Sprint("10.0.0.", i+1), Port: 7000, Active: true, Entry: 60})
	}
	s.m.Store(m)
	s.rig, s.g = newGroupRig(t, func(o *Options) {
		o.Config = testConfig(t, append([]string{"--cluster-view", "cluster"}, directives...)...)
		o.Membership = s.m.Load
	})
	return s
}

// know changes what the server knows of its group.
func (s *slotsRig) know(change func(m *commands.Membership)) {
	m := *s.m.Load()
	change(&m)
	s.m.Store(&m)
}

// follow makes the second member lead in place of the server.
func (s *slotsRig) follow() {
	s.g.depose()
	s.know(func(m *commands.Membership) { m.Leader, m.Leads = 1, false })
}

// each makes calls, in the order of their texts, and compares the replies.
func each(t *testing.T, c *testClient, calls map[string]string) {
	t.Helper()
	var order []string
	for call := range calls {
		order = append(order, call)
	}
	sort.Strings(order)
	for _, call := range order {
		if got := c.do(strings.Fields(call)...); got != calls[call] {
			t.Errorf("%s: got %s, want %s", call, got, calls[call])
		}
	}
}

const (
	slotsDown   = "(error) CLUSTERDOWN The cluster is down"
	crossSlot   = "(error) CROSSSLOT Keys in request don't hash to the same slot"
	movedA      = "(error) MOVED 15495 10.0.0.2:7000" // the slot of a
	execAborted = "(error) EXECABORT Transaction discarded because of previous errors."
	queued      = "QUEUED"
)

// A leader takes calls whose keys are of one slot, and database 0 only. The texts are those of
// Redis: 7.4 where that has others than 7.0.
func TestKeysOfACallAreOfOneSlot(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	c.want("RPUSH list{a} 2 1", "(int) 2")
	c.want("SET a 1", "OK")
	each(t, c, map[string]string{
		"SET a 1": "OK", "MSET a 1 b 2": crossSlot, "MSET a 1 {a}b 2": "OK", "MGET a b": crossSlot, "MGET a a a": `["1" "1" "1"]`,
		"DEL x y": crossSlot, "EXISTS a b": crossSlot, "TOUCH a b": crossSlot, "BLPOP a b 0": crossSlot, "COPY a b DB 1": crossSlot,
		"SINTERSTORE a b c": crossSlot, "ZUNIONSTORE a 1 b": crossSlot, "XREAD STREAMS a b 0 0": crossSlot, "WATCH a b": crossSlot,
		"EVAL return(1) 2 a b": crossSlot, "RENAME a b": crossSlot, "SORT list{a} STORE b": crossSlot, "OBJECT ENCODING a": `"int"`,
		"LMPOP 2 a b LEFT":              crossSlot,
		"SELECT 0":                      "OK",
		"SELECT 1":                      "(error) ERR SELECT is not allowed in cluster mode",
		"SELECT -1":                     "(error) ERR SELECT is not allowed in cluster mode",
		"SELECT x":                      "(error) ERR value is not an integer or out of range",
		"MOVE a 1":                      "(error) ERR MOVE is not allowed in cluster mode",
		"SWAPDB 0 1":                    "(error) ERR SWAPDB is not allowed in cluster mode",
		"COPY a {a}1 DB 1":              "(error) ERR Copying to another database is not allowed in cluster mode",
		"COPY a {a}2 DB 0":              "(int) 1",
		"SORT list{a} BY nosort":        `["2" "1"]`,
		"SORT list{a} BY w*":            "(error) ERR BY option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots.",
		"SORT list{a} BY {a}*":          `["1" "2"]`,
		"SORT list{a} GET *{a}":         "(error) ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots.",
		"SORT list{a} GET {a}*":         `[(nil) "1"]`,
		"SSUBSCRIBE ch1 ch2":            crossSlot,
		"SPUBLISH ch1 m":                "(int) 0",
		"ASKING":                        "OK",
		"READONLY":                      "OK",
		"READWRITE":                     "OK",
		"CLUSTER MYID":                  `"` + strings.Repeat("1", 40) + `"`,
		"CLUSTER MYSHARDID":             `"` + strings.Repeat("9", 40) + `"`,
		"CLUSTER KEYSLOT {a}b":          "(int) 15495",
		"CLUSTER SAVECONFIG":            "OK",
		"CLUSTER FAILOVER":              "(error) ERR You should send CLUSTER FAILOVER to a replica",
		"CLUSTER FAILOVER x":            "(error) ERR syntax error",
		"CLUSTER FAILOVER FORCE x":      "(error) ERR unknown subcommand or wrong number of arguments for 'FAILOVER'. Try CLUSTER HELP.",
		"CLUSTER REPLICAS nosuch":       "(error) ERR Unknown node nosuch",
		"CLUSTER COUNT-FAILURE-REPORTS": "(error) ERR wrong number of arguments for 'cluster|count-failure-reports' command",
		"CLUSTER COUNTKEYSINSLOT 16384": "(error) ERR Invalid slot",
		"CLUSTER COUNTKEYSINSLOT -1":    "(error) ERR Invalid slot",
		"CLUSTER COUNTKEYSINSLOT x":     "(error) ERR value is not an integer or out of range",
		"CLUSTER GETKEYSINSLOT 16384 1": "(error) ERR Invalid slot or number of keys",
		"CLUSTER GETKEYSINSLOT 0 -1":    "(error) ERR Invalid slot or number of keys",
		"CLUSTER GETKEYSINSLOT 0 x":     "(error) ERR value is not an integer or out of range",
		"CLUSTER GETKEYSINSLOT 0 0":     "[]",
		"CLUSTER GETKEYSINSLOT 99999999999999999999 1": "(error) ERR value is not an integer or out of range",
	})
	for _, call := range []string{"ADDSLOTS 1", "ADDSLOTSRANGE 1 2", "FLUSHSLOTS", "SETSLOT 1 MIGRATING x", "MEET h x", "FORGET x", "REPLICATE x", "RESET"} {
		if got := c.do(strings.Fields("CLUSTER " + call)...); !strings.HasPrefix(got, "(error) ERR ") {
			t.Errorf("CLUSTER %s: %s", call, got)
		}
	}
}

// The transaction as a whole is judged at EXEC, which is not EXECABORT then: clients look at the
// first word.
func TestTransactionsAreOfOneSlot(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	for _, step := range [][2]string{
		{"MULTI", "OK"}, {"SET a 1", queued}, {"SET b 1", queued}, {"EXEC", crossSlot}, {"GET a", "(nil)"}, {"EXEC", "(error) ERR EXEC without MULTI"},
		{"MULTI", "OK"}, {"MGET a b", crossSlot}, {"EXEC", execAborted},
		{"MULTI", "OK"}, {"PING", queued}, {"SET a 1", queued}, {"GET {a}", queued}, {"EXEC", `[PONG OK (nil)]`},
		{"MULTI", "OK"}, {"EXEC", "[]"}, {"WATCH b", "OK"}, {"MULTI", "OK"}, {"GET a", queued}, {"EXEC", `["1"]`},
		{"MULTI", "OK"}, {"CLUSTER COUNTKEYSINSLOT 5", queued}, {"CLUSTER KEYSLOT a", queued},
		{"EXEC", "[(error) ERR Command not allowed inside a transaction (int) 15495]"},
	} {
		c.want(step[0], step[1])
	}
}

// Keys that a script does not declare are of one slot too if it has a first line that allows no
// others. Scripts without one may use all keys of the server, call by call.
func TestScriptsKeepToTheirSlot(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	const two = "redis.call('set','x',1) return redis.call('set','y',1)"
	eval := func(want, source string, args ...string) {
		t.Helper()
		got := c.do(append([]string{"EVAL", source}, args...)...)
		if !strings.HasPrefix(got, want) {
			t.Errorf("EVAL %q %v: got %s, want %s", source, args, got, want)
		}
	}
	const slots = "(error) ERR Script attempted to access keys that do not hash to the same slot"
	eval("OK", two, "0")
	eval(slots, "#!lua\n"+two, "0")
	eval(slots, "#!lua\nreturn redis.call('set','y',1)", "1", "x")
	eval("OK", "#!lua\nreturn redis.call('set','{x}y',1)", "1", "x")
	eval("OK", "#!lua flags=allow-cross-slot-keys\n"+two, "0")
	eval("OK", "#!lua flags=allow-cross-slot-keys\n"+two, "1", "a")
	eval("(error) ERR Can not run script on cluster, 'no-cluster' flag is set.", "#!lua flags=no-cluster\nreturn 1", "0")
	eval("(error) ERR Command 'mget' in script attempted to access keys that don't hash to the same slot", "return redis.pcall('mget','a','b')", "0")
	c.want("MULTI", "OK")
	c.want("SET a 1", queued)
	c.do("EVAL", "#!lua\nreturn redis.call('get','b')", "0")
	if got := c.do("EXEC"); !strings.HasPrefix(got, "[OK "+slots) {
		t.Errorf("a script in a transaction: %s", got)
	}
}

// A follower sends clients to the leader, reads included, until they ask for old data.
func TestFollowersSendClientsToTheLeader(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	c.want("SET a 1", "OK")
	c.want("XADD s{a} 1-1 f v", `"1-1"`)
	r.follow()
	c = r.dial()
	each(t, c, map[string]string{
		"GET a": movedA, "SET a 2": movedA, "MGET a {a}b": movedA, "MGET a b": crossSlot, "WATCH a": movedA, "BLPOP a 0": movedA,
		"MOVE a 1": movedA, "EVAL return(1) 1 a": movedA, "EVAL_RO return(1) 1 a": movedA, "FCALL f 1 a": movedA, "XREAD BLOCK 0 STREAMS a $": movedA,
		"DBSIZE": "(int) 2", "PING": "PONG", "EVAL return(1) 0": "(int) 1", "SPUBLISH a m": "(int) 0", "TTL a": movedA,
		"FLUSHALL":               "(error) READONLY You can't write against a read only replica.",
		"CLUSTER FAILOVER":       "OK",
		"CLUSTER FAILOVER FORCE": "OK",
	})
	if got := c.do("EVAL", "return redis.call('get','a')", "0"); !strings.HasPrefix(got, "(error) ERR Script attempted to access a non local key in a cluster node") {
		t.Errorf("a script that reads what it does not declare: %s", got)
	}
	c.want("READONLY", "OK")
	each(t, c, map[string]string{
		"GET a": `"1"`, "SET a 2": movedA, "MGET a b": crossSlot, "WATCH a": movedA, "FCALL_RO f 1 a": movedA,
		"XREAD STREAMS s{a} 0": `[["s{a}" [["1-1" ["f" "v"]]]]]`, "XREAD BLOCK 0 STREAMS s{a} $": movedA,
		"EVAL return(redis.call('get',KEYS[1])) 1 a": `"1"`, "EVAL return(redis.call('get','a')) 0": `"1"`, "XREAD BLOCK 0 STREAMS a x": "(error) WRONGTYPE Operation against a key holding the wrong kind of value",
	})
	if got := c.do("EVAL", "#!lua\nreturn 1", "1", "a"); got != movedA {
		t.Errorf("a script that declares that it may write: %s", got)
	}
	c.want("RESET", "RESET")
	c.want("GET a", movedA)
	r.until("the leadership was asked for", func() bool {
		r.g.mu.Lock()
		defer r.g.mu.Unlock()
		return r.g.asked == 2
	})
}

// What a follower refuses inside MULTI is refused again as a whole.
func TestTransactionsAtAFollower(t *testing.T) {
	r := newSlotsRig(t)
	r.dial().want("SET a 1", "OK")
	r.follow()
	c := r.dial()
	for _, step := range [][2]string{
		{"MULTI", "OK"}, {"GET a", movedA}, {"SET a 1", movedA}, {"EXEC", execAborted}, {"MULTI", "OK"}, {"EXEC", "[]"},
		{"READONLY", "OK"}, {"MULTI", "OK"}, {"GET a", queued}, {"EXEC", `["1"]`},
		{"MULTI", "OK"}, {"GET a", queued}, {"SET a 2", movedA}, {"EXEC", execAborted}, {"GET a", `"1"`},
		{"MULTI", "OK"}, {"GET a", queued}, {"GET b", queued}, {"EXEC", crossSlot},
		{"MULTI", "OK"}, {"GET a", queued}, {"READWRITE", queued}, {"EXEC", `["1" OK]`}, {"GET a", movedA},
	} {
		c.want(step[0], step[1])
	}
}

// Without a leader nothing but old data is to be had, and that for a while only.
func TestFollowersWithoutALeaderAreDown(t *testing.T) {
	r := newSlotsRig(t)
	r.dial().want("SET a 1", "OK")
	r.follow()
	c, old := r.dial(), r.dial()
	old.want("READONLY", "OK")
	for _, unled := range []bool{true, false} { // it has heard nothing, or that there is no leader
		r.g.set(func() { r.g.heard = !unled })
		r.know(func(m *commands.Membership) { m.Led = unled })
		each(t, c, map[string]string{"GET a": slotsDown, "SET a 1": slotsDown, "MGET a b": crossSlot, "EVAL return(1) 1 a": slotsDown, "SPUBLISH a m": "(int) 0"})
		old.want("GET a", `"1"`)
		old.want("SET a 1", slotsDown)
	}
	if got := c.do("EVAL", "return redis.call('get','a')", "0"); !strings.HasPrefix(got, "(error) ERR Script attempted to execute a command while the cluster is down") {
		t.Errorf("a script: %s", got)
	}
	r.g.set(func() { r.g.heard, r.g.patient = false, false })
	old.want("GET a", slotsDown)
	each(t, old, map[string]string{"CLUSTER FAILOVER": "(error) ERR Master is down or failed, please use CLUSTER FAILOVER FORCE", "CLUSTER FAILOVER TAKEOVER": "OK"})
	// A member that is to lead, and does not yet, sends nobody to itself.
	r.g.set(func() { r.g.heard, r.g.patient = true, true })
	r.know(func(m *commands.Membership) { m.Led, m.Leader = true, 0 })
	c.want("GET a", slotsDown)
	c.want("CLUSTER FAILOVER", "(error) ERR You should send CLUSTER FAILOVER to a replica")
}

func TestWhatIsAllowedWhileDown(t *testing.T) {
	r := newSlotsRig(t, "--cluster-allow-reads-when-down", "yes", "--cluster-allow-pubsubshard-when-down", "no")
	r.dial().want("SET a 1", "OK")
	r.follow()
	r.g.set(func() { r.g.heard, r.g.patient = false, false })
	c := r.dial()
	each(t, c, map[string]string{"GET a": slotsDown, "SPUBLISH a m": slotsDown, "SSUBSCRIBE a": slotsDown,
		"SET a 1": "(error) CLUSTERDOWN The cluster is down and only accepts read commands"})
	c.want("READONLY", "OK")
	c.want("GET a", `"1"`)
	r.g.set(func() { r.g.heard = true })
	c.want("SPUBLISH a m", "(int) 0")
}

// A read that was admitted when its member led is not executed when it follows, be the client's
// connection cut or not.
func TestReadsOfADeposedLeaderAreNotStale(t *testing.T) {
	r := newSlotsRig(t)
	r.dial().want("SET a 1", "OK")
	s := makeSession(r.srv, r.srv.store.NewTx())
	s.ctx.Client = &s.Client
	get := r.srv.table.Find("get")
	argv := [][]byte{[]byte("GET"), []byte("a")}
	if err := s.admission.checkMember(get, argv); err != nil {
		t.Fatal(err)
	}
	r.follow()
	s.prepare(get, argv)
	if err := s.lock(get, s.in.argv); err == nil || err.Error() != slotsDown[len("(error) "):] {
		t.Errorf("got %v, want %s", err, slotsDown)
	}
	if s.locked {
		t.Error("the key is locked")
	}
}

// What clients are told of the nodes, byte for byte in Redis's form.
func TestClusterIsDescribed(t *testing.T) {
	r := newSlotsRig(t)
	r.know(func(m *commands.Membership) {
		m.Members = append([]commands.Member(nil), m.Members...)
		m.Members[2].Active = false
	})
	c := r.dial()
	one, two, three := strings.Repeat("1", 40), strings.Repeat("2", 40), strings.Repeat("3", 40)
	now := r.clock.Now().UnixMilli()
	lines := []string{one + " 10.0.0.1:7000@17000 myself,master - 0 0 5 connected 0-16383",
		fmt.Sprintf("%s 10.0.0.2:7000@17000 slave %s 0 %d 5 connected", two, one, now),
		three + " 10.0.0.3:7000@17000 slave,fail " + one + " 0 0 5 disconnected"}
	c.want("CLUSTER NODES", fmt.Sprintf("%q", strings.Join(lines, "\n")+"\n"))
	c.want("CLUSTER REPLICAS "+one, fmt.Sprintf("[%q %q]", lines[1], lines[2]))
	c.want("CLUSTER SLAVES "+two, "(error) ERR The specified node is not a master")
	c.want("CLUSTER COUNT-FAILURE-REPORTS "+two, "(int) 0")
	c.want("CLUSTER SLOTS", fmt.Sprintf(`[[(int) 0 (int) 16383 ["10.0.0.1" (int) 7000 %q []] ["10.0.0.2" (int) 7000 %q []]]]`, one, two))
	node := func(id, ip, role string, entry int, health string) string {
		return fmt.Sprintf(`["id" %q "port" (int) 7000 "ip" %q "endpoint" %q "role" %q "replication-offset" (int) %d "health" %q]`, id, ip, ip, role, entry, health)
	}
	c.want("CLUSTER SHARDS", `[["slots" [(int) 0 (int) 16383] "nodes" [`+node(one, "10.0.0.1", "master", 70, "online")+" "+
		node(two, "10.0.0.2", "replica", 60, "online")+" "+node(three, "10.0.0.3", "replica", 60, "failed")+"]]]")
	link := `["direction" %q "node" %q "create-time" (int) 0 "events" "r" "send-buffer-allocated" (int) 0 "send-buffer-used" (int) 0]`
	c.want("CLUSTER LINKS", fmt.Sprintf("["+link+" "+link+"]", "to", two, "from", two))
	info := c.do("CLUSTER", "INFO")
	for _, line := range []string{"cluster_state:ok", "cluster_slots_assigned:16384", "cluster_slots_ok:16384", "cluster_slots_fail:0", "cluster_known_nodes:3",
		"cluster_size:1", "cluster_current_epoch:5"} {
		if !strings.Contains(info, line+`\r\n`) {
			t.Errorf("CLUSTER INFO lacks %s: %s", line, info)
		}
	}
	if got := c.do("INFO"); !strings.Contains(got, `redis_mode:cluster\r\n`) || !strings.Contains(got, `cluster_enabled:1\r\n`) {
		t.Errorf("INFO: %s", got)
	}
	if got := c.do("HELLO"); !strings.Contains(got, `"mode" "cluster" "role" "master"`) {
		t.Errorf("HELLO: %s", got)
	}
	if got := c.do("CLUSTER", "HELP"); !strings.Contains(got, "KEYSLOT") {
		t.Errorf("CLUSTER HELP: %s", got)
	}
}

// A leader of old has failed while there is no new one; before there ever was one, no node has
// slots. Hosts may be names.
func TestClusterWithoutALeaderIsDescribed(t *testing.T) {
	r := newSlotsRig(t)
	r.follow()
	c := r.dial()
	c.do("CLUSTER", "INFO")
	r.know(func(m *commands.Membership) {
		m.Led, m.Leader = false, -1
		m.Members = append([]commands.Member(nil), m.Members...)
		m.Members[1].Host, m.Members[1].Named = "b.example.org", true
	})
	two := strings.Repeat("2", 40)
	if got, want := c.do("CLUSTER", "NODES"), two+" b.example.org:7000@17000,b.example.org master,fail - 0 0 5 disconnected 0-16383"; !strings.Contains(got, want) {
		t.Errorf("CLUSTER NODES: %s lacks %s", got, want)
	}
	if got := c.do("CLUSTER", "INFO"); !strings.Contains(got, `cluster_state:fail\r\n`) || !strings.Contains(got, `cluster_slots_fail:16384\r\n`) {
		t.Errorf("CLUSTER INFO: %s", got)
	}
	if got, want := c.do("CLUSTER", "SHARDS"), `"ip" "" "endpoint" "b.example.org" "hostname" "b.example.org" "role" "master"`; !strings.Contains(got, want) {
		t.Errorf("CLUSTER SHARDS: %s lacks %s", got, want)
	}
	r.srv.leader.last.Store(nil)
	c.want("CLUSTER SLOTS", "[]")
	if got := c.do("CLUSTER", "NODES"); strings.Contains(got, "master") || strings.Contains(got, "0-16383") {
		t.Errorf("CLUSTER NODES: %s", got)
	}
	if got := c.do("CLUSTER", "SHARDS"); !strings.HasPrefix(got, `[["slots" [] "nodes" [[`) {
		t.Errorf("CLUSTER SHARDS: %s", got)
	}
}

// Without --cluster-view cluster a group is as before.
func TestSentinelViewHasNoSlots(t *testing.T) {
	r, g := newGroupRig(t)
	c := r.dial()
	each(t, c, map[string]string{"MSET a 1 b 2": "OK", "SELECT 1": "OK", "SWAPDB 0 1": "OK", "CLUSTER INFO": "(error) ERR This instance has cluster support disabled",
		"CLUSTER KEYSLOT a": "(int) 15495", "ASKING": "(error) ERR This instance has cluster support disabled"})
	g.depose()
	c = r.dial()
	c.want("MGET a b", "[(nil) (nil)]")
}

// Keys of a slot are counted and listed without the keys of others, those that have expired, and
// other databases.
func TestKeysOfASlot(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	want := map[string]bool{}
	for i := range 2000 {
		c.want(fmt.Sprintf("SET {a}%d v", i), "OK")
		want[fmt.Sprintf("{a}%d", i)] = true
		c.want(fmt.Sprintf("SET b%d v", i), "OK")
	}
	c.want("SET {a}gone v PX 1", "OK")
	r.clock.advance(2000000)
	c.want("CLUSTER COUNTKEYSINSLOT 15495", "(int) 2000")
	got := strings.Fields(strings.Trim(c.do("CLUSTER", "GETKEYSINSLOT", "15495", "100000"), "[]"))
	for _, key := range got {
		if !want[strings.Trim(key, `"`)] {
			t.Fatalf("%s is listed", key)
		}
		delete(want, strings.Trim(key, `"`))
	}
	if len(want) > 0 {
		t.Errorf("%d keys are not listed", len(want))
	}
	if got := strings.Fields(c.do("CLUSTER", "GETKEYSINSLOT", "15495", "7")); len(got) != 7 {
		t.Errorf("7 keys: got %v", got)
	}
	r.g.set(func() { r.g.held = false })
	c.send("CLUSTER", "COUNTKEYSINSLOT", "15495")
	r.until("the count waits for the lease", func() bool {
		r.g.mu.Lock()
		defer r.g.mu.Unlock()
		return r.g.waits == 1
	})
	r.g.set(func() { r.g.held = true })
	c.next("(int) 2000")
	r.follow()
	r.dial().want("CLUSTER COUNTKEYSINSLOT 15495", "(int) 2000")
}

// scanCluster goes through the keys as a client does, and returns how often each came.
func scanCluster(t *testing.T, c *testClient, options ...string) (times map[string]int, calls int) {
	t.Helper()
	times = map[string]int{}
	for cursor := "0"; ; calls++ {
		reply := strings.Fields(strings.NewReplacer("[", " ", "]", " ", `"`, "").Replace(c.do(append([]string{"CLUSTERSCAN", cursor}, options...)...)))
		if len(reply) == 0 || strings.HasPrefix(reply[0], "(") || calls > 100_000 {
			t.Fatalf("after %d calls CLUSTERSCAN %s: %v", calls, cursor, reply)
		}
		for _, key := range reply[1:] {
			times[key]++
		}
		if cursor = reply[0]; cursor == "0" {
			return times, calls
		}
	}
}

func TestClusterScanReturnsEachKey(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	for i := range 500 {
		c.want(fmt.Sprintf("SET k%d v", i), "OK")
	}
	c.want("RPUSH {k1}list a", "(int) 1")
	check := func(want int, options ...string) {
		t.Helper()
		times, _ := scanCluster(t, c, options...)
		for key, n := range times {
			if n != 1 {
				t.Errorf("%v: %s came %d times", options, key, n)
			}
		}
		if len(times) != want {
			t.Errorf("%v: %d keys, want %d", options, len(times), want)
		}
	}
	check(501)
	check(501, "COUNT", "1000")
	check(11, "MATCH", "k49*")
	check(1, "TYPE", "list")
	check(2, "SLOT", fmt.Sprint(commands.KeySlot([]byte("k1"))))
	check(1, "MATCH", "{k1}*")
	check(0, "MATCH", "{k1}*", "SLOT", "5")
	each(t, c, map[string]string{
		"CLUSTERSCAN 0 SLOT 16287":               `["0-{x}-0" []]`,
		"CLUSTERSCAN 0-{k2}-0 MATCH {k1}*":       `["0-{k1}-0" []]`,
		"CLUSTERSCAN x":                          "(error) ERR Invalid cursor",
		"CLUSTERSCAN -1":                         "(error) ERR Invalid cursor",
		"CLUSTERSCAN 0-{x}-x":                    "(error) ERR Invalid cursor",
		"CLUSTERSCAN 0-{}-1":                     "(error) ERR Invalid cursor",
		"CLUSTERSCAN 0-{x}-99999999999999999999": "(error) ERR Invalid cursor",
		"CLUSTERSCAN 0 SLOT 16384":               "(error) ERR Invalid or out of range slot",
		"CLUSTERSCAN 0-{x}-0 SLOT 5":             "(error) ERR Cursor slot mismatch with SLOT argument",
		"CLUSTERSCAN 0 COUNT 0":                  "(error) ERR syntax error",
		"CLUSTERSCAN 0 NOSUCH 1":                 "(error) ERR syntax error",
	})
}

// A cursor of a node that had other slots begins with its slot again: nothing is left out.
func TestClusterScanOutlivesMovesOfSlots(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	for i := range 300 {
		c.want(fmt.Sprintf("SET {a}%d v", i), "OK")
	}
	slot := fmt.Sprint(commands.KeySlot([]byte("a")))
	cursor := strings.Fields(strings.Trim(c.do("CLUSTERSCAN", "0-{a}-0", "SLOT", slot, "COUNT", "1"), "[]"))[0]
	place := strings.Trim(cursor, `"`)
	other := "z" + place[1:]
	if first, again := c.do("CLUSTERSCAN", "0-{a}-0", "SLOT", slot, "COUNT", "1"), c.do("CLUSTERSCAN", other, "SLOT", slot, "COUNT", "1"); first != again {
		t.Errorf("another mark does not begin again: %s and %s", first, again)
	}
	if first, next := c.do("CLUSTERSCAN", "0-{a}-0", "SLOT", slot, "COUNT", "1"), c.do("CLUSTERSCAN", place, "SLOT", slot, "COUNT", "1"); first == next {
		t.Errorf("the cursor %s does not go on", place)
	}
}

func TestSlotsAreCountedAndEmptied(t *testing.T) {
	r := newSlotsRig(t)
	c := r.dial()
	for i := range 30 {
		c.want(fmt.Sprintf("SET {a}%d v", i), "OK")
		if i < 20 {
			c.want(fmt.Sprintf("SET {b}%d v", i), "OK")
		}
	}
	each(t, c, map[string]string{
		"CLUSTER SLOT-STATS SLOTSRANGE 15494 15495":        `[[(int) 15494 ["key-count" (int) 0]] [(int) 15495 ["key-count" (int) 30]]]`,
		"CLUSTER SLOT-STATS ORDERBY key-count LIMIT 3":     `[[(int) 15495 ["key-count" (int) 30]] [(int) 3300 ["key-count" (int) 20]] [(int) 0 ["key-count" (int) 0]]]`,
		"CLUSTER SLOT-STATS ORDERBY key-count ASC LIMIT 2": `[[(int) 0 ["key-count" (int) 0]] [(int) 1 ["key-count" (int) 0]]]`,
		"CLUSTER SLOT-STATS ORDERBY cpu-usec":              "(error) ERR Unrecognized sort metric for ORDERBY.",
		"CLUSTER SLOT-STATS ORDERBY key-count ASC DESC":    "(error) ERR Multiple filters of the same type are disallowed.",
		"CLUSTER SLOT-STATS ORDERBY key-count LIMIT 0":     "(error) ERR Limit has to lie in between 1 and 16384 (maximum number of slots).",
		"CLUSTER SLOT-STATS SLOTSRANGE 1 0":                "(error) ERR Start slot number 1 is greater than end slot number 0",
		"CLUSTER SLOT-STATS SLOTSRANGE 1 16384":            "(error) ERR Invalid or out of range slot",
		"CLUSTER SLOT-STATS NOSUCH 1 2":                    "(error) ERR unknown subcommand or wrong number of arguments for 'slot-stats'. Try CLUSTER HELP.",
		"CLUSTER FLUSHSLOT 16384":                          "(error) ERR Invalid or out of range slot",
		"CLUSTER FLUSHSLOT 5 NOW":                          "(error) ERR syntax error",
	})
	watching := r.dial()
	watching.want("WATCH {a}1", "OK")
	c.want("CLUSTER FLUSHSLOT 15495 SYNC", "OK")
	c.want("DBSIZE", "(int) 20")
	for _, step := range [][2]string{{"MULTI", "OK"}, {"GET {a}1", queued}, {"EXEC", "(nil array)"}} {
		watching.want(step[0], step[1])
	}
	c.want("CLUSTER FLUSHSLOT 3300", "OK")
	c.want("DBSIZE", "(int) 0")
}
