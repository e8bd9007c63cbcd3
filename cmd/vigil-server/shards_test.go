package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shardServers are servers of a cluster of several groups, on ports of their own.
type shardServers struct {
	t    *testing.T
	base int
	up   []*member
}

func newShards(t *testing.T) *shardServers { return &shardServers{t: t, base: freePorts(t)} }

func (s *shardServers) address(i int) string { return "127.0.0.1:" + strconv.Itoa(s.base+i) }

// run starts server i, which may be a new one, and does not wait for it.
func (s *shardServers) run(i int, args ...string) *member {
	s.t.Helper()
	return s.runProgram(binary, i, args...)
}

// runProgram is run with a program, which may be of an older version.
func (s *shardServers) runProgram(program string, i int, args ...string) *member {
	s.t.Helper()
	for len(s.up) <= i {
		s.up = append(s.up, &member{port: s.base + len(s.up), dir: s.t.TempDir()})
	}
	m := s.up[i]
	args = append([]string{"--dir", m.dir, "--port", strconv.Itoa(m.port)}, args...)
	if !strings.Contains(strings.Join(args, " "), "--cluster-secret") {
		args = append(args, "--cluster-secret", testSecret)
	}
	m.p = startCommand(s.t, exec.Command(program, args...))
	return m
}

// masters starts a server for each set of slots, all of them groups of one.
func (s *shardServers) masters(slots ...string) { s.mastersWith(nil, slots...) }

func (s *shardServers) mastersWith(args []string, slots ...string) {
	s.t.Helper()
	var peers []string
	for i := range slots {
		peers = append(peers, s.address(i))
	}
	for i, own := range slots {
		s.run(i, append(args, "--cluster-enabled", "yes", "--cluster-slots", own, "--cluster-peers", strings.Join(peers, " "))...)
	}
	for i := range slots {
		s.up[i].await(s.t)
	}
}

func (s *shardServers) call(i int, line string) string {
	got, err := callAt(s.base+i, line)
	if err != nil {
		return "error: " + err.Error()
	}
	return got
}

// until repeats a call to server i until its reply has a text.
func (s *shardServers) until(i int, line, want string) string {
	s.t.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got = s.call(i, line); strings.Contains(got, want) {
			return got
		}
	}
	s.t.Fatalf("server %d, %s: %s, want %q\n%s", i, line, got, want, s.up[i].p.out)
	return ""
}

// ok waits until all servers say that the cluster is whole.
func (s *shardServers) ok() {
	s.t.Helper()
	for i := range s.up {
		s.until(i, "CLUSTER INFO", "cluster_state:ok")
	}
}

var thirds = []string{"0-5460", "5461-10922", "10923-16383"}

// Three servers make the simplest cluster. Each takes the keys of its slots, and names the right one for the
// others, also after all were killed and started with nothing but their directories and the secret.
func TestThreeMastersDivideTheSlots(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.mastersWith([]string{"--appendfsync", "always"}, thirds...)
	s.ok()
	keys := map[string]int{"b": 0, "c": 1, "a": 2} // in slots 3300, 7365 and 15495
	check := func(write bool) {
		t.Helper()
		for key, at := range keys {
			for i := range s.up {
				got := s.call(i, "GET "+key)
				if write && i == at {
					got = s.call(i, "SET "+key+" "+key)
				}
				switch {
				case i != at && !strings.HasPrefix(got, "MOVED ") || i != at && !strings.HasSuffix(got, s.address(at)):
					t.Errorf("%s at server %d: %s, want MOVED to server %d", key, i, got, at)
				case i == at && write && got != "OK", i == at && !write && got != key:
					t.Errorf("%s at server %d: %s", key, i, got)
				}
			}
		}
	}
	check(true)
	for call, want := range map[string]string{
		"MSET a 1 b 2":              "CROSSSLOT",
		"EVAL return(1) 2 a b":      "CROSSSLOT",
		"CLUSTER COUNTKEYSINSLOT 0": "0",
		"SSUBSCRIBE a":              "MOVED 15495 " + s.address(2),
		"SPUBLISH a x":              "MOVED 15495 " + s.address(2),
	} {
		if got := s.call(0, call); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
	for i := range s.up {
		s.up[i].p.signal(t, syscall.SIGKILL)
		_ = s.up[i].p.wait()
	}
	for i := range s.up {
		s.run(i, "--cluster-enabled", "yes")
	}
	for i := range s.up {
		s.up[i].await(t)
	}
	s.ok()
	check(false)
}

// A group that has written data in the view of a Sentinel has keys of all slots: it does not begin with some
// of them, which would hide the others, and has everything when it begins with all.
func TestGroupWithDataClaimsAllSlotsOrNone(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	founder := []string{"--appendfsync", "always", "--cluster-members", "1=" + s.address(0), "--cluster-member-id", "1"}
	end := func() {
		t.Helper()
		s.up[0].p.signal(t, syscall.SIGTERM)
		if err := s.up[0].p.wait(); err != nil {
			t.Fatal(err)
		}
	}
	s.run(0, founder...).await(t)
	s.until(0, "SET a 1", "OK")
	end()
	some := s.run(0, append(founder, "--cluster-view", "cluster", "--cluster-slots", "0-100")...)
	some.await(t)
	says(t, some.p, "would hide what is not in the slots that it claims")
	s.until(0, "GET a", "CLUSTERDOWN")
	end()
	s.run(0, append(founder, "--cluster-view", "cluster")...).await(t)
	s.until(0, "GET a", "1")
}

// A message of a channel reaches the subscribers of all groups, and one of a shard channel those of its own.
func TestMessagesReachAllGroups(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters("0-8191", "8192-16383")
	s.ok()
	here, there := dialAt(t, "tcp", s.up[0].p.addr), dialAt(t, "tcp", s.up[1].p.addr)
	for _, c := range []*client{here, there} {
		if got := c.do(t, "SUBSCRIBE news"); got != "[subscribe news 1]" {
			t.Fatal(got)
		}
	}
	for k := range 20 {
		if got := s.call(1, fmt.Sprintf("PUBLISH news %d", k)); got != "1" {
			t.Fatalf("PUBLISH: %s", got)
		}
	}
	for _, c := range []*client{here, there} {
		for k := range 20 {
			if got, err := c.reply(); err != nil || got != fmt.Sprintf("[message news %d]", k) {
				t.Fatalf("message %d: %s, %v", k, got, err)
			}
		}
	}
}

// A directory knows which slots its group has, which cluster-slots does not change, and which group it is.
func TestDirectoryKnowsItsGroupAndSlots(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters("0-16383")
	s.ok()
	s.up[0].p.signal(t, syscall.SIGTERM)
	if err := s.up[0].p.wait(); err != nil {
		t.Fatal(err)
	}
	m := s.run(0, "--cluster-enabled", "yes", "--cluster-slots", "0-100")
	m.await(t)
	says(t, m.p, `the group has the slots "0-16383" by now; cluster-slots "0-100" applies`)
	s.until(0, "CLUSTER NODES", "0-16383")
	m.p.signal(t, syscall.SIGTERM)
	if err := m.p.wait(); err != nil {
		t.Fatal(err)
	}
	ends(t, s.run(0, "--cluster-enabled", "yes", "--cluster-group", "b").p, `cluster-group is "b"`)
	ends(t, s.run(0, "--cluster-enabled", "yes", "--cluster-secret", "another secret of tests").p, "another group: cluster-secret is not the one")
}

// A group that begins with slots that another one has does not get them, and one that begins
// at the same time gets those that are left: which is clear to all, and nothing is lost.
func TestSlotsOfTwoGroupsAreThoseOfTheOneThatHadThemFirst(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters("0-16383")
	s.ok()
	if got := s.call(0, "SET a 1"); got != "OK" {
		t.Fatal(got)
	}
	late := s.run(1, "--cluster-enabled", "yes", "--cluster-slots", "15495", "--cluster-peers", s.address(0))
	late.await(t)
	says(t, late.p, "the group cannot have the slots 15495: 15495 of the group of "+s.address(0))
	s.until(1, "GET a", "MOVED 15495 "+s.address(0))
	if got := s.call(0, "GET a"); got != "1" {
		t.Errorf("at the first group: %s", got)
	}

	// Two groups that know nothing of each other claim a slot, and meet afterwards.
	apart := newShards(t)
	apart.run(0, "--cluster-enabled", "yes", "--cluster-slots", "0-16383").await(t)
	apart.until(0, "SET a first", "OK")
	apart.run(1, "--cluster-enabled", "yes", "--cluster-slots", "15495", "--cluster-require-full-coverage", "no").await(t)
	apart.until(1, "SET a second", "OK")
	second := apart.up[1]
	second.p.signal(t, syscall.SIGTERM)
	_ = second.p.wait()
	apart.run(1, "--cluster-enabled", "yes", "--cluster-peers", apart.address(0)).await(t)
	says(t, second.p, "slots that this group claims are those of groups which have had slots for longer; 15495 of the group of ")
	apart.until(1, "GET a", "MOVED 15495 "+apart.address(0))
	if got := apart.call(0, "GET a"); got != "first" {
		t.Errorf("at the first group: %s", got)
	}
	apart.until(1, "DBSIZE", "1")
}

// What has another secret, or is no server at all, changes nothing.
func TestStrangersAreNoPartOfACluster(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters("0-16383")
	s.ok()
	before := s.call(0, "CLUSTER NODES")
	stranger := s.run(1, "--cluster-enabled", "yes", "--cluster-secret", "another secret of tests", "--cluster-peers", s.address(0))
	stranger.await(t)
	says(t, stranger.p, "another cluster, or has another secret")
	nc := dialAt(t, "tcp", "127.0.0.1:"+strconv.Itoa(s.base+10000))
	if err := nc.send("GET garbage garbage garbage"); err != nil {
		t.Fatal(err)
	}
	says(t, s.up[0].p, "is no hello of a member")
	times := regexp.MustCompile(` \d+ \d+ \d+ connected`)
	if got := s.call(0, "CLUSTER NODES"); times.ReplaceAllString(got, "") != times.ReplaceAllString(before, "") {
		t.Errorf("before:\n%s\nnow:\n%s", before, got)
	}
}

// While nothing is heard of a group no slot is served, unless that is allowed; and all are when it is back.
func TestClusterIsDownWhileAGroupIsNotHeard(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.mastersWith([]string{"--cluster-node-timeout", "2500"}, thirds...)
	s.ok()
	if got := s.call(0, "SET b 1"); got != "OK" {
		t.Fatal(got)
	}
	s.up[2].p.freeze(t)
	s.until(0, "GET b", "CLUSTERDOWN")
	if got := s.call(0, "CLUSTER NODES"); !regexp.MustCompile(s.address(2) + `@\d+ master,fail - 0 0 \d+ disconnected 10923-16383`).MatchString(got) {
		t.Errorf("CLUSTER NODES:\n%s", got)
	}
	if got := s.call(0, "CLUSTER INFO"); !strings.Contains(got, "cluster_state:fail") || !strings.Contains(got, "cluster_slots_fail:5461") {
		t.Errorf("CLUSTER INFO:\n%s", got)
	}
	if got := s.call(0, "CONFIG SET cluster-require-full-coverage no"); got != "OK" {
		t.Fatal(got)
	}
	s.until(0, "GET b", "1")
	s.until(0, "GET a", "MOVED 15495 "+s.address(2))
	s.up[2].p.signal(t, syscall.SIGCONT)
	s.ok()
	s.until(1, "CLUSTER NODES", s.address(2)+"@"+strconv.Itoa(s.base+2+10000)+" master - 0")
}

// A server joins the group of the one that it is told of, whatever the name of that is, and leads it when the
// others are lost; other groups name it then.
func TestServerJoinsAGroupOfACluster(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.mastersWith([]string{"--appendfsync", "always"}, "0-8191", "8192-16383")
	s.ok()
	for i := 2; i < 4; i++ {
		s.run(i, "--appendfsync", "always", "--cluster-enabled", "yes", "--cluster-join", s.address(1)).await(t)
	}
	for i := 2; i < 4; i++ { // together: the number of voters stays odd
		says(t, s.up[2].p, fmt.Sprintf("member %d votes from now on", i))
	}
	s.until(0, "CLUSTER NODES", s.address(3)+"@")
	if got := s.call(1, "SET a 1"); got != "OK" {
		t.Fatal(got)
	}
	if got := s.call(2, "GET b"); !strings.HasPrefix(got, "MOVED 3300 "+s.address(0)) {
		t.Errorf("at the new server: %s", got)
	}
	s.up[1].p.signal(t, syscall.SIGKILL)
	_ = s.up[1].p.wait()
	next := s.leader(0, "a")
	if got := s.call(next, "GET a"); next < 2 || got != "1" {
		t.Errorf("server %d says %s", next, got)
	}
}

// A group that begins again from an older copy of one member, under another number and address, is found by the
// other groups, although these have heard of later leaderships.
func TestGroupThatIsRecoveredIsFoundByOthers(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.mastersWith([]string{"--appendfsync", "always"}, "0-8191", "8192-16383")
	s.ok()
	if got := s.call(1, "SET a 1"); got != "OK" {
		t.Fatal(got)
	}
	lost := s.up[1]
	end := func() {
		t.Helper()
		lost.p.signal(t, syscall.SIGTERM)
		if err := lost.p.wait(); err != nil {
			t.Fatal(err)
		}
	}
	end()
	old := t.TempDir()
	if out, err := exec.Command("cp", "-r", lost.dir+"/.", old).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 3 { // each start is a leadership
		s.run(1, "--appendfsync", "always", "--cluster-enabled", "yes").await(t)
		s.until(1, "GET a", "1")
		s.until(0, "GET a", "MOVED")
		s.until(0, "CLUSTER NODES", s.address(1))
		end()
	}
	s.up = append(s.up, &member{port: s.base + 2, dir: old})
	s.run(2, "--appendfsync", "always", "--cluster-enabled", "yes", "--recover", "alone", "--cluster-announce-ip", "127.0.0.1").await(t)
	says(t, s.up[2].p, "has claimed its slots again")
	s.until(0, "GET a", "MOVED 15495 "+s.address(2))
	s.until(2, "GET a", "1")
	if got := s.call(0, "CLUSTER NODES"); strings.Contains(got, s.address(1)) {
		t.Errorf("the lost server is still named:\n%s", got)
	}
}

// twoGroups starts two groups of three, a on servers 0 to 2 and b on 3 to 5.
func twoGroups(t *testing.T, args ...string) *shardServers {
	s := newShards(t)
	for i := range 6 {
		first, name, own, other := 0, "a", "0-8191", 3
		if i >= 3 {
			first, name, own, other = 3, "b", "8192-16383", 0
		}
		members := ""
		for k := range 3 {
			members += fmt.Sprintf("%d=%s ", k+1, s.address(first+k))
		}
		s.run(i, append(args, "--cluster-members", members, "--cluster-member-id", strconv.Itoa(i-first+1), "--cluster-view", "cluster", "--cluster-group", name,
			"--cluster-slots", own, "--cluster-peers", s.address(other)+" "+s.address(other+1))...)
	}
	for i := range 6 {
		s.up[i].await(t)
	}
	s.ok()
	return s
}

// leader returns the server that a member of another group names for a key, once that takes it.
func (s *shardServers) leader(from int, key string) int {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		for i := range s.up {
			if got := s.call(from, "GET "+key); strings.HasPrefix(got, "MOVED") && strings.HasSuffix(got, s.address(i)) &&
				!strings.HasPrefix(s.call(i, "GET "+key), "MOVED") && !strings.HasPrefix(s.call(i, "GET "+key), "error") {
				return i
			}
		}
	}
	s.t.Fatalf("server %d names nobody who has %s", from, key)
	return 0
}

// When the leader of one group is killed, members of the other one name its successor, and nothing that
// was acknowledged is lost.
func TestOtherGroupsNameTheNextLeader(t *testing.T) {
	s := twoGroups(t)
	var ports []int
	for i := range 6 {
		ports = append(ports, s.base+i)
	}
	w := write(ports...)
	first := s.leader(0, "a") // of group b
	w.progress(t)
	s.up[first].p.signal(t, syscall.SIGKILL)
	_ = s.up[first].p.wait()
	if next := s.leader(0, "a"); next == first || next < 3 {
		t.Errorf("server %d leads", next)
	}
	w.progress(t)
	w.checkBy(t, func(line string) (got string, err error) {
		for i := range ports {
			if got, err = callAt(ports[i], line); err == nil && !strings.HasPrefix(got, "MOVED") {
				return got, nil
			}
		}
		return got, err
	})
}
