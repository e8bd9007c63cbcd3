package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// set sets a key, at server at if that still leads: on a busy machine this changes. It returns which one does.
func (g *trio) set(at int, key, value string) int {
	g.t.Helper()
	got, err := "", error(nil)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); at = g.leader() {
		if got, err = g.call(at, "SET "+key+" "+value); err == nil && got == "OK" {
			return at
		}
	}
	g.t.Fatalf("SET %s: %s, %v", key, got, err)
	return 0
}

// A member that was away for longer than the logs of the others go back gets all data anew,
// although it is killed again and again while they come.
func TestMemberOfAGroupThatWasAwayForLongGetsTheState(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-log-bound", "1mb", "--maxmemory", "16mb") // so that values go to disk, and the log is cut
	at := g.leader()
	away := (at + 1) % 3
	g.up[away].cmd.Process.Kill()
	g.up[away].wait()
	const values = 800
	value := strings.Repeat("v", 60_000)
	for i := range values {
		at = g.set(at, fmt.Sprint("k", i), fmt.Sprint(value, i))
	}
	arrives := func() bool {
		states, _ := filepath.Glob(filepath.Join(g.dirs[away], "*", "incoming", "*"))
		more, _ := filepath.Glob(filepath.Join(g.dirs[away], "incoming", "*"))
		return len(states)+len(more) > 0
	}
	for range 3 {
		g.start(away)
		g.await(away)
		for end := time.Now().Add(time.Minute); !arrives(); {
			if time.Now().After(end) {
				t.Fatalf("no state comes:\n%s", g.up[away].out)
			}
		}
		g.up[away].cmd.Process.Kill()
		g.up[away].wait()
	}
	g.start(away)
	g.await(away)
	g.whole()
	c := dial(t, g.up[away])
	if got := c.do(t, "READONLY"); got != "OK" {
		t.Fatal(got)
	}
	for i := range values {
		if got, want := c.do(t, fmt.Sprintf("GET k%d", i)), fmt.Sprint(value, i); got != want {
			t.Fatalf("k%d has %d bytes, of %d", i, len(got), len(want))
		}
	}
	if left, err := os.ReadDir(filepath.Join(g.dirs[away], "incoming")); err == nil && len(left) > 0 {
		t.Errorf("%d states are left", len(left))
	}
}
