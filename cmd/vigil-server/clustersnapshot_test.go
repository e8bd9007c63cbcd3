package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vigildb/vigil/structures/slots"
)

// snapshotPart is a part of a cluster snapshot as VIGIL.CLUSTER SNAPSHOT tells of it.
type snapshotPart struct{ address, slots, dir string }

var partShown = regexp.MustCompile(`address (\S+) group [0-9a-f]{40} slots ([0-9 -]*) directory (\S+) bytes (\d+)`)

// snapshot asks server i for a snapshot of the cluster.
func (s *shardServers) snapshot(i int, name string) (parts []snapshotPart) {
	s.t.Helper()
	got := s.until(i, "VIGIL.CLUSTER SNAPSHOT CREATE "+name, "[name "+name+" id ")
	if !strings.Contains(got, " complete 1 ") {
		s.t.Errorf("the snapshot is not complete: %s", got)
	}
	s.t.Log(got)
	all, n := new(slots.Set), 0
	for _, m := range partShown.FindAllStringSubmatch(got, -1) {
		of, err := slots.Parse(m[2])
		if err != nil {
			s.t.Fatal(err)
		}
		all, n = all.Union(of), n+of.Len()
		parts = append(parts, snapshotPart{m[1], m[2], m[3]})
	}
	if all.Len() != slots.Count || n != slots.Count {
		s.t.Errorf("the parts have %d slots, and %d of them once: %s", n, all.Len(), got)
	}
	slices.SortFunc(parts, func(a, b snapshotPart) int { return strings.Compare(a.address, b.address) })
	return parts
}

// restoreAll starts a server from each part, all of which name each other, and waits until they have all slots.
func restoreAll(t *testing.T, parts []snapshotPart, args ...string) *shardServers {
	t.Helper()
	s := newShards(t)
	peers := s.addresses(len(parts))
	for i, p := range parts {
		s.run(i, append([]string{"--restore", p.dir, "--cluster-enabled", "yes", "--cluster-peers", peers}, args...)...)
	}
	for i := range parts {
		s.up[i].await(t)
	}
	s.ok()
	return s
}

// addresses are those of the first n servers.
func (s *shardServers) addresses(n int) string {
	var all []string
	for i := range n {
		all = append(all, s.address(i))
	}
	return strings.Join(all, " ")
}

// known are the numbers that were acknowledged and sent by now.
func (c *counters) known() map[string]counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]counted{}
	for key, n := range c.keys {
		all[key] = *n
	}
	return all
}

// holds checks that a cluster has what was acknowledged before its snapshot was begun, and nothing that was sent after it was made.
func (s *shardServers) holds(before, after map[string]counted) {
	s.t.Helper()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		got := s.read(key)
		if n, err := strconv.ParseInt(got, 10, 64); err != nil || n < before[key].reply || n > after[key].sent {
			s.t.Errorf("%s is %s: %d was acknowledged before the snapshot, and %d were sent until its end", key, got, before[key].reply, after[key].sent)
		}
	}
}

// killAll ends all servers at once.
func (s *shardServers) killAll() {
	for _, m := range s.up {
		m.p.cmd.Process.Kill()
	}
	for _, m := range s.up {
		_ = m.p.wait()
	}
}

// fill writes something of each kind to server i, in a slot of its own, and a user.
func (s *shardServers) fill(i int, tag string) {
	s.t.Helper()
	for _, line := range []string{"RPUSH {%s}list 1 2 3", "HSET {%s}hash f v", "ZADD {%s}zset 1 x 2 y", "XADD {%s}stream 1-1 f v", "SET {%s}string x EX 100000",
		"SCHED.CREATE {%s}sched POLICY index", "SCHED.ADD {%s}sched n RATE 1", "PLACE.CREATE {%s}place", "PLACE.SET {%s}place u 1", "ACL SETUSER user-%s on >x ~* +@all"} {
		if got := s.call(i, fmt.Sprintf(line, tag)); strings.Contains(got, " ") {
			s.t.Fatalf("%s: %s", line, got)
		}
	}
	c := dialAt(s.t, "tcp", s.up[i].p.addr)
	const library = "#!lua name=lib\nredis.register_function('f', function() return 'called' end)"
	if got := c.do(s.t, fmt.Sprintf("*3\r\n$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n$%d\r\n%s", len(library), library)); got != "lib" {
		s.t.Fatalf("FUNCTION LOAD: %s", got)
	}
}

const filled = 7 // keys of fill

// shows returns what server i has of that.
func (s *shardServers) shows(i int, tag string) (text string) {
	for _, line := range []string{"LRANGE {%s}list 0 -1", "HGETALL {%s}hash", "ZRANGE {%s}zset 0 -1 WITHSCORES", "XRANGE {%s}stream - +", "GET {%s}string", "PEXPIRETIME {%s}string",
		"SCHED.INFO {%s}sched", "PLACE.LOCATE {%s}place k", "AUTH user-%s x", "FCALL f 1 {%s}x"} {
		line = fmt.Sprintf(line, tag)
		text += line + ": " + s.call(i, line) + "\n"
	}
	return text
}

// showsAll returns what the servers have of what fill made, by tags, but for keys that have moved: users and libraries stay where they are.
func (s *shardServers) showsAll(tags []string) map[string]string {
	all := map[string]string{}
	for _, tag := range tags {
		for k := range s.up {
			if text := s.shows(k, tag); strings.Contains(text, "AUTH user-"+tag+" x: OK") && strings.Contains(text, ": called") {
				all[tag] = text
			}
		}
	}
	return all
}

// isLikeOthers checks that a restored cluster can do what others can: its snapshots, and starts without --restore. That redis-cli --cluster check finds it whole,
// tools_test.go tells.
func (s *shardServers) isLikeOthers() {
	s.t.Helper()
	s.until(0, "VIGIL.CLUSTER SNAPSHOT CREATE later", " complete 1 ") // it is a cluster like others
	for i := range s.up {                                             // and its servers start like others
		s.up[i].p.signal(s.t, syscall.SIGKILL)
		_ = s.up[i].p.wait()
		s.run(i, "--cluster-enabled", "yes").await(s.t)
	}
	s.ok()
}

// A snapshot of three groups that is made while slots move to a fourth one, and clients write, has every slot once and all that was
// acknowledged before. Restored beside the living cluster, with the same secret, it is a cluster of its own: neither of the two knows
// the other one. So it is when the original is gone, with keys of all kinds, users and libraries.
func TestClusterIsRestoredFromItsSnapshot(t *testing.T) {
	s := newShards(t)
	s.mastersWith([]string{"--appendfsync", "always"}, thirds...)
	s.run(3, "--cluster-enabled", "yes", "--appendfsync", "always").await(t)
	s.until(3, "CLUSTER MEET 127.0.0.1 "+strconv.Itoa(s.base), "OK")
	s.ok()
	tags := []string{"b", "c", "a"}
	for i, tag := range tags {
		s.fill(i, tag)
	}
	w := count(t, 4, s.base, s.base+1, s.base+2)
	w.progress(1000)
	s.until(0, "VIGIL.CLUSTER REBALANCE", "[")
	before := w.known()
	parts := s.snapshot(0, "monday")
	after := w.known()
	w.progress(500)
	if got := s.call(1, "VIGIL.CLUSTER SNAPSHOT LIST"); !strings.Contains(got, "[name monday ") || !strings.Contains(got, " complete 1 ") || strings.Contains(got, "complete 0") {
		t.Errorf("LIST: %s", got)
	}
	nodes := len(strings.Split(s.call(0, "CLUSTER NODES"), "\n"))
	clone := restoreAll(t, parts, "--appendfsync", "always")
	clone.holds(before, after)
	clone.agree(len(parts), 4*counterKeys+filled*len(tags))
	w.progress(500)
	if got := len(strings.Split(s.call(0, "CLUSTER NODES"), "\n")); got != nodes {
		t.Errorf("the living cluster knows of another one:\n%s", s.call(0, "CLUSTER NODES"))
	}
	for i := range clone.up {
		if got := clone.call(i, "CLUSTER NODES"); strings.Contains(got, s.address(0)) || len(strings.Split(strings.TrimSpace(got), "\n")) != len(parts) {
			t.Errorf("the restored cluster knows of the living one:\n%s", got)
		}
	}
	want := s.showsAll(tags)
	if len(want) == 0 {
		t.Error("no slot with all kinds of keys has stayed")
	}
	w.check(s)
	s.killAll()
	clone.killAll()
	again := restoreAll(t, parts)
	for tag, text := range want {
		found := false
		for i := range again.up {
			got := again.shows(i, tag)
			found = found || got == text
		}
		if !found {
			t.Errorf("want\n%sgot\n%s\n%s", text, again.shows(0, tag), again.shows(1, tag))
		}
	}
	again.holds(before, after)
	again.isLikeOthers()
	again.holds(before, after)
}

// Leaders that are killed meanwhile make a snapshot later or fail: one that is made has all that was acknowledged before, and is
// complete. A group of three is restored at one server, which others join.
func TestClusterSnapshotSurvivesKilledLeaders(t *testing.T) {
	s := twoGroups(t, "--appendfsync", "always")
	var ports []int
	for i := range 6 {
		ports = append(ports, s.base+i)
	}
	w := count(t, 4, ports...)
	w.progress(500)
	asked, killed := s.leader(3, "b"), s.leader(0, "a")
	for round := range 2 {
		before := w.known()
		s.up[killed].p.signal(t, syscall.SIGKILL)
		_ = s.up[killed].p.wait()
		name := fmt.Sprintf("round-%d", round)
		parts := s.snapshot(asked, name)
		after := w.known()
		s.run(killed, "--appendfsync", "always", "--cluster-view", "cluster").await(t)
		killed = s.leader(asked, "a")
		if round == 0 {
			continue
		}
		w.check(s)
		s.killAll()
		again := restoreAll(t, parts, "--appendfsync", "always")
		again.holds(before, after)
		for i := range 2 {
			again.run(2+i, "--cluster-enabled", "yes", "--appendfsync", "always", "--cluster-join", again.address(0)).await(t)
		}
		for id := range 2 { // the former members were 1 to 3
			says(t, again.up[2].p, fmt.Sprintf("member %d votes from now on", 5+id))
		}
		again.up[0].p.signal(t, syscall.SIGKILL)
		_ = again.up[0].p.wait()
		again.up = again.up[1:]
		again.base++
		again.holds(before, after)
	}
}

// Of those that have a snapshot with one name made at the same time one at most gets it, and the others are told why not.
func TestClusterSnapshotsWithOneNameAreNotMixed(t *testing.T) {
	s := newShards(t)
	s.masters(thirds...)
	for round := range 5 {
		line := fmt.Sprintf("VIGIL.CLUSTER SNAPSHOT CREATE round-%d", round)
		replies := make([]string, len(thirds))
		var asked sync.WaitGroup
		for i := range replies {
			asked.Go(func() { replies[i] = s.call(i, line) })
		}
		asked.Wait()
		made := 0
		for _, got := range replies {
			if strings.Contains(got, " complete 1 ") {
				made++
			} else if !strings.HasPrefix(got, "ERR no snapshot of the cluster is made: ") || !strings.Contains(got, "a snapshot with this name exists") {
				t.Errorf("%s: %s", line, got)
			}
		}
		got := s.call(0, "VIGIL.CLUSTER SNAPSHOT LIST")
		if shown := strings.Count(got, fmt.Sprintf("name round-%d ", round)); made > 1 || shown != made || strings.Contains(got, " complete 0 ") {
			t.Errorf("%d were made of %q, and there is: %s", made, replies, got)
		}
	}
}

// A server that is given what it cannot begin with, or what is damaged, does not start, and says why.
func TestMistakesOfRestoresAreNamed(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	parts, others := s.snapshot(0, "monday"), s.snapshot(1, "tuesday")
	s.want(0, "VIGIL.CLUSTER SNAPSHOT CREATE monday", "ERR no snapshot of the cluster is made: the group ")
	s.want(0, "VIGIL.CLUSTER SNAPSHOT CREATE ../x", "ERR invalid snapshot name")
	s.want(0, "VIGIL.SNAPSHOT CREATE own", "own")
	own := filepath.Join(s.up[0].dir, "snapshots", "own")
	started := func(dir string, args ...string) *process {
		m := &member{dir: t.TempDir()}
		return startCommand(t, exec.Command(binary, append([]string{"--restore", dir, "--dir", m.dir, "--port", strconv.Itoa(s.base + 8)}, args...)...))
	}
	secret := []string{"--cluster-secret", testSecret, "--cluster-enabled", "yes"}
	ends(t, started(own, secret...), "start once with --recover alone")
	ends(t, started(own, append(secret, "--recover", "alone")...), "the group that the snapshot is of has a leader, as "+s.address(0)+" says")
	ends(t, started(parts[0].dir, append(secret, "--cluster-group", "x")...), "from which a new group begins: give cluster-enabled yes")
	ends(t, started(parts[0].dir, "--cluster-secret", "another secret of tests", "--cluster-enabled", "yes"), "cluster-secret")
	ends(t, started(parts[0].dir), "the store is a member of a group")
	alone := launch(t, "--dir", t.TempDir())
	if got := dial(t, alone).do(t, "VIGIL.CLUSTER SNAPSHOT CREATE"); got != "ERR This server is not a member of a group" {
		t.Errorf("a server that is alone: %s", got)
	}
	if got := dial(t, alone).do(t, "VIGIL.SNAPSHOT CREATE single"); got != "single" {
		t.Fatal(got)
	}
	ends(t, started(filepath.Join(alone.cmd.Args[2], "snapshots", "single"), secret...), "the store is alone, and cannot be opened as a member of a group")

	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, startCommand(t, exec.Command(binary, append([]string{"--restore", parts[0].dir, "--dir", full}, secret...)...)), "the directory is not empty")
	note := filepath.Join(others[1].dir, "ORIGIN")
	b, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(note, b, 0o600); err != nil {
		t.Fatal(err)
	}
	ends(t, started(others[1].dir, secret...), "the snapshot is damaged")
}

// Groups that are restored from what does not belong together have no slots, and say why; a part that is missing is named, and the
// cluster has the other slots.
func TestRestoredGroupsBelongTogether(t *testing.T) {
	t.Parallel()
	s := newShards(t)
	s.masters(thirds...)
	s.ok()
	for i, key := range []string{"b", "c", "a"} {
		s.want(i, "SET "+key+" "+key, "OK")
	}
	parts, others := s.snapshot(0, "monday"), s.snapshot(1, "tuesday")
	clone := newShards(t)
	peers := clone.addresses(3)
	begin := func(i int, p snapshotPart, peers string, args ...string) *process {
		t.Helper()
		m := clone.run(i, append([]string{"--restore", p.dir, "--cluster-enabled", "yes", "--cluster-peers", peers, "--cluster-require-full-coverage", "no"}, args...)...)
		m.await(t)
		return m.p
	}
	first := begin(0, parts[0], peers)
	says(t, begin(1, others[2], peers), "is restored from another cluster snapshot: monday")
	says(t, first, "is restored from another cluster snapshot: tuesday")
	says(t, begin(2, parts[0], peers), "is restored from the same part of the cluster snapshot monday as this group")
	clone.want(0, "GET b", "CLUSTERDOWN") // nobody has slots before it is known what they are of
	living := begin(3, parts[1], s.address(0))
	says(t, living, "is not restored from a part of the cluster snapshot monday")
	if got := s.call(0, "CLUSTER NODES"); strings.Contains(got, clone.address(3)) {
		t.Errorf("the living cluster knows a server that was restored:\n%s", got)
	}
	clone.killAll()
	less := newShards(t)
	clone, peers = less, less.addresses(2)
	first = begin(0, parts[0], peers)
	begin(1, parts[2], peers)
	says(t, first, "no server of cluster-peers is restored from the parts of the cluster snapshot monday with the slots 5461-10922")
	less.until(0, "GET b", "b")
	less.until(1, "GET a", "a")
	less.want(0, "GET c", "CLUSTERDOWN Hash slot not served")
	begin(2, parts[1], peers) // which is found later
	less.until(2, "GET c", "c")
	less.until(0, "GET c", "MOVED 7365 "+less.address(2))
}
