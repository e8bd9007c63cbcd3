package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// olderServer is the environment variable that names a server of an older version, in place of one that acts so.
const olderServer = "VIGIL_OLDER_SERVER"

// older returns a server of the version before the newest level.
func older(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(olderServer); path != "" {
		return path
	}
	path, err := buildOlder()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildOlder = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(binary), "vigil-server-older") // which TestMain removes
	if out, err := exec.Command("go", "build", "-ldflags", "-X github.com/vigildb/vigil/persistence.previous=yes", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// level is a text about the newest level, and the one before it.
func level(format string) string {
	return strings.NewReplacer("NEW", fmt.Sprint(persistence.NewestLevel()), "OLD", fmt.Sprint(persistence.NewestLevel()-1)).Replace(format)
}

// status waits until STATUS of a server has a text so often.
func (g *trio) status(i int, text string, times int) {
	g.t.Helper()
	got, err := "", error(nil)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got, err = g.call(i, "VIGIL.CLUSTER STATUS"); err == nil && strings.Count(got, text) == times {
			return
		}
	}
	g.t.Fatalf("STATUS of server %d: %s, %v; want %d times %q", i, got, err, times, text)
}

// upgrade asks the leader for a change of the level until it is taken, and returns the reply and which server it was.
func (g *trio) upgrade(call, want string) (leader int) {
	g.t.Helper()
	got, err := "", error(nil)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		leader = g.leader()
		if got, err = g.call(leader, "VIGIL.CLUSTER "+call); err == nil && strings.Contains(got, want) {
			return leader
		}
	}
	g.t.Fatalf("%s: %s, %v; want %s", call, got, err, want)
	return 0
}

// Servers are replaced by a newer version one after the other while clients write, and the group keeps its level until it is asked to raise it.
// From then on the older version neither starts nor joins, and nothing is lost by that.
func TestGroupIsUpgradedOneServerAfterTheOther(t *testing.T) {
	t.Parallel()
	old := older(t)
	g := newTrioOf(t, old, "--cluster-view", "cluster")
	g.newer = []string{"--cluster-databases", "2"}
	g.leader()
	l := write(g.ports[:]...)
	const newest = "SELECT 1" // a call that needs the newest level
	for i := range 3 {
		l.progress(t)
		g.up[i].signal(t, syscall.SIGTERM)
		if err := g.up[i].wait(); err != nil {
			t.Fatalf("server %d: %v\n%s", i, err, g.up[i].out)
		}
		g.program[i] = binary
		g.start(i)
		g.await(i)
		g.whole()
		if i == 0 {
			transfer(t, g.ports[0], g.ports[:]...)
			g.upgrade("UPGRADE", level("knows levels up to OLD, and others level NEW"))
		}
		if got, err := g.call(g.leader(), newest); err == nil && !strings.HasPrefix(got, "ERR ") {
			t.Errorf("with %d of 3 servers upgraded, and before UPGRADE: %s has %s", i+1, newest, got)
		}
	}
	at := g.upgrade("UPGRADE DRYRUN", level("OK the group would have level NEW in place of OLD"))
	g.status(at, level(" level OLD "), 1)
	g.status(at, level("newest-level NEW "), 3)
	l.progress(t)
	g.upgrade("UPGRADE", level("OK the group has level NEW"))
	at = g.upgrade("UPGRADE", "nothing is to be done")
	for i := range 3 {
		g.status(i, level(" level NEW "), 1)
	}
	if got, err := g.call(g.leader(), newest); err != nil || strings.HasPrefix(got, "ERR ") {
		t.Errorf("after UPGRADE: %s has %s, %v", newest, got, err)
	}
	l.progress(t)

	follower := (at + 1) % 3
	g.up[follower].signal(t, syscall.SIGTERM)
	if err := g.up[follower].wait(); err != nil {
		t.Fatal(err)
	}
	g.program[follower] = old
	g.start(follower)
	if text := level("level NEW, and the server knows levels up to OLD"); os.Getenv(olderServer) == "" {
		ends(t, g.up[follower], text)
	} else if err := g.up[follower].wait(); err == nil {
		t.Errorf("the older version ends as if all were well:\n%s", g.up[follower].out)
	}
	t.Logf("the older version says:\n%s", g.up[follower].out)
	joins := &member{port: g.ports[0] + 3, dir: t.TempDir(), program: old}
	joins.run(g, "--cluster-join", fmt.Sprintf("127.0.0.1:%d", g.ports[at]))
	ends(t, joins.p, level("the group has level NEW, and the server knows levels up to OLD"))
	g.program[follower] = binary
	g.start(follower)
	g.await(follower)
	g.whole()
	l.progress(t)
	l.check(t, g.ports[g.leader()])
}

// A new group, whatever the number of its founders, has the newest level at once, and one with a founder of an older version has not.
func TestNewGroupHasTheNewestLevel(t *testing.T) {
	t.Parallel()
	g := newTrio(t)
	g.upgrade("UPGRADE", level("OK the group has level NEW, the newest that its members know: nothing is to be done"))
	s := newShards(t)
	s.empty(1)
	s.want(0, "VIGIL.CLUSTER UPGRADE DRYRUN", level("OK the group has level NEW, the newest that its members know: nothing is to be done"))
}
