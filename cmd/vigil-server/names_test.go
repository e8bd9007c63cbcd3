package main

import (
	"strconv"
	"strings"
	"testing"
)

// A server announces its names to all servers of the cluster: to other groups and its own one, when they change, and after its restart. A
// name that Redis refuses is refused with the same words, and changes nothing.
func TestServersAnnounceTheirNames(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters("0-8191", "8192-16383")
	s.run(2, "--cluster-enabled", "yes", "--cluster-join", s.address(0), "--cluster-announce-hostname", "c.example")
	s.up[2].await(t)
	everywhere := func(of int, want string) {
		t.Helper()
		for at := range s.up {
			s.until(at, "CLUSTER NODES", s.address(of)+"@"+strconv.Itoa(s.base+of+10000)+want+" ")
		}
	}
	everywhere(2, ",c.example")
	s.want(0, "CONFIG SET cluster-announce-hostname a.example cluster-announce-human-nodename frank", "OK")
	everywhere(0, ",a.example")
	s.until(2, "VIGIL.CLUSTER STATUS", "nodename frank")
	for value, want := range map[string]string{
		"?.com":                  "Hostnames may only contain alphanumeric characters, hyphens or dots",
		strings.Repeat("x", 256): "Hostnames must be less than 256 characters",
	} {
		s.refuses(0, "CONFIG SET cluster-announce-hostname "+value, want)
	}
	s.refuses(0, "CONFIG SET cluster-announce-human-nodename a{b}", "Announced human node name contained invalid character")
	s.want(1, "CONFIG SET cluster-preferred-endpoint-type hostname", "OK")
	s.want(1, "GET b", "MOVED 3300 a.example:")
	s.want(1, "CONFIG SET cluster-preferred-endpoint-type ip", "OK")
	s.want(1, "GET b", "MOVED 3300 127.0.0.1:")
	everywhere(0, ",a.example")

	s.kill(1)
	s.run(1, "--cluster-enabled", "yes")
	s.up[1].await(t)
	everywhere(0, ",a.example")
	s.kill(0)
	s.run(0, "--cluster-enabled", "yes") // nothing was written into a file
	s.up[0].await(t)
	everywhere(0, "")
	everywhere(2, ",c.example")
}

func (s *shardServers) refuses(i int, line, why string) {
	s.t.Helper()
	if got := s.call(i, line); !strings.HasSuffix(got, why) {
		s.t.Errorf("server %d, %s: %s, want %s", i, line, got, why)
	}
}
