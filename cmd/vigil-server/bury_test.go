package main

import (
	"strings"
	"testing"
)

// lacks waits until a server does not show another one.
func (s *shardServers) lacks(at, of int) {
	s.t.Helper()
	for range 10_000 {
		if got := s.call(at, "CLUSTER NODES"); strings.Contains(got, "myself") && !strings.Contains(got, s.address(of)+"@") {
			return
		}
	}
	s.t.Fatalf("server %d shows server %d:\n%s", at, of, s.call(at, "CLUSTER NODES"))
}

// loseSecond starts three masters, loses the second one, and makes the first one bury its group.
func loseSecond(t *testing.T, args ...string) (s *shardServers, lost string) {
	t.Helper()
	s = newShards(t)
	s.mastersWith(append([]string{"--cluster-node-timeout", "2000", "--appendfsync", "always"}, args...), thirds...)
	for i := range s.up { // which is not said by the state of the cluster if not all slots have to be covered
		s.until(i, "CLUSTER INFO", "cluster_slots_ok:16384")
	}
	for i, line := range []string{"SET b kept", "SET c old", "SET a kept"} {
		s.want(i, line, "OK")
	}
	lost = s.id(1)
	s.want(0, "VIGIL.CLUSTER BURY "+lost+" LOSE-WRITES", "ERR the group was heard ")
	s.kill(1)
	s.until(0, "VIGIL.CLUSTER BURY "+lost+" LOSE-WRITES", "OK the slots 5461-10922 have no group now")
	return s, lost
}

// A group that is lost is buried, and its slots are given to another one: the cluster is whole without it, after restarts too. When its
// server comes back it has nothing, takes nothing, and keeps its keys until it is made a new one.
func TestLostGroupIsBuriedAndStaysSo(t *testing.T) {
	t.Parallel()
	s, lost := loseSecond(t)
	says(t, s.up[0].p, "the group of "+s.address(1)+" ("+lost+") was buried at ")
	s.want(0, "VIGIL.CLUSTER BURY "+lost+" LOSE-WRITES", "ERR the group was removed")
	s.want(0, "CLUSTER FORGET "+lost, "OK")
	s.lacks(0, 1)
	s.lacks(2, 1)
	s.want(0, "GET c", "CLUSTERDOWN")
	s.until(2, "CLUSTER ADDSLOTSRANGE 5461 10922", "OK")
	for _, i := range []int{0, 2} {
		s.until(i, "CLUSTER INFO", "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:2\r\ncluster_size:2\r\n")
	}
	s.until(0, "GET c", "MOVED 7365 "+s.address(2))
	s.until(2, "SET c new", "OK")
	s.kill(0)
	s.run(0, "--cluster-enabled", "yes").await(t)
	s.until(0, "GET b", "kept")
	s.lacks(0, 1)
	if log := s.up[0].p.out.String(); strings.Contains(log, "buried") {
		t.Errorf("a start logs what was long ago:\n%s", log)
	}

	for range 2 { // each start is a leadership
		s.run(1, "--cluster-enabled", "yes", "--appendfsync", "always").await(t)
		says(t, s.up[1].p, "this group was buried at ")
		s.until(1, "GET c", "MOVED 7365 "+s.address(2))
		s.want(1, "SET c lost", "MOVED 7365 "+s.address(2))
		s.want(1, "CLUSTER ADDSLOTS 7365", "ERR Slot 7365 is already busy")
		s.want(1, "DBSIZE", "1")
		if line := s.node(1, 1); !strings.HasSuffix(line, " connected") {
			t.Errorf("the server shows itself as %q", line)
		}
		s.until(2, "GET c", "new")
		s.lacks(0, 1)
		s.kill(1)
	}
	s.run(1, "--cluster-enabled", "yes").await(t)
	s.until(1, "GET c", "MOVED")
	s.want(1, "CLUSTER RESET", "ERR CLUSTER RESET can't be called with master nodes containing keys")
	s.until(1, "FLUSHALL", "OK")
	s.until(1, "CLUSTER RESET", "OK")
	host, port, _ := strings.Cut(s.address(1), ":")
	s.until(0, "CLUSTER MEET "+host+" "+port, "OK")
	for _, i := range []int{0, 1, 2} {
		s.until(i, "CLUSTER INFO", "cluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:3\r\ncluster_size:2\r\n")
	}
}

// A group that was given up too soon rises by ADDSLOTS with slots that nobody has, and with the keys of them.
func TestBuriedGroupRisesWithItsKeys(t *testing.T) {
	t.Parallel()
	s, _ := loseSecond(t, "--cluster-require-full-coverage", "no")
	s.until(2, "CLUSTER ADDSLOTSRANGE 5461 6000", "OK")
	s.until(0, "CLUSTER NODES", " 5461-6000 ") // so whoever tells of the burial tells of this
	s.run(1, "--cluster-enabled", "yes", "--appendfsync", "always", "--cluster-require-full-coverage", "no").await(t)
	says(t, s.up[1].p, "this group was buried at ")
	s.until(1, "GET c", "CLUSTERDOWN Hash slot not served")
	s.want(1, "CLUSTER ADDSLOTSRANGE 5461 10922", "ERR Slot 5461 is already busy")
	s.until(1, "CLUSTER ADDSLOTSRANGE 6001 10922", "OK")
	s.until(1, "GET c", "old")
	for _, i := range []int{0, 2} {
		s.until(i, "GET c", "MOVED 7365 "+s.address(1))
		s.until(i, "CLUSTER INFO", "cluster_state:ok")
	}
	s.kill(1)
	s.run(1, "--cluster-enabled", "yes", "--appendfsync", "always").await(t)
	s.until(1, "GET c", "old")
	s.until(1, "CLUSTER INFO", "cluster_state:ok")
}
