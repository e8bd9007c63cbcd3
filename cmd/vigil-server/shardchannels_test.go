package main

import (
	"strings"
	"testing"
)

// Subscribers of shard channels at a master and at its replica are told that a slot has gone to another group, or is
// nobody's any more, and those of a replica that leaves its group are, too.
func TestSubscribersOfShardChannelsAreToldThatSlotsGo(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(3)
	s.want(0, "CLUSTER ADDSLOTSRANGE 0 8191", "OK")
	s.want(1, "CLUSTER ADDSLOTSRANGE 8192 16383", "OK")
	s.ok()
	s.want(2, "CLUSTER REPLICATE "+s.id(0), "OK")
	s.follows(0, 2, 0)
	at := map[int]*client{0: dialAt(t, "tcp", s.up[0].p.addr), 2: dialAt(t, "tcp", s.up[2].p.addr)}
	for _, c := range at {
		for line, want := range map[string]string{"SSUBSCRIBE b": "[ssubscribe b ", "SSUBSCRIBE c": "[ssubscribe c ", "SSUBSCRIBE {b}d": "[ssubscribe {b}d "} {
			if got := c.do(t, line); !strings.HasPrefix(got, want) {
				t.Fatalf("%s: %s", line, got)
			}
		}
	}
	told := func(i int, want ...string) {
		t.Helper()
		for _, text := range want {
			if got, err := at[i].reply(); err != nil || got != text {
				t.Fatalf("a subscriber at server %d is told %s, %v, want %s", i, got, err, text)
			}
		}
	}
	s.move([]int{0}, []int{1}, these(3000, 4000))
	for i, c := range at {
		told(i, "[sunsubscribe b 2]", "[sunsubscribe {b}d 1]")
		for _, line := range []string{"SSUBSCRIBE b", "SUNSUBSCRIBE b"} {
			if got := c.do(t, line); got != "MOVED 3300 "+s.address(1) {
				t.Errorf("%s at server %d: %s", line, i, got)
			}
		}
	}
	s.want(1, "SPUBLISH b x", "0")
	s.want(0, "SPUBLISH b x", "MOVED 3300 "+s.address(1))
	s.want(0, "SPUBLISH c x", "1")
	for i := range at {
		told(i, "[smessage c x]")
	}
	s.want(2, "CLUSTER RESET", "OK")
	told(2, "[sunsubscribe c 0]")
	s.want(0, "CLUSTER DELSLOTS 7365", "OK")
	told(0, "[sunsubscribe c 0]")
}
