package main

import (
	"fmt"
	"io"
	"net"
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

// passOn passes connections on from a port of this machine to another one, as a translation of addresses does.
func passOn(t *testing.T, from, to int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(from))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(to))
			if err != nil {
				in.Close()
				continue
			}
			go func() { defer out.Close(); _, _ = io.Copy(out, in) }()
			go func() { defer in.Close(); _, _ = io.Copy(in, out) }()
		}
	}()
}

// Servers listen for each other at ports of their choice, and are found at others behind a translation of addresses: they meet, replicate
// and know each other after restarts, with the ports that are given and then without some.
func TestServersFindEachOtherAtPortsThatAreGiven(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	bus := func(i int) int { return s.base + 10000 + i }
	passOn(t, bus(4), bus(1)) // to where server 1 listens
	always := []string{"--cluster-enabled", "yes", "--appendfsync", "always"}
	args := [][]string{{"--cluster-port", strconv.Itoa(bus(3))}, {"--cluster-announce-bus-port", strconv.Itoa(bus(4))},
		{"--cluster-port", strconv.Itoa(bus(5)), "--cluster-join", fmt.Sprintf("%s@%d", s.address(0), bus(3))}}
	for i := range 2 {
		s.run(i, append(args[i], always...)...)
		s.up[i].await(t)
		s.until(i, "CLUSTER NODES", "myself,master")
	}
	s.want(0, fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d %d", s.base+1, bus(4)), "OK")
	s.until(1, "CLUSTER NODES", s.address(0)+"@")
	s.halves()
	s.run(2, append(args[2], always...)...)
	s.up[2].await(t)
	everywhere := func() {
		t.Helper()
		for at := range 3 {
			for i, other := range []int{bus(3), bus(4), bus(5)} {
				s.until(at, "CLUSTER NODES", fmt.Sprintf("%s@%d ", s.address(i), other))
			}
		}
		s.ok()
	}
	everywhere()
	s.want(0, "SET b 1", "OK") // a key of the first half
	s.want(0, "WAIT 1 10000", "1")
	s.until(1, "SET b 1", "MOVED 3300 "+s.address(0))

	for i := range 3 {
		again := always // the port for others is the one that it has had
		if i == 1 {     // behind a translation it has to be told where it listens
			again = append(args[1], always...)
		}
		s.kill(i)
		s.run(i, again...)
		s.up[i].await(t)
	}
	everywhere()
	s.until(0, "GET b", "1")
	for line, want := range map[string]string{
		"CLUSTER MEET 127.0.0.1 7000 x":     "ERR Invalid bus port specified: x",
		"CLUSTER MEET 127.0.0.1 7000 65536": "ERR Invalid bus port specified: 65536",
		"CLUSTER MEET 127.0.0.1 60000":      "ERR Invalid node address specified: 127.0.0.1:60000",
		"CLUSTER MEET 127.0.0.1 7000 7000":  "ERR Invalid node address specified: 127.0.0.1:7000",
	} {
		s.want(0, line, want)
	}
}
