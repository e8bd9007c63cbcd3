package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// A client that waits for a key at a server whose group was buried while it could not be heard is told so when the server
// hears of that, and a move to this group that was under way fails at once.
func TestNobodyWaitsForABuriedGroup(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.mastersWith([]string{"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"}, thirds...)
	for i := range s.up {
		s.until(i, "CLUSTER INFO", "cluster_slots_ok:16384")
	}
	lost := s.id(1)
	waits := dialAt(t, "tcp", s.address(1))
	if err := waits.send("BLPOP c 0"); err != nil {
		t.Fatal(err)
	}
	s.until(1, "INFO clients", "blocked_clients:1\r\n")
	s.up[1].p.freeze(t)
	s.want(2, "CLUSTER MIGRATESLOTS SLOTSRANGE 16000 16000 NODE "+lost, "OK")
	s.until(2, "CLUSTER GETSLOTMIGRATIONS", "moving")
	s.until(0, "VIGIL.CLUSTER BURY "+lost+" LOSE-WRITES", "OK")
	s.until(2, "CLUSTER GETSLOTMIGRATIONS", "it was removed")
	s.want(2, "CLUSTER MIGRATESLOTS SLOTSRANGE 16000 16000 NODE "+lost, "ERR Unknown node")
	if got := s.call(2, "CLUSTER NODES"); !strings.Contains(got, "10923-16383") {
		t.Errorf("the slots have not stayed: %s", got)
	}
	s.up[1].p.signal(t, syscall.SIGCONT)
	if err := waits.nc.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, err := waits.reply(); err != nil || got != "CLUSTERDOWN Hash slot not served" {
		t.Errorf("a client that waits at the buried server: %s, %v", got, err)
	}
}
