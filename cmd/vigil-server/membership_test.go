package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Every member names the leader to clients of Redis Sentinel, and tells subscribers when
// another one leads; WAIT counts those that have what was written.
func TestClientsOfSentinelFindTheLeader(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-name", "sessions")
	first := g.leader()
	g.agree(first)
	follower := (first + 1) % 3
	c := dialAt(t, "tcp", g.up[first].addr)
	for k := range 20 {
		if got := c.do(t, fmt.Sprintf("SET key:%d v", k)); got != "OK" {
			t.Fatalf("SET: %s", got)
		}
		if got := c.do(t, "WAIT 2 60000"); got != "2" {
			t.Fatalf("WAIT: %s", got)
		}
	}
	roles := map[string]int{}
	for i := range 3 {
		got, err := g.call(i, "INFO replication")
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{"role:master\r\nconnected_slaves:2", "role:slave"} {
			if strings.Contains(got, role) {
				roles[role]++
			}
		}
	}
	if len(roles) != 2 || roles["role:slave"] != 2 {
		t.Errorf("the roles are %v", roles)
	}
	if got, err := g.call(follower, "WAIT 1 100"); err != nil || !strings.Contains(got, "cannot be used with replica instances") {
		t.Errorf("WAIT at a follower: %s, %v", got, err)
	}
	s := dialAt(t, "tcp", g.up[follower].addr)
	if err := s.send("PSUBSCRIBE +switch*"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.reply(); err != nil || !strings.Contains(got, "psubscribe") {
		t.Fatalf("PSUBSCRIBE: %s, %v", got, err)
	}
	g.up[first].signal(t, syscall.SIGTERM)
	if err := g.up[first].wait(); err != nil {
		t.Errorf("the leader: %v\n%s", err, g.up[first].out)
	}
	second := g.leader()
	got, err := s.reply()
	want := fmt.Sprintf("sessions 127.0.0.1 %d 127.0.0.1 %d", g.ports[first], g.ports[second])
	if err != nil || !strings.Contains(got, want) {
		t.Errorf("a subscriber got %q, %v, want %q", got, err, want)
	}
	g.start(first)
	g.await(first)
	g.agree(second)
}

// agree waits until all members name the same leader.
func (g *trio) agree(leader int) {
	g.t.Helper()
	for i := range 3 {
		for end := time.Now().Add(time.Minute); ; {
			got, err := g.call(i, "SENTINEL GET-MASTER-ADDR-BY-NAME sessions")
			if err == nil && strings.Contains(got, fmt.Sprint(g.ports[leader])) {
				break
			}
			if time.Now().After(end) {
				g.t.Fatalf("server %d names %q, %v", i, got, err)
			}
		}
	}
}
