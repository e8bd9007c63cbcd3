package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
	"github.com/vigildb/vigil/structures/slots/slotstest"
)

// single makes the server of a rig all of its group, with some slots.
func (r *slotsRig) single(own *slots.Set) {
	r.g.own.Store(own)
	r.know(func(m *commands.Membership) {
		m.Members, m.Slots = m.Members[:1], own
	})
}

// What Redis refuses is refused with its texts, and the group is asked for nothing.
func TestServersThatAreInUseDoNotBecomeReplicas(t *testing.T) {
	r := newShardsRig(t)
	r.single(slotstest.Set(t, "0-8000"))
	c := r.dial()
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	const notEmpty = "(error) ERR To set a master the node must be empty and without assigned slots."
	c.want("SET b 1", "OK")
	each(t, c, map[string]string{
		"CLUSTER REPLICATE 12":         "(error) ERR Unknown node 12",
		"CLUSTER REPLICATE " + id("1"): "(error) ERR Can't replicate myself",
		"CLUSTER REPLICATE " + id("b"): "(error) ERR I can only replicate a master, not a replica.",
		"CLUSTER REPLICATE " + id("e"): "(error) ERR I can only replicate a master, not a replica.",
		"CLUSTER REPLICATE " + id("c"): notEmpty,
		"CLUSTER RESET":                "(error) ERR CLUSTER RESET can't be called with master nodes containing keys",
		"CLUSTER RESET HARD":           "(error) ERR CLUSTER RESET can't be called with master nodes containing keys",
		"CLUSTER RESET NOW":            "(error) ERR syntax error",
		"CLUSTER RESET HARD SOFT":      "(error) ERR syntax error",
	})
	r.single(new(slots.Set))
	c.want("CLUSTER REPLICATE "+id("c"), notEmpty) // it has a key
	if got := r.g.changesAsked(); got != "" {
		t.Errorf("the group was asked for %s", got)
	}
	r.single(slotstest.Set(t, "0-8000"))
	c.want("DEL b", "(int) 1")
	c.want("CLUSTER REPLICATE "+id("c"), notEmpty) // it has slots
	r.single(new(slots.Set))
	c.want("CLUSTER REPLICATE "+id("c"), "OK")
	c.want("CLUSTER RESET", "OK")
	c.want("CLUSTER RESET soft", "OK")
	r.g.set(func() { r.g.refuses = errors.New("not now") })
	c.want("CLUSTER REPLICATE "+id("c"), "(error) ERR not now")
	c.want("MULTI", "OK")
	c.want("CLUSTER REPLICATE "+id("c"), queued)
	c.want("EXEC", "[(error) ERR Command not allowed inside a transaction]")
	const asked = "replicate 10.0.1.2:7000; reset; reset; replicate 10.0.1.2:7000"
	if got := r.g.changesAsked(); got != asked {
		t.Errorf("the group was asked for %s, want %s", got, asked)
	}
}

// A replica replicates its master already. What else it may become is for its group to say.
func TestReplicaReplicatesItsMaster(t *testing.T) {
	r := newShardsRig(t)
	r.follow()
	c := r.dial()
	c.want("CLUSTER REPLICATE "+strings.Repeat("2", 40), "OK")
	c.want("CLUSTER REPLICATE "+strings.Repeat("3", 40), "(error) ERR I can only replicate a master, not a replica.")
	c.want("CLUSTER REPLICATE "+strings.Repeat("c", 40), "OK")
	c.want("CLUSTER RESET", "OK")
	if got, want := r.g.changesAsked(), "replicate 10.0.1.2:7000; reset"; got != want {
		t.Errorf("the group was asked for %s, want %s", got, want)
	}
}

// A transaction of messages alone needs no leader, one that reads does.
func TestTransactionsOfMessagesRunAtReplicas(t *testing.T) {
	r := newSlotsRig(t)
	r.follow()
	c := r.dial()
	for _, step := range [][2]string{{"MULTI", "OK"}, {"SPUBLISH a m", queued}, {"EXEC", "[(int) 0]"},
		{"MULTI", "OK"}, {"SPUBLISH a m", queued}, {"GET a", movedA}, {"EXEC", execAborted}} {
		c.want(step[0], step[1])
	}
}

// What cannot be forgotten is refused with Redis's texts; a replica's group, and who was one, are for the cluster to say.
func TestReplicasAreForgotten(t *testing.T) {
	r := newShardsRig(t)
	c := r.dial()
	id := func(digit string) string { return strings.Repeat(digit, 40) }
	each(t, c, map[string]string{
		"CLUSTER FORGET " + id("1"):        "(error) ERR I tried hard but I can't forget myself...",
		"CLUSTER FORGET " + id("c"):        "(error) ERR the node has slots: VIGIL.CLUSTER REBALANCE WEIGHT " + id("c") + " 0 moves them to the others, and VIGIL.CLUSTER BURY gives up a group that is gone for good",
		"CLUSTER FORGET " + id("b"):        "OK", // a replica of another group
		"CLUSTER FORGET " + id("8"):        "OK", // a former one
		"CLUSTER FORGET " + id("7"):        "(error) ERR Unknown node " + id("7"),
		"CLUSTER FORGET " + id("7") + " x": "(error) ERR wrong number of arguments for 'cluster|forget' command",
	})
	r.follow()
	r.dial().want("CLUSTER FORGET "+id("2"), "(error) ERR Can't forget my master!")
}

// When a server has left its group, clients that wait for keys, watch them or may have cached them hear of it; the others stay.
func TestClientsStayWhenTheirServerLeavesItsGroup(t *testing.T) {
	r := newSlotsRig(t)
	idle, subscriber, watcher, waiter, caches := r.dial(), r.dial(), r.dial(), r.dial(), r.dial()
	idle.want("SET a 1", "OK")
	subscriber.want("SUBSCRIBE news", `["subscribe" "news" (int) 1]`)
	watcher.want("WATCH a", "OK")
	caches.do("HELLO", "3")
	caches.want("CLIENT TRACKING ON", "OK")
	caches.want("GET a", `"1"`)
	waiter.send("BLPOP", "q", "0")
	r.blocked(1)
	r.g.leave()
	caches.next(`>["invalidate" (nil)]`)
	idle.want("PING", "PONG")
	for _, c := range []*testClient{watcher, waiter} {
		c.ended()
	}
	idle.want("PUBLISH news x", "(int) 1")
	subscriber.next(`["message" "news" "x"]`)
}
