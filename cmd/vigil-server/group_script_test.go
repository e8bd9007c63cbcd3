package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	toKill  = regexp.MustCompile(`kill -9 (\d+)   # server (\d), port (\d+)(, which leads)?`)
	leading = regexp.MustCompile(`redis-cli -p (\d+) GET session:42`)
)

// makeGroup runs what `make group` runs, on ports that are free, with servers that
// are started again after a second. It returns the lines that say what to kill.
func makeGroup(t *testing.T, view, groups string) (p *process, lines [][]string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	p = startCommand(t, exec.Command(bash, "../../.ci/group", binary, strconv.Itoa(freePorts(t)), t.TempDir(), view, groups, "1"))
	go func() {
		for range p.ready { // three servers are; ends with the output
		}
	}()
	t.Cleanup(func() { // the servers end with it, unless it is killed
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err == nil {
			p.wait()
		}
	})
	if !p.out.wait("# server 3,") {
		t.Fatalf("make group does not say what to kill:\n%s", p.out)
	}
	return p, toKill.FindAllStringSubmatch(p.out.String(), -1)
}

// kill does what a line of make group says.
func kill(t *testing.T, line []string) {
	t.Helper()
	pid, err := strconv.Atoi(line[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestMakeGroupShowsWhatHappensWhenItsLeaderIsKilled(t *testing.T) {
	for _, view := range []string{"", "cluster"} {
		t.Run("view="+view, func(t *testing.T) {
			p, lines := makeGroup(t, view, "")
			var leader []string
			for _, line := range lines {
				if line[4] != "" {
					leader = line
				}
			}
			if leader == nil {
				t.Fatalf("make group does not say which server leads:\n%s", p.out)
			}
			c := dialAt(t, "tcp", "127.0.0.1:"+leader[3])
			for late := time.Now().Add(time.Minute); ; { // clients of a cluster wait until all its slots have a master
				got := c.do(t, "SET k v")
				if got == "OK" {
					break
				}
				if !strings.HasPrefix(got, "CLUSTERDOWN") || time.Now().After(late) {
					t.Fatalf("SET at the server that leads: got %q", got)
				}
			}
			kill(t, leader)
			if !p.out.wait("Server "+leader[2]+" on port "+leader[3]+" has ended. Server ") || !p.out.wait(" GET session:42") {
				t.Fatalf("make group does not say who leads now:\n%s", p.out)
			}
			next := leading.FindStringSubmatch(p.out.String())
			if next[1] == leader[3] {
				t.Errorf("make group says that the killed server leads:\n%s", p.out)
			}
			if got := dialAt(t, "tcp", "127.0.0.1:"+next[1]).do(t, "GET k"); got != "v" && !strings.HasPrefix(got, "CLUSTERDOWN") {
				t.Errorf("GET at the server that leads now: got %q, want what was acknowledged", got)
			}
			if !p.out.wait("Server " + leader[2] + " runs again.") {
				t.Errorf("make group does not start the server again:\n%s", p.out)
			}
			p.signal(t, syscall.SIGTERM)
			if err := p.wait(); err != nil {
				t.Errorf("make group ends with %v:\n%s", err, p.out)
			}
		})
	}
}

func TestMakeGroupOfSeveralGroupsSaysWhichSlotsAreAway(t *testing.T) {
	p, lines := makeGroup(t, "cluster", "3")
	if len(lines) != 3 || strings.Contains(p.out.String(), "which leads") {
		t.Fatalf("make group GROUPS=3: want three lines that say what to kill, and none that leads all:\n%s", p.out)
	}
	kill(t, lines[1])
	if !p.out.wait("Nobody has its slots 5461-10921") || !p.out.wait("Server 2 runs again.") {
		t.Errorf("make group GROUPS=3 does not show what happens:\n%s", p.out)
	}
}
