package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// trio is three servers in a group, on ports of their own.
type trio struct {
	t       *testing.T
	program [3]string // binary unless a test says otherwise
	ports   [3]int
	args    []string
	newer   []string // of servers that run binary
	dirs    [3]string
	up      [3]*process
}

// newTrio starts three servers.
func newTrio(t *testing.T, args ...string) *trio {
	t.Helper()
	return newTrioOf(t, binary, args...)
}

// newTrioOf starts three servers of a program.
func newTrioOf(t *testing.T, program string, args ...string) *trio {
	t.Helper()
	g := &trio{t: t, program: [3]string{program, program, program}}
	base := freePorts(t)
	members := ""
	for i := range 3 {
		g.ports[i], g.dirs[i] = base+i, t.TempDir()
		members += fmt.Sprintf("%d=127.0.0.1:%d ", i+1, base+i)
	}
	g.args = append([]string{"--cluster-members", members, "--cluster-secret", "a secret of the tests"}, args...)
	for i := range 3 {
		g.start(i)
	}
	for i := range 3 {
		g.await(i)
	}
	return g
}

// taken are the ports that a test has been given; they are not given to another one that
// runs beside it.
var taken = struct {
	mu    sync.Mutex
	ports map[int]bool // guarded by mu
}{ports: map[int]bool{}}

// freePorts returns the first of six ports that are free, those of the group included.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		if base := 10000 + rand.IntN(12000); take(base) {
			return base
		}
	}
	t.Fatal("no ports are free")
	return 0
}

// take takes the six ports from base on, and those of the group, if all are free.
func take(base int) bool {
	taken.mu.Lock()
	defer taken.mu.Unlock()
	var ports []int
	for i := range 12 {
		port := base + i%6 + i/6*10000
		if taken.ports[port] {
			return false
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return false
		}
		l.Close()
		ports = append(ports, port)
	}
	for _, port := range ports {
		taken.ports[port] = true
	}
	return true
}

// start starts server i; await waits until it is ready.
func (g *trio) start(i int) {
	args := append([]string{"--dir", g.dirs[i], "--port", strconv.Itoa(g.ports[i]), "--cluster-member-id", strconv.Itoa(i + 1)}, g.args...)
	if g.program[i] == binary {
		args = append(args, g.newer...)
	}
	g.up[i] = startCommand(g.t, exec.Command(g.program[i], args...))
}

func (g *trio) await(i int) {
	g.t.Helper()
	p := g.up[i]
	select {
	case p.addr = <-p.ready:
		if p.addr == "" {
			g.t.Fatalf("server %d ended before it was ready:\n%s", i, p.out)
		}
	case <-time.After(time.Minute):
		g.t.Fatalf("server %d is not ready", i)
	}
}

// call sends one call to server i over a connection of its own.
func (g *trio) call(i int, line string) (string, error) { return callAt(g.ports[i], line) }

func callAt(port int, line string) (string, error) {
	nc, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(port), time.Second)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	c := newClient(nc)
	if err := c.send(line); err != nil {
		return "", err
	}
	return c.reply()
}

// leader waits until one server takes writes, and returns which.
func (g *trio) leader() int {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for i := range 3 {
			if got, err := g.call(i, "SET leader "+strconv.Itoa(i)); err == nil && got == "OK" {
				return i
			}
		}
	}
	g.t.Fatal("the group has no leader")
	return 0
}

// restart ends all servers in order, and starts them again.
func (g *trio) restart() {
	g.t.Helper()
	for i := range 3 {
		g.up[i].signal(g.t, syscall.SIGTERM)
		g.up[i].wait()
	}
	for i := range 3 {
		g.start(i)
	}
	for i := range 3 {
		g.await(i)
	}
}

// kill kills all servers.
func (g *trio) kill() {
	for i := range 3 {
		g.up[i].cmd.Process.Kill()
		g.up[i].wait()
	}
}

// whole waits until all members have what was written: one that was killed may not vote
// before, under a lazy policy, so that the loss of another one would stop the group.
func (g *trio) whole() {
	g.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		nc, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(g.ports[g.leader()]))
		if err != nil {
			continue
		}
		c := newClient(nc)
		var got string
		for _, line := range []string{"SET whole 1", "WAIT 2 1000"} {
			if err = c.send(line); err == nil {
				got, err = c.reply()
			}
			if err != nil {
				break
			}
		}
		nc.Close()
		if err == nil && got == "2" && !g.syncing() {
			return
		}
	}
	g.t.Fatal("a member stays behind")
}

// syncing reports whether a member says that it may lack something.
func (g *trio) syncing() bool {
	for i := range 3 {
		got, err := g.call(i, "INFO replication")
		if err != nil || strings.Contains(got, "master_sync_in_progress:1") {
			return true
		}
	}
	return false
}

// Clients count upwards while the leader is killed again and again. Whatever was
// acknowledged to them is there in the end, and nothing that was not asked for.
func TestGroupLosesNothingWhenItsLeaderIsKilled(t *testing.T) {
	for _, policy := range []string{"everysec", "always"} {
		t.Run(policy, func(t *testing.T) {
			g := newTrio(t, "--appendfsync", policy)
			g.leader()
			var stop atomic.Bool
			var clients sync.WaitGroup
			var acked, asked [4]int
			for k := range acked {
				clients.Go(func() {
					for i := 0; !stop.Load(); {
						// A call without a reply may have been executed: it is made again, under
						// the same number.
						got, err := g.call(i, fmt.Sprintf("SET client:%d %d", k, acked[k]+1))
						asked[k] = acked[k] + 1
						if err == nil && got == "OK" {
							acked[k]++
						} else {
							i = (i + 1) % 3
						}
					}
				})
			}
			for range 3 {
				lost := g.leader()
				g.up[lost].cmd.Process.Kill()
				g.up[lost].wait()
				g.leader()
				g.start(lost)
				g.await(lost)
				g.whole()
			}
			stop.Store(true)
			clients.Wait()
			at := g.leader()
			for k := range acked {
				got, err := g.call(at, fmt.Sprintf("GET client:%d", k))
				n, _ := strconv.Atoi(got)
				if err != nil || n < acked[k] || n > asked[k] || acked[k] == 0 {
					t.Errorf("client %d: %s, %v; %d were acknowledged, of %d", k, got, err, acked[k], asked[k])
				}
			}
		})
	}
}

// A leader that ends in order transfers leadership first, to a member that has its functions, and all
// of them end with 0.
func TestGroupEndsInOrder(t *testing.T) {
	t.Parallel()
	g := newTrio(t)
	first := g.leader()
	const library = `FUNCTION LOAD "#!lua name=l\nredis.register_function('f',function() return 'here' end)"`
	if got, err := g.call(first, library); err != nil || got != "l" {
		t.Fatalf("%s, %v", got, err)
	}
	g.up[first].signal(t, syscall.SIGTERM)
	if err := g.up[first].wait(); err != nil {
		t.Errorf("the leader: %v\n%s", err, g.up[first].out)
	}
	second := g.leader()
	if got, err := g.call(second, "GET leader"); err != nil || got != strconv.Itoa(second) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := g.call(second, "FCALL f 0"); err != nil || got != "here" {
		t.Errorf("a function of the former leader: %s, %v", got, err)
	}
	for i := range 3 {
		if i != first {
			g.up[i].signal(t, syscall.SIGTERM)
		}
	}
	for i := range 3 {
		if err := g.up[i].wait(); err != nil {
			t.Errorf("server %d: %v\n%s", i, err, g.up[i].out)
		}
	}
}

// SENTINEL FAILOVER transfers leadership to a member with everything that was acknowledged.
func TestSentinelFailoverHasAnotherMemberLead(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-name", "sessions")
	first := g.leader()
	g.agree(first)
	if got, err := g.call((first+1)%3, "SENTINEL FAILOVER sessions"); err != nil || !strings.Contains(got, "needs the member that leads") {
		t.Errorf("at a follower: %s, %v", got, err)
	}
	// A transfer that takes too long is given up, by the leader too: then it is asked again.
	accepted := false
	for end := time.Now().Add(time.Minute); ; {
		if got, err := g.call(first, "SENTINEL FAILOVER sessions"); err == nil && got == "OK" {
			accepted = true
		}
		if next := g.leader(); next != first && accepted {
			if got, err := g.call(next, "GET leader"); err != nil || got != strconv.Itoa(next) {
				t.Errorf("%s, %v", got, err)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the leader still leads, and said that it would hand over: %v", accepted)
		}
	}
}

// Without a majority nothing is taken, and nothing is shown but to clients that accept old
// data; and a leader that waits for the others in vain ends all the same.
func TestMinorityOfAGroupIsDown(t *testing.T) {
	t.Parallel()
	g := newTrio(t)
	left := g.leader()
	for i := range 3 {
		if i != left {
			g.up[i].cmd.Process.Kill()
		}
	}
	for end := time.Now().Add(time.Minute); ; {
		got, err := g.call(left, "GET leader")
		if err == nil && strings.HasPrefix(got, "CLUSTERDOWN") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a minority says %q, %v", got, err)
		}
	}
	if got, _ := g.call(left, "SET k v"); !strings.HasPrefix(got, "CLUSTERDOWN") {
		t.Errorf("SET: %s", got)
	}
	c := dialAt(t, "tcp", g.up[left].addr)
	if got := c.do(t, "READONLY"); got != "OK" {
		t.Errorf("READONLY: %s", got)
	}
	if got := c.do(t, "GET leader"); got != strconv.Itoa(left) {
		t.Errorf("GET after READONLY: %s", got)
	}
	g.up[left].signal(t, syscall.SIGTERM)
	if err := g.up[left].wait(); err != nil {
		t.Errorf("%v\n%s", err, g.up[left].out)
	}
}

// What is wrong with the configuration of a group is said before anything happens.
func TestConfigurationOfAGroupIsChecked(t *testing.T) {
	const members = "1=127.0.0.1:23001 2=127.0.0.1:23002 3=127.0.0.1:23003"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"a member of a group needs cluster-secret", []string{"--cluster-member-id", "1"}},
		{"a member of a group needs cluster-secret", []string{"--cluster-view", "cluster"}},
		{"cluster-members founds a group and cluster-join joins one", []string{"--cluster-members", members, "--cluster-join", "127.0.0.1:23001", "--cluster-secret", "0123456789abcdef"}},
		{"cluster-replaces is for a server that joins", []string{"--cluster-members", members, "--cluster-replaces", "2", "--cluster-secret", "0123456789abcdef"}},
		{`cluster-join: "nowhere" is not of the form host:port`, []string{"--cluster-join", "nowhere", "--cluster-secret", "0123456789abcdef"}},
		{`cluster-join: "10.0.0.1:60000": the port is not between 1 and 55535`, []string{"--cluster-join", "10.0.0.1:60000", "--cluster-secret", "0123456789abcdef"}},
		{`cluster-members: "1": not of the form id=host:port`, []string{"--cluster-members", "1", "--cluster-secret", "0123456789abcdef"}},
		{"cluster-secret: shorter than 16 bytes", []string{"--cluster-members", members, "--cluster-member-id", "1", "--cluster-secret", "short"}},
		{"member 4 is not among the members", []string{"--cluster-members", members, "--cluster-member-id", "4", "--cluster-secret", "0123456789abcdef"}},
		{"a member of a group keeps its data", []string{"--cluster-members", members, "--cluster-member-id", "1", "--cluster-secret", "0123456789abcdef", "--save", "", "--appendonly", "no"}},
	} {
		out, err := exec.Command(binary, append(c.args, "--dir", t.TempDir(), "--port", "0")...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
}

// A store is alone or in a group until it is turned, and a start of the other kind says how.
func TestStoreOfAGroupStaysInIt(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir)
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	base := strconv.Itoa(freePorts(t))
	out, err := exec.Command(binary, "--dir", dir, "--port", base, "--cluster-members", "1=127.0.0.1:"+base, "--cluster-member-id", "1",
		"--cluster-secret", "0123456789abcdef").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--become member") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A message that is sent to any member reaches the subscribers of all of them, once, and those
// of one sender in order.
func TestMessagesReachTheSubscribersOfAllMembers(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-election-timeout", "5000") // a busy machine is no reason for another leader
	lead := g.leader()
	const each = 50
	var subs [3]*client
	for i := range subs {
		subs[i] = dialAt(t, "tcp", g.up[i].addr)
		if got := subs[i].do(t, "SUBSCRIBE news"); got != "[subscribe news 1]" {
			t.Fatalf("SUBSCRIBE: %s", got)
		}
	}
	for i := range subs {
		c := dialAt(t, "tcp", g.up[i].addr)
		for k := range each {
			if got := c.do(t, fmt.Sprintf("PUBLISH news %d:%d", i, k)); got != "1" {
				t.Fatalf("PUBLISH to %d: %s", i, got)
			}
		}
	}
	for j := range subs {
		next := [3]int{}
		for next[0]+next[1]+next[2] < 3*each {
			got, err := subs[j].reply()
			if err != nil {
				t.Fatalf("subscriber of %d, led by %d, after %v: %v", j, lead, next, err)
			}
			var i, k int
			if _, err := fmt.Sscanf(got, "[message news %d:%d]", &i, &k); err != nil || k != next[i] {
				t.Fatalf("subscriber of %d: %s, %v, want number %d", j, got, err, next[i])
			}
			next[i]++
		}
	}
}
