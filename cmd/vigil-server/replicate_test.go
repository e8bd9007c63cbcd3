package main

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// empty starts servers that are groups by themselves, and lets them meet.
func (s *shardServers) empty(n int, args ...string) {
	s.t.Helper()
	for i := range n {
		s.run(i, append(args, "--cluster-enabled", "yes")...)
	}
	for i := range n {
		s.up[i].await(s.t)
		s.until(i, "CLUSTER NODES", "myself,master")
	}
	for i := range n {
		host, port, _ := strings.Cut(s.address(i), ":")
		if got := s.call(0, "CLUSTER MEET "+host+" "+port); got != "OK" {
			s.t.Fatalf("MEET: %s", got)
		}
	}
	for i := range n {
		for k := range n {
			s.until(i, "CLUSTER NODES", s.address(k)+"@")
		}
	}
}

// id is the ID of a server.
func (s *shardServers) id(i int) string {
	s.t.Helper()
	id := s.call(i, "CLUSTER MYID")
	if len(id) != 40 {
		s.t.Fatalf("CLUSTER MYID: %s", id)
	}
	return id
}

// node returns the line of a server in CLUSTER NODES of another one, and of a server that has two no line: that it joined a group
// and that its former one is gone are two pieces of news, between which others can be asked.
func (s *shardServers) node(at, of int) (line string) {
	s.t.Helper()
	for _, l := range strings.Split(s.call(at, "CLUSTER NODES"), "\n") {
		if strings.Contains(l, " "+s.address(of)+"@") {
			if line != "" {
				return ""
			}
			line = l
		}
	}
	return line
}

// follows waits until a server shows another one as a replica of a third one.
func (s *shardServers) follows(at, of, master int) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		line := s.node(at, of)
		if strings.Contains(line, "slave "+s.id(master)+" ") {
			return
		}
	}
	s.t.Fatalf("server %d shows:\n%s\nwant %s as a replica of %s", at, s.call(at, "CLUSTER NODES"), s.address(of), s.address(master))
}

func (s *shardServers) want(i int, line, want string) {
	s.t.Helper()
	if got := s.call(i, line); !strings.HasPrefix(got, want) {
		s.t.Errorf("server %d, %s: %s, want %s", i, line, got, want)
	}
}

func (s *shardServers) kill(i int) {
	s.t.Helper()
	s.up[i].p.signal(s.t, syscall.SIGKILL)
	_ = s.up[i].p.wait()
}

// halves gives each of two servers half of the slots.
func (s *shardServers) halves() {
	s.t.Helper()
	s.want(0, "CLUSTER ADDSLOTSRANGE 0 8191", "OK")
	s.want(1, "CLUSTER ADDSLOTSRANGE 8192 16383", "OK")
	s.ok()
}

// Running servers without keys and slots become replicas, while their clients stay connected; what others knew
// of them before is gone. A pair goes on without its replica, and after both were killed; the replica takes over
// when it is asked to.
func TestRunningServersBecomeReplicas(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(4)
	s.halves()
	s.want(0, "SET b 1", "OK")
	client, watcher := dialAt(t, "tcp", s.up[3].p.addr), dialAt(t, "tcp", s.up[3].p.addr)
	if got := watcher.do(t, "SUBSCRIBE news"); got != "[subscribe news 1]" {
		t.Fatal(got)
	}
	for line, want := range map[string]string{
		"CLUSTER REPLICATE 0123":              "ERR Unknown node 0123",
		"CLUSTER REPLICATE " + s.id(0):        "ERR Can't replicate myself",
		"CLUSTER REPLICATE " + s.id(1):        "ERR To set a master the node must be empty and without assigned slots.",
		"CLUSTER RESET":                       "ERR CLUSTER RESET can't be called with master nodes containing keys",
		"CLUSTER RESET QUICKLY":               "ERR syntax error",
		"CLUSTER REPLICATE " + s.id(1) + " x": "ERR wrong number of arguments",
	} {
		s.want(0, line, want)
	}
	former := []string{s.id(2), s.id(3)}
	s.want(2, "CLUSTER REPLICATE "+s.id(0), "OK")
	if got := client.do(t, "CLUSTER REPLICATE "+s.id(1)); got != "OK" {
		t.Fatalf("CLUSTER REPLICATE: %s", got)
	}
	if got := client.do(t, "CLUSTER REPLICATE "+s.id(1)); got != "OK" {
		t.Errorf("CLUSTER REPLICATE of the same master again: %s", got)
	}
	for i := range 4 {
		s.follows(i, 2, 0)
		s.follows(i, 3, 1)
		for _, id := range former {
			if got := s.call(i, "CLUSTER NODES"); strings.Contains(got, id) {
				t.Errorf("server %d still shows %s:\n%s", i, id, got)
			}
		}
		s.until(i, "CLUSTER INFO", "cluster_known_nodes:4")
	}
	s.want(1, "CLUSTER REPLICATE "+s.id(0), "ERR To set a master the node must be empty and without assigned slots.")
	s.want(0, "CLUSTER REPLICATE "+s.id(3), "ERR I can only replicate a master, not a replica.")
	if got := s.call(0, "CLUSTER REPLICAS "+s.id(1)); !strings.Contains(got, s.address(3)) {
		t.Errorf("CLUSTER REPLICAS: %s", got)
	}

	if got := client.do(t, "READONLY"); got != "OK" {
		t.Errorf("a client that stayed: %s", got)
	}
	s.want(1, "SET a 2", "OK")
	for end := time.Now().Add(time.Minute); client.do(t, "GET a") != "2"; {
		if time.Now().After(end) {
			t.Fatal("the replica does not get what its master has")
		}
	}
	s.want(2, "GET b", "MOVED 3300 "+s.address(0))
	s.want(1, "WAIT 1 0", "1")
	s.want(1, "PUBLISH news x", "0")
	if got, err := watcher.reply(); err != nil || got != "[message news x]" {
		t.Errorf("a subscriber that stayed: %s, %v", got, err)
	}

	s.kill(3)
	s.want(1, "SET a 3", "OK")
	s.kill(1)
	s.run(1, "--cluster-enabled", "yes").await(t)
	s.until(1, "GET a", "") // whatever everysec has kept
	s.until(1, "SET a 4", "OK")
	s.run(3, "--cluster-enabled", "yes").await(t)
	s.follows(0, 3, 1)

	s.until(3, "CLUSTER FAILOVER", "ERR You should send CLUSTER FAILOVER to a replica") // once it has done so
	s.follows(0, 1, 3)
	s.until(3, "GET a", "4")
	s.until(1, "GET a", "MOVED 15495 "+s.address(3))
	s.until(0, "GET a", "MOVED 15495 "+s.address(3))
}

// What was known of servers before they became replicas is gone at all servers, also if all are of one group by then, and none of
// another one is left to tell of it.
func TestFormerGroupsOfReplicasAreForgotten(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(3)
	s.want(0, "CLUSTER ADDSLOTSRANGE 0 16383", "OK")
	for i := 1; i < 3; i++ {
		s.want(i, "CLUSTER REPLICATE "+s.id(0), "OK")
	}
	for i := range 3 {
		s.until(i, "CLUSTER INFO", "cluster_known_nodes:3\r")
		s.follows(i, 1, 0)
		s.follows(i, 2, 0)
	}
}

// A replica that is told to replicate another master gets the keys of that one in the place of its own, and its
// former master goes on without it.
func TestReplicasGoToOtherMasters(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(4)
	s.halves()
	s.want(0, "SET b 1", "OK")
	s.want(1, "SET a 2", "OK")
	s.until(3, "CLUSTER REPLICATE "+s.id(2), "OK")
	s.want(2, "CLUSTER REPLICATE "+s.id(0), "ERR this server leads a group of several")
	for _, i := range []int{3, 2} { // then its master is alone
		s.until(i, "CLUSTER REPLICATE "+s.id(0), "OK")
	}
	for i := range 4 {
		s.follows(i, 2, 0)
		s.follows(i, 3, 0)
	}
	former := s.id(3)
	s.until(3, "CLUSTER REPLICATE "+s.id(1), "OK")
	for i := range 4 {
		s.follows(i, 2, 0)
		s.follows(i, 3, 1)
		s.until(i, "CLUSTER INFO", "cluster_known_nodes:4")
		if got := s.call(i, "CLUSTER NODES"); strings.Contains(got, former) {
			t.Errorf("server %d still shows %s:\n%s", i, former, got)
		}
	}
	client := dialAt(t, "tcp", s.up[3].p.addr)
	if got := client.do(t, "READONLY"); got != "OK" {
		t.Fatal(got)
	}
	if got := client.do(t, "GET a"); got != "2" {
		t.Errorf("GET at the replica: got %s", got)
	}
	s.want(3, "GET b", "MOVED 3300 "+s.address(0))
	s.until(0, "SET b 3", "OK") // there are two of its group
	s.until(1, "WAIT 1 1000", "1")
	s.want(0, "CLUSTER REPLICATE "+s.id(1), "ERR To set a master the node must be empty and without assigned slots.")

	// It is the replica after a start, too.
	s.kill(3)
	s.run(3, "--cluster-enabled", "yes").await(t)
	s.follows(0, 3, 1)
	s.until(3, "CLUSTER REPLICATE "+s.id(0), "OK") // and back
	for i := range 4 {
		s.follows(i, 3, 0)
	}
}

// A server that is killed while it becomes a replica, of its first master or of another one, starts as a group
// by itself or as a replica, and becomes the replica when it is asked again.
func TestServerIsKilledWhileItBecomesAReplica(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(3)
	s.halves()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r, as := rand.New(rand.NewPCG(seed, 1)), map[string]int{}
	for range 12 {
		c := dialAt(t, "tcp", s.up[2].p.addr)
		if err := c.send("CLUSTER REPLICATE " + s.id(r.IntN(2))); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(r.IntN(60))*time.Millisecond, func() { s.up[2].p.signal(t, syscall.SIGKILL) })
		_ = s.up[2].p.wait()
		s.run(2, "--cluster-enabled", "yes").await(t)
		role := ""
		for role == "" {
			if m := regexp.MustCompile(`myself,(master|slave \w)`).FindStringSubmatch(s.call(2, "CLUSTER NODES")); m != nil {
				role = m[1][:5]
			}
		}
		if as[role]++; role == "slave" && r.IntN(2) > 0 { // else it goes over to another master, perhaps
			s.until(2, "CLUSTER RESET", "OK")
			s.until(2, "CLUSTER NODES", "myself,master")
			s.want(2, "CLUSTER MEET 127.0.0.1 "+s.address(0)[len("127.0.0.1:"):], "OK")
		}
		s.until(2, "CLUSTER NODES", s.address(1)+"@")
		s.until(0, "CLUSTER NODES", s.address(2)+"@")
	}
	t.Logf("started as %v", as)
	s.until(2, "CLUSTER REPLICATE "+s.id(0), "OK")
	s.follows(1, 2, 0)
}

// Two replicas of a master vote with it, so that one of the three can be lost. CLUSTER RESET takes a replica out
// of its group: nothing that it had is left, and it can become a replica of another master.
func TestReplicasInTwosVote(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(4, "--appendfsync", "always")
	s.halves()
	s.want(0, "SET b 1", "OK")
	s.until(2, "CLUSTER REPLICATE "+s.id(0), "OK")
	s.until(3, "CLUSTER REPLICATE "+s.id(0), "OK")
	for _, i := range []int{2, 3} {
		says(t, s.up[i].p, "votes from now on")
	}
	s.kill(0)
	next := s.leader(1, "b")
	if got := s.call(next, "GET b"); next < 2 || got != "1" {
		t.Fatalf("server %d says %s", next, got)
	}
	s.run(0, "--appendfsync", "always", "--cluster-enabled", "yes").await(t)
	other := 5 - next // 2 or 3
	s.until(other, "CLUSTER RESET HARD", "OK")
	s.until(other, "CLUSTER NODES", "myself,master")
	if got := s.call(other, "CLUSTER INFO"); !strings.Contains(got, "cluster_known_nodes:1\r") {
		t.Errorf("after a reset: %s", got)
	}
	s.want(other, "DBSIZE", "0")
	s.want(other, "CLUSTER MEET 127.0.0.1 "+s.address(1)[len("127.0.0.1:"):], "OK")
	s.until(other, "CLUSTER NODES", s.address(1)+"@")
	s.until(other, "CLUSTER REPLICATE "+s.id(1), "OK")
	s.follows(0, other, 1)
	if got := s.call(next, "GET b"); got != "1" {
		t.Errorf("the rest of the group says %s", got)
	}
}

// CLUSTER FORGET, at whichever server, has the group of a replica let it go: the others know that it was one when they are asked, too.
// CLUSTER RESET of a server that is a group by itself makes the others forget it.
func TestServersAreForgotten(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.empty(4)
	s.halves()
	s.until(2, "CLUSTER REPLICATE "+s.id(0), "OK")
	replica, single := s.id(2), s.id(3)
	for i, line := range map[int]string{0: s.id(0), 2: s.id(2), 1: "0123", 3: s.id(0)} {
		want := map[int]string{0: "ERR I tried hard but I can't forget myself...", 1: "ERR Unknown node 0123", 2: "ERR I tried hard", 3: "ERR the node has slots: VIGIL.CLUSTER REBALANCE WEIGHT " + s.id(0) + " 0"}[i]
		s.want(i, "CLUSTER FORGET "+line, want)
	}
	s.want(2, "CLUSTER FORGET "+s.id(0), "ERR Can't forget my master!")
	for _, i := range []int{1, 0, 3} {
		s.want(i, "CLUSTER FORGET "+replica, "OK")
	}
	s.until(2, "CLUSTER RESET", "OK")
	s.until(2, "CLUSTER NODES", "myself,master")
	s.want(3, "CLUSTER RESET", "OK")
	for i := range 2 {
		for end := time.Now().Add(time.Minute); ; {
			got := s.call(i, "CLUSTER NODES")
			if !strings.Contains(got, replica) && !strings.Contains(got, single) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("server %d shows\n%s", i, got)
			}
		}
		s.want(i, "CLUSTER FORGET "+single, "OK")
	}
	for i := range 2 {
		s.until(i, "CLUSTER INFO", "cluster_state:ok")
	}
}
