package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

// owned waits until the masters at some servers have a number of slots together, as some server knows.
func (s *shardServers) owned(by []int, n int) {
	s.t.Helper()
	text := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for i := range s.up {
			of, _ := s.owners(i)
			has := new(slots.Set)
			for _, k := range by {
				has = has.Union(of[s.address(k)])
			}
			if text = fmt.Sprint(of); has.Len() == n {
				return
			}
		}
	}
	s.t.Fatalf("the servers %v do not get %d slots: %s", by, n, text)
}

// killLeader kills the leader of a group, and starts it again when the next one leads.
func (s *shardServers) killLeader(of []int, args ...string) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for _, i := range of {
			if !strings.HasPrefix(s.call(i, "ROLE"), "[master") {
				continue
			}
			s.up[i].p.signal(s.t, syscall.SIGKILL)
			_ = s.up[i].p.wait()
			for _, k := range of {
				if k != i {
					s.until(k, "CLUSTER INFO", "cluster_state:ok")
				}
			}
			s.run(i, args...).await(s.t)
			return
		}
	}
	s.t.Fatalf("none of %v leads", of)
}

// A move that was ordered goes on when the leaders on both sides are killed, without being asked for again, and all that
// was acknowledged is there then.
func TestMovesGoOnUnderTheNextLeaders(t *testing.T) {
	s := twoGroups(t, "--appendfsync", "always")
	again := []string{"--appendfsync", "always", "--cluster-view", "cluster"}
	from, to := []int{0, 1, 2}, []int{3, 4, 5}
	var ports []int
	for i := range 6 {
		ports = append(ports, s.base+i)
	}
	w := count(t, 4, ports...)
	w.progress(2000)
	s.move(from, to, these(0, 8190))
	s.killLeader(from, again...)
	w.progress(100)
	s.killLeader(to, again...)
	w.progress(100)
	s.killLeader(from, again...)
	s.owned(to, slots.Count-1)
	for _, i := range from { // nobody has anything left to do
		for end := time.Now().Add(time.Minute); ; {
			got := s.call(i, "CLUSTER GETSLOTMIGRATIONS")
			if !strings.Contains(got, "moving") && !strings.Contains(got, "waiting") && strings.HasPrefix(got, "[") {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("server %d: %s", i, got)
			}
		}
	}
	w.progress(300)
	w.check(s)
	s.agree(2, 4*counterKeys)
}
