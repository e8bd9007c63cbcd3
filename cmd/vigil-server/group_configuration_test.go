package main

import (
	"strings"
	"testing"
)

// A directive that was set at a leader has its value at the next one, at once, when the leader is killed. So it is after starts,
// for a member that joins later, and for one that goes on alone.
func TestSharedDirectivesSurviveTheirLeader(t *testing.T) {
	t.Parallel()
	g := newTrio(t, strings.Fields("--appendfsync always --timeout 7")...)
	lead := g.upgrade("UPGRADE", level("OK the group has level NEW, the newest that its members know: nothing is to be done"))
	g.want(lead, "CONFIG SET timeout 70 maxmemory 64mb maxmemory-policy allkeys-lru", "OK")
	for i := range 3 {
		replies(t, g.ports[i], "CONFIG GET timeout", "[timeout 70]")
	}
	follower := (lead + 1) % 3
	g.want(follower, "CONFIG SET maxmemory 32mb timeout 71", "READONLY You can't write against a read only replica.")
	g.want(follower, "CONFIG SET maxmemory 32mb", "OK")
	g.want(lead, "CONFIG SET timeout 72", "OK")
	g.up[lead].cmd.Process.Kill()
	g.up[lead].wait()
	next := g.leader()
	g.want(next, "CONFIG GET timeout", "[timeout 72]")
	g.want(next, "CONFIG GET maxmemory-policy", "[maxmemory-policy allkeys-lru]")
	g.start(lead)
	says(t, g.up[lead], "The group has other values of these directives than the configuration, which do not count: maxmemory-policy, timeout")
	g.await(lead)
	g.whole()
	replies(t, g.ports[lead], "CONFIG GET timeout", "[timeout 72]")
	g.want(lead, "CONFIG GET maxmemory", "[maxmemory 0]")

	g.want(g.leader(), "CONFIG SET busy-reply-threshold 80", "OK")
	g.restart()
	for i := range 3 {
		replies(t, g.ports[i], "CONFIG GET busy-reply-threshold", "[busy-reply-threshold 80]")
	}
	g.leader()
	joiner := g.joiner(3)
	replies(t, joiner.port, "CONFIG GET busy-reply-threshold", "[busy-reply-threshold 80]")
	replies(t, joiner.port, "CONFIG GET timeout", "[timeout 72]")
	joiner.outlive(g)
	replies(t, joiner.port, "CONFIG GET timeout", "[timeout 72]")
	replies(t, joiner.port, "CONFIG GET maxmemory", "[maxmemory 0]")
}

// A server that becomes a replica has the directives of its group, and its own again when it leaves.
func TestReplicaHasTheDirectivesOfItsGroup(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(2)
	s.want(0, "CLUSTER ADDSLOTSRANGE 0 16383", "OK")
	s.until(0, "CONFIG SET timeout 70", "OK")
	s.until(1, "CONFIG SET busy-reply-threshold 80", "OK")
	s.want(1, "CLUSTER REPLICATE "+s.id(0), "OK")
	s.until(1, "CONFIG GET timeout", "[timeout 70]")
	s.until(1, "CONFIG GET busy-reply-threshold", "[busy-reply-threshold 5000]")
	s.until(1, "CLUSTER RESET", "OK")
	s.until(1, "CONFIG GET timeout", "[timeout 0]")
}
