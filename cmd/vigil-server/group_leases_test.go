package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// replies sends a call to a port until the reply is that: members know of changes a moment after the leader's reply.
func replies(t *testing.T, port int, line, want string) {
	t.Helper()
	var got string
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got, err = callAt(port, line); err == nil && got == want {
			return
		}
	}
	t.Fatalf("%s at %d: %s, %v, want %s", line, port, got, err, want)
}

// Nodes that a leader has leased are not handed out by the next one when it is killed, and the workers that have them
// may report there. Objects are located on the same units by all members.
func TestLeasesAndPlacementSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--appendfsync", "always")
	lead := g.leader()
	g.want(lead, "SCHED.CREATE s POLICY index LEASE 600000 SEED 1", "OK")
	add := "SCHED.ADD s"
	for i := range 6 {
		add += fmt.Sprintf(" n%d RATE 0.%d", i, 9-i)
	}
	g.want(lead, add, "6")
	g.want(lead, "SCHED.NEXT s COUNT 4", "[n0 n1 n2 n3]")
	g.want(lead, "SCHED.OBSERVE s n0 2", "1")
	g.want(lead, "PLACE.CREATE m", "OK")
	g.want(lead, "PLACE.SET m u1 1 u2 1 u3 2", "3")
	locate := "PLACE.LOCATE m"
	for i := range 50 {
		locate += fmt.Sprintf(" user:%d", i)
	}
	units, err := g.call(lead, locate)
	if err != nil || !strings.Contains(units, "u1") {
		t.Fatalf("%s, %v", units, err)
	}
	g.want(lead, "SCHED.NEXT s COUNT 9", "[n0 n4 n5]")
	for i := range 3 {
		replies(t, g.ports[i], locate, units)
		replies(t, g.ports[i], "SCHED.PEEK s", "[]")
	}
	g.up[lead].cmd.Process.Kill()
	g.up[lead].wait()
	next := g.leader()
	g.want(next, "SCHED.NEXT s COUNT 9", "[]")
	g.want(next, "SCHED.OBSERVE s n1 0 n4 3", "2")
	g.want(next, "SCHED.FAIL s n2", "1")
	g.want(next, "SCHED.OBSERVE s n1 0", "ERR node is not leased")
	if got, err := g.call(next, "SCHED.NEXT s COUNT 9"); err != nil || len(strings.Fields(got)) != 3 || strings.ContainsAny(got, "035") {
		t.Errorf("handed out: %s, %v, want n1, n2 and n4", got, err)
	}
	g.want(next, locate, units)
	g.start(lead)
	g.await(lead)
	g.whole()
	replies(t, g.ports[lead], locate, units)
	g.want(lead, "SCHED.PEEK s", "[]")
}
