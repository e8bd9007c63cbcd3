package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// newShardsRig opens a server that leads one of four groups: it has the slots 0 to 8000, the second 8001 to
// 16000, with b's slot 3300 and a's 15495, the third 16001, without a leader, and the fourth none. It
// is the first of three members.
func newShardsRig(t *testing.T, directives ...string) *slotsRig {
	t.Helper()
	r := newSlotsRig(t, directives...)
	own := slotstest.Set(t, "0-8000")
	r.g.own.Store(own)
	r.know(func(m *commands.Membership) {
		m.Slots, m.Covered = own, true
		node := func(digit string, host string) commands.Member {
			return commands.Member{ID: strings.Repeat(digit, 40), Host: host, Port: 7000, Active: true}
		}
		m.OtherShards = []commands.Shard{
			{ID: strings.Repeat("a", 40), Slots: slotstest.Set(t, "8001-16000"), Members: []commands.Member{node("b", "10.0.1.1"), node("c", "10.0.1.2")}, Leader: 1, Up: true, Term: 9},
			{ID: strings.Repeat("d", 40), Slots: slotstest.Set(t, "16001"), Members: []commands.Member{node("e", "10.0.2.1")}, Leader: -1, Term: 1},
			{ID: strings.Repeat("f", 40), Slots: new(slots.Set), Members: []commands.Member{node("0", "10.0.3.1")}, Leader: 0, Up: true, Term: 2},
		}
	})
	return r
}

// keyOf returns a key of a slot.
func keyOf(slot int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("key", i); commands.KeySlot([]byte(key)) == slot {
			return key
		}
	}
}

const movedToOther = "(error) MOVED 15495 10.0.1.2:7000"

// Calls for slots of other groups are sent to the leaders of these, by leaders and followers, after
// READONLY too.
func TestKeysOfOtherGroupsAreSentThere(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	c.want("SET b 1", "OK")
	calls := map[string]string{
		"GET a": movedToOther, "SET a 1": movedToOther, "MGET a {a}1": movedToOther, "MGET a b": crossSlot, "SUBSCRIBE": "(error) ERR wrong number of arguments for 'subscribe' command",
		"EVAL return(1) 1 a": movedToOther, "WATCH a": movedToOther, "SPUBLISH a m": movedToOther, "SSUBSCRIBE a": movedToOther, "BLPOP a 0": movedToOther,
		"GET " + keyOf(16001):                  slotsDown,
		"GET " + keyOf(16002):                  "(error) CLUSTERDOWN Hash slot not served",
		"CLUSTER COUNTKEYSINSLOT 15495":        "(int) 0",
		"CLUSTERSCAN 0-{a}-0":                  movedToOther,
		"EVAL return(redis.call('get','b')) 0": `"1"`,
		"DBSIZE":                               "(int) 1",
	}
	each(t, c, calls)
	if got := c.do("EVAL", "return redis.call('get','a')", "0"); !strings.HasPrefix(got, "(error) ERR Script attempted to access a non local key in a cluster node") {
		t.Errorf("a script: %s", got)
	}
	for _, step := range [][2]string{{"MULTI", "OK"}, {"GET a", movedToOther}, {"EXEC", execAborted}, {"MULTI", "OK"}, {"GET b", queued}, {"EXEC", `["1"]`}} {
		c.want(step[0], step[1])
	}
	r.follow()
	c = r.dial()
	delete(calls, "EVAL return(redis.call('get','b')) 0")
	each(t, c, calls)
	c.want("GET b", "(error) MOVED 3300 10.0.0.2:7000")
	c.want("READONLY", "OK")
	each(t, c, calls)
	c.want("GET b", `"1"`)
}

// While a slot cannot be used none can, unless that is allowed.
func TestSlotsAreUsedWhenAllCanBe(t *testing.T) {
	for _, x := range []struct {
		directives                      []string
		get, set, getOther, publish, ok string
	}{
		{nil, slotsDown, slotsDown, slotsDown, "(int) 0", "fail"},
		{[]string{"--cluster-require-full-coverage", "no"}, `"1"`, "OK", movedToOther, "(int) 0", "ok"},
		{[]string{"--cluster-allow-reads-when-down", "yes"}, `"1"`, slotsDown, movedToOther, "(int) 0", "fail"},
		{[]string{"--cluster-allow-pubsubshard-when-down", "no"}, slotsDown, slotsDown, slotsDown, slotsDown, "fail"},
	} {
		r := newShardsRig(t, x.directives...)
		c := r.dial()
		c.want("SET b 1", "OK")
		r.g.uncovered.Store(true)
		r.know(func(m *commands.Membership) { m.Covered = false })
		each(t, c, map[string]string{"GET b": x.get, "SET b 1": x.set, "GET a": x.getOther, "SPUBLISH b m": x.publish, "PING": "PONG"})
		if got := c.do("CLUSTER", "INFO"); !strings.Contains(got, "cluster_state:"+x.ok) {
			t.Errorf("%v: %s", x.directives, got)
		}
		c.want("CONFIG SET cluster-require-full-coverage no", "OK")
		c.want("GET b", `"1"`)
	}
}

// Clients are told of all groups.
func TestAllGroupsAreDescribed(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	now := r.clock.Now().UnixMilli()
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	lines := []string{
		id("1") + " 10.0.0.1:7000@17000 myself,master - 0 0 5 connected 0-8000",
		fmt.Sprintf("%s 10.0.0.2:7000@17000 slave %s 0 %d 5 connected", id("2"), id("1"), now),
		fmt.Sprintf("%s 10.0.0.3:7000@17000 slave %s 0 %d 5 connected", id("3"), id("1"), now),
		fmt.Sprintf("%s 10.0.1.1:7000@17000 slave %s 0 %d 9 connected", id("b"), id("c"), now),
		fmt.Sprintf("%s 10.0.1.2:7000@17000 master - 0 %d 9 connected 8001-16000", id("c"), now),
		id("e") + " 10.0.2.1:7000@17000 slave,fail - 0 0 1 disconnected",
		fmt.Sprintf("%s 10.0.3.1:7000@17000 master - 0 %d 2 connected", id("0"), now),
	}
	c.want("CLUSTER NODES", fmt.Sprintf("%q", strings.Join(lines, "\n")+"\n"))
	c.want("CLUSTER REPLICAS "+id("c"), fmt.Sprintf("[%q]", lines[3]))
	c.want("CLUSTER REPLICAS "+id("b"), "(error) ERR The specified node is not a master")
	c.want("CLUSTER MYSHARDID", fmt.Sprintf("%q", id("9")))
	if got, want := c.do("CLUSTER", "SLOTS"), fmt.Sprintf(`[(int) 8001 (int) 16000 ["10.0.1.2" (int) 7000 %q []] ["10.0.1.1" (int) 7000 %q []]]`, id("c"), id("b")); !strings.Contains(got, want) || strings.Contains(got, "16001") {
		t.Errorf("CLUSTER SLOTS: %s lacks %s", got, want)
	}
	got := c.do("CLUSTER", "SHARDS")
	for _, want := range []string{`["slots" [(int) 0 (int) 8000] "nodes" [["id" "1`, `["slots" [(int) 8001 (int) 16000] "nodes" [["id" "c`, `["slots" [] "nodes" [["id" "e`, `"role" "replica" "replication-offset" (int) 0 "health" "failed"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("CLUSTER SHARDS: %s lacks %s", got, want)
		}
	}
	info := c.do("CLUSTER", "INFO")
	for _, line := range []string{"cluster_state:ok", "cluster_slots_assigned:16001", "cluster_slots_ok:16001", "cluster_known_nodes:7", "cluster_size:2",
		"cluster_current_epoch:9", "cluster_my_epoch:5"} {
		if !strings.Contains(info, line+`\r\n`) {
			t.Errorf("CLUSTER INFO lacks %s: %s", line, info)
		}
	}
}

// Clusters are formed by the commands of Redis. What is wrong is refused with its texts, and changes nothing.
func TestClustersAreFormedByCommands(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	c.want("SET b 1", "OK")
	each(t, c, map[string]string{
		"CLUSTER ADDSLOTS 5":                "(error) ERR Slot 5 is already busy",
		"CLUSTER ADDSLOTS 16002 16001":      "(error) ERR Slot 16001 is already busy",
		"CLUSTER ADDSLOTS 16002 16002":      "(error) ERR Slot 16002 specified multiple times",
		"CLUSTER ADDSLOTS 16384":            "(error) ERR Invalid or out of range slot",
		"CLUSTER ADDSLOTS -1":               "(error) ERR Invalid or out of range slot",
		"CLUSTER ADDSLOTS x":                "(error) ERR Invalid or out of range slot",
		"CLUSTER ADDSLOTSRANGE 1 2 3":       "(error) ERR wrong number of arguments for 'cluster|addslotsrange' command",
		"CLUSTER ADDSLOTSRANGE 16003 16002": "(error) ERR start slot number 16003 is greater than end slot number 16002",
		"CLUSTER DELSLOTS 9000":             "(error) ERR Slot 9000 is already unassigned",
		"CLUSTER DELSLOTS 3300":             "(error) ERR Slot 3300 has keys, which nobody would see: remove them first",
		"CLUSTER DELSLOTSRANGE 0 8000":      "(error) ERR Slot 3300 has keys, which nobody would see: remove them first",
		"CLUSTER FLUSHSLOTS":                "(error) ERR DB must be empty to perform CLUSTER FLUSHSLOTS.",
		"CLUSTER MEET 10.0.0.1 x":           "(error) ERR Invalid base port specified: x",
		"CLUSTER MEET 10.0.0.1 7000 x":      "(error) ERR Invalid bus port specified: x",
		"CLUSTER MEET 10.0.0.1 7000 7000":   "(error) ERR Invalid node address specified: 10.0.0.1:7000",
		"CLUSTER MEET 10.0.0.1 60000":       "(error) ERR Invalid node address specified: 10.0.0.1:60000",
		"CLUSTER SET-CONFIG-EPOCH -1":       "(error) ERR Invalid config epoch specified: -1",
		"CLUSTER SET-CONFIG-EPOCH 1":        "OK",
		"CLUSTER BUMPEPOCH":                 "STILL 5",
	})
	if got := r.g.changesAsked(); got != "" {
		t.Fatalf("what was refused has changed something: %s", got)
	}
	for _, call := range []string{"CLUSTER ADDSLOTS 16002 16004", "CLUSTER ADDSLOTSRANGE 16005 16006 16008 16009", "CLUSTER DELSLOTS 1", "CLUSTER DELSLOTSRANGE 2 3",
		"CLUSTER MEET 10.0.4.1 7000 17000", "CLUSTER MEET ::1 7000", "CLUSTER MEET 10.0.4.1 60000 7001"} {
		c.want(call, "OK")
	}
	c.want("DEL b", "(int) 1")
	c.want("CLUSTER FLUSHSLOTS", "OK")
	if got, want := r.g.changesAsked(), "take 16002 16004; take 16005-16006 16008-16009; drop 1; drop 2-3; meet 10.0.4.1:7000; meet [::1]:7000; meet 10.0.4.1:60000@7001; drop 0-8000"; got != want {
		t.Errorf("the group was asked for %s, want %s", got, want)
	}
	r.g.set(func() { r.g.refuses = errors.New("not now") })
	c.want("CLUSTER ADDSLOTS 16002", "(error) ERR not now")
	c.want("MULTI", "OK")
	c.want("CLUSTER MEET 10.0.4.1 7000", queued)
	c.want("EXEC", "[(error) ERR Command not allowed inside a transaction]")
}

// changesAsked returns what changes were asked for.
func (g *testGroup) changesAsked() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.changes, "; ")
}
