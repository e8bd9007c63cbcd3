//go:build rediscli

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These need redis-cli: `make conformance-redis` runs them.

// tool runs redis-cli --cluster, with what is typed, and returns what it says and whether it has done its work.
func (s *shardServers) tool(typed string, args ...string) (said string, ok bool) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), 5*time.Minute) // a copy may go on for ever
	defer stop()
	cmd := exec.CommandContext(ctx, "redis-cli", append([]string{"--cluster"}, args...)...)
	cmd.Stdin = strings.NewReader(typed)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		s.t.Fatal(err)
	}
	return string(out), err == nil
}

// redis-cli --cluster del-node takes a master out of the cluster once it has no slots: nobody knows it any more.
func TestToolRemovesAMasterWithoutSlots(t *testing.T) {
	t.Parallel()
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

// redis-cli --cluster del-node moves the replicas of a master to others and takes it out, although it asks some servers to
// forget the master before it does so.
func TestToolRemovesAMasterWithReplicas(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(5)
	s.halves()
	s.want(0, "SET b 1", "OK")
	s.want(1, "SET a 2", "OK")
	for i := 3; i < 5; i++ {
		s.until(i, "CLUSTER REPLICATE "+s.id(2), "OK")
	}
	for i := range s.up {
		s.follows(i, 3, 2)
		s.follows(i, 4, 2)
	}
	if said, ok := s.tool("", "del-node", s.address(0), s.id(2)); !ok {
		t.Fatalf("del-node: %s\n%s", said, s.up[2].p.out)
	}
	for _, i := range []int{0, 1, 3, 4} {
		s.lacks(i, 2)
		s.until(i, "CLUSTER INFO", "cluster_known_nodes:4\r\n")
	}
	s.until(2, "CLUSTER INFO", "cluster_known_nodes:1\r\n")
	if said, ok := s.tool("", "check", s.address(3)); !ok || !strings.Contains(said, "All 16384 slots covered") {
		t.Errorf("check: %s", said)
	}
}

// redis-cli --cluster check finds a restored cluster whole.
func TestToolChecksARestoredCluster(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	again := restoreAll(t, s.snapshot(0, "monday"))
	again.isLikeOthers()
	if said, ok := again.tool("", "check", again.address(0)); !ok || !strings.Contains(said, "All 16384 slots covered") {
		t.Errorf("check: %s", said)
	}
}

// redis-cli --cluster reshard moves slots with their keys, as Redis's tool moves keys, and rebalance gives each master its share again.
func TestToolMovesSlots(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	const key, slot = "460", 5
	s.want(0, "SET "+key+" kept", "OK")
	if said, ok := s.tool("", "reshard", s.address(0), "--cluster-from", s.id(0), "--cluster-to", s.id(1), "--cluster-slots", "6", "--cluster-yes"); !ok {
		t.Fatalf("reshard: %s", said)
	}
	s.ok()
	if own, _ := s.owners(2); !own[s.address(1)].Has(slot) || own[s.address(1)].Len() != 5462+6 {
		t.Errorf("after reshard slot %d is not the second master's: %v", slot, own)
	}
	if got := s.read(key); got != "kept" {
		t.Errorf("%s is %s", key, got)
	}
	if said, ok := s.tool("", "rebalance", s.address(2), "--cluster-threshold", "0.05"); !ok {
		t.Fatalf("rebalance: %s", said)
	}
	s.ok()
	own, _ := s.owners(2)
	for i := range s.up {
		if n := own[s.address(i)].Len(); n < 5461 || n > 5463 {
			t.Errorf("after rebalance master %d has %d slots", i, n)
		}
	}
	if got := s.read(key); got != "kept" {
		t.Errorf("%s is %s", key, got)
	}
}

// redis-cli --cluster fix gives slots of nobody to masters, and a transaction of such calls is made in order.
func TestToolCoversSlotsOfNobody(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	s.want(0, "CLUSTER DELSLOTS 1 2 3 100", "OK")
	s.want(1, "CLUSTER DELSLOTSRANGE 6000 6009", "OK")
	for i := range s.up {
		s.until(i, "CLUSTER INFO", "cluster_slots_assigned:16370")
	}
	if said, ok := s.tool("yes\n", "fix", s.address(0)); !ok {
		t.Errorf("fix: %s", said)
	}
	s.ok()
	if said, ok := s.tool("", "check", s.address(1)); !ok || !strings.Contains(said, "All 16384 slots covered") {
		t.Errorf("check: %s", said)
	}
	own, _ := s.owners(0)
	if !own[s.address(0)].Has(5) {
		t.Fatalf("slot 5 is not the first server's: %v", own)
	}
	c := dialAt(t, "tcp", s.address(0))
	for _, line := range []string{"MULTI", "CLUSTER DELSLOTS 5", "CLUSTER ADDSLOTS 5", "EXEC"} {
		if err := c.send(line); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"OK", "QUEUED", "QUEUED", "[OK OK]"} {
		if got, err := c.reply(); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// redis-cli --cluster import keeps the cursor of SCAN in an int: one that is larger makes it begin again, for ever.
func TestToolImportsFromAServerOnItsOwn(t *testing.T) {
	t.Parallel()
	const keys = 5000
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	from := launch(t, "--dir", t.TempDir())
	c := dialAt(t, "tcp", from.addr)
	for i := 0; i < keys; i += 100 {
		line := "MSET"
		for k := range 100 {
			line += fmt.Sprintf(" key:%d v%d", i+k, i+k)
		}
		if got := c.do(t, line); got != "OK" {
			t.Fatalf("%s: %s", line, got)
		}
	}
	said, ok := s.tool("", "import", s.address(0), "--cluster-from", from.addr)
	if n := strings.Count(said, "Migrating key:"); !ok || n != keys {
		t.Fatalf("import: %v, moved %d keys, want %d: %.2000s", ok, n, keys, said)
	}
	total := 0
	for i := range s.up {
		n, err := strconv.Atoi(s.call(i, "DBSIZE"))
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if left := c.do(t, "DBSIZE"); total != keys || left != "0" {
		t.Errorf("%d keys in the cluster, %s left, want %d and 0", total, left, keys)
	}
	if got := s.read("key:4999"); got != "v4999" {
		t.Errorf("key:4999 is %s", got)
	}
}
