package main

import (
	"os/exec"
	"strings"
	"testing"
)

// tool runs redis-cli --cluster, with what is typed, and returns what it says and whether it has done its work.
func (s *shardServers) tool(typed string, args ...string) (said string, ok bool) {
	s.t.Helper()
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		s.t.Skip("there is no redis-cli")
	}
	cmd := exec.Command(path, append([]string{"--cluster"}, args...)...)
	cmd.Stdin = strings.NewReader(typed)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// redis-cli --cluster del-node takes a master out of the cluster once it has no slots: nobody knows it any more.
func TestToolRemovesAMasterWithoutSlots(t *testing.T) {
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	id := s.id(2)
	if said, _ := s.tool("", "del-node", s.address(0), id); !strings.Contains(said, "is not empty! Reshard data away and try again") {
		t.Errorf("del-node of a master with slots: %s", said)
	}
	s.want(0, "CLUSTER FORGET "+id, "ERR the node has slots: VIGIL.CLUSTER REBALANCE WEIGHT "+id+" 0")
	s.want(2, "SET a kept", "OK")
	s.until(0, "VIGIL.CLUSTER REBALANCE WEIGHT "+id+" 0", "[")
	for i := range s.up {
		s.until(i, "CLUSTER INFO", "cluster_size:2\r\n")
	}
	s.until(2, "DBSIZE", "0")
	if said, ok := s.tool("", "del-node", s.address(0), id); !ok {
		t.Fatalf("del-node: %s\n%s", said, s.up[2].p.out)
	}
	s.lacks(0, 2)
	s.lacks(1, 2)
	s.until(2, "CLUSTER INFO", "cluster_known_nodes:1\r\n")
	if got := s.read("a"); got != "kept" {
		t.Errorf("a is %s", got)
	}
}
