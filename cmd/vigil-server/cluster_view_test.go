package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// agreeOnSlots waits until server i names the leader to clients of Redis Cluster, and returns
// which it is.
func (g *trio) agreeOnSlots(i int) int {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		leader := g.leader()
		nodes, err := g.call(i, "CLUSTER NODES")
		if err != nil {
			continue
		}
		for line := range strings.Lines(nodes) {
			address := fmt.Sprintf("127.0.0.1:%d", g.ports[leader])
			if !strings.Contains(line, address+"@") || !strings.Contains(line, "master - 0") || strings.Contains(line, "fail") {
				continue
			}
			got, err := g.call(i, "GET a")
			if err == nil && (strings.Contains(got, "MOVED 15495 "+address) || i == leader && !strings.Contains(got, "MOVED")) {
				return leader
			}
		}
	}
	g.t.Fatalf("server %d does not name the leader", i)
	return 0
}

// Every member names the leader to clients of Redis Cluster, after it was killed, and after a
// follower was asked to lead.
func TestClientsOfClusterFindTheLeader(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-view", "cluster")
	first := g.leader()
	follower := (first + 1) % 3
	if got := g.agreeOnSlots(follower); got != first {
		t.Fatalf("server %d leads, want %d", got, first)
	}
	old := dialAt(t, "tcp", g.up[first].addr)
	if got := old.do(t, "SET a 1"); got != "OK" {
		t.Fatalf("SET: %s", got)
	}
	for end := time.Now().Add(time.Minute); ; {
		got, err := g.call(follower, "CLUSTER FAILOVER")
		if strings.Contains(got, "should send CLUSTER FAILOVER to a replica") {
			break
		}
		if err != nil || got != "OK" && !strings.Contains(got, "Master is down") {
			t.Fatalf("CLUSTER FAILOVER: %s, %v", got, err)
		}
		if time.Now().After(end) {
			t.Fatal("the follower does not lead")
		}
	}
	if got := g.leader(); got != follower {
		t.Fatalf("server %d leads, want %d", got, follower)
	}
	if got, err := g.call(follower, "GET a"); err != nil || got != "1" {
		t.Errorf("GET: %q, %v", got, err)
	}
	if err := old.send("GET a"); err == nil {
		if got, err := old.reply(); err == nil {
			t.Errorf("a client of the former leader gets %s", got)
		}
	}
	g.up[follower].signal(t, syscall.SIGKILL)
	_ = g.up[follower].wait()
	third := 3 - first - follower
	if got := g.agreeOnSlots(third); got == follower {
		t.Error("the server that was killed leads")
	}
	g.start(follower)
	g.await(follower)
	g.agreeOnSlots(follower)
}
