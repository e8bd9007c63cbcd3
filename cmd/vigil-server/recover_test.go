package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/grouplog"
)

// All machines but one are lost: the last one goes on alone, with what it has, and others join it.
// What was left behind is not let in again.
func TestLastMemberGoesOnAlone(t *testing.T) {
	g := newTrio(t, "--appendfsync", "always")
	first := g.leader()
	l := write(g.ports[first])
	l.progress(t)
	l.check(t, g.ports[first])
	g.whole()
	g.kill()
	last := (first + 1) % 3
	m := &member{port: g.ports[last], dir: g.dirs[last]}
	m.run(g, "--recover", "alone")
	says(t, m.p, fmt.Sprintf("--recover alone: member %d is member 4 now", last+1))
	m.await(t)
	for end := time.Now().Add(time.Minute); ; {
		if got, err := callAt(m.port, "SET k alone"); err == nil && got == "OK" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it takes no writes:\n%s", m.p.out)
		}
	}
	l.check(t, m.port)
	m.p.cmd.Process.Kill() // alone it needs nobody to know what it lacks
	m.p.wait()
	m.run(g)
	m.await(t)
	o := &member{port: g.ports[0] + 3, dir: t.TempDir()}
	o.run(g, "--cluster-join", "127.0.0.1:"+strconv.Itoa(m.port))
	says(t, o.p, "member 5 votes from now on")
	o.await(t)
	g.start(first)
	says(t, g.up[first], fmt.Sprintf("this server, member %d, has left the group", first+1))
	transfer(t, o.port, m.port)
	l.check(t, o.port)
}

// Members that may lack something wait, until somebody says that they may go on with what they
// have; before and afterwards that is refused.
func TestMembersThatLackSomethingVoteByCommand(t *testing.T) {
	g := newTrio(t)
	first := g.leader()
	l := write(g.ports[first])
	l.progress(t)
	l.check(t, g.ports[first])
	for i := range 3 { // what they have is on their disks then
		g.up[i].signal(t, syscall.SIGTERM)
	}
	for i := range 3 {
		if err := g.up[i].wait(); err != nil {
			t.Fatal(err)
		}
		g.start(i)
	}
	for i := range 3 {
		g.await(i)
	}
	g.whole()
	for _, i := range []int{first, (first + 1) % 3} {
		if got, err := g.call(i, "VIGIL.CLUSTER RECOVER LOSE-WRITES"); err != nil || !strings.Contains(got, "there is nothing to recover") {
			t.Errorf("a member that lacks nothing: %s, %v", got, err)
		}
	}
	g.kill()
	for i := range 3 {
		bootMachine(t, g.dirs[i])
		g.start(i)
	}
	for i := range 3 {
		g.await(i)
		says(t, g.up[i], "it does not vote before it has heard what is committed")
		says(t, g.up[i], "let them vote by VIGIL.CLUSTER RECOVER LOSE-WRITES")
	}
	for n, i := range []int{first, (first + 1) % 3} {
		for end := time.Now().Add(time.Minute); ; { // a while must have passed without a leader
			got, err := g.call(i, "VIGIL.CLUSTER RECOVER LOSE-WRITES")
			if err == nil && strings.HasPrefix(got, "OK this member votes again, with entries up to ") {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("RECOVER: %s, %v", got, err)
			}
		}
		says(t, g.up[i], "votes again by VIGIL.CLUSTER RECOVER")
		if n == 0 {
			if got, err := g.call(i, "SET k v"); err != nil || !strings.HasPrefix(got, "CLUSTERDOWN") {
				t.Errorf("one member of three votes: %s, %v", got, err)
			}
		}
	}
	l.check(t, g.ports[g.leader()])
}

// nobody is an engine of consensus that takes nothing.
type nobody struct{}

func (nobody) Propose(uint64, []byte) error { return errors.New("nobody is there") }

// bootMachine makes the store of a member look like one whose machine has failed and was booted: the log was last written before that.
func bootMachine(t *testing.T, dir string) {
	t.Helper()
	s, err := persistence.Open(persistence.Options{Dir: dir, Databases: 16, Replicator: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Member().Log().SetBoot(grouplog.Boot{ID: [16]byte{1}}), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// A group whose processes are all killed goes on by itself, with everything that was acknowledged, under every policy.
func TestGroupThatIsKilledWholeLosesNothing(t *testing.T) {
	for _, policy := range []string{"everysec", "no"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			g := newTrio(t, "--appendfsync", policy)
			for range 3 {
				l := write(g.ports[g.leader()])
				l.progress(t)
				g.kill()
				for i := range 3 {
					g.start(i)
				}
				for i := range 3 {
					g.await(i)
				}
				l.check(t, g.ports[g.leader()])
			}
		})
	}
}

// A change of the leader is in the log of every member, by the name that clients see of it.
func TestEveryMemberLogsWhoLeads(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-view", "cluster")
	first := g.leader()
	id, err := g.call(first, "CLUSTER MYID")
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("member %d at 127.0.0.1:%d (%s) leads the group from now on", first+1, g.ports[first], id)
	for i := range 3 {
		if i == first {
			says(t, g.up[i], "This member leads the group from now on")
		} else {
			says(t, g.up[i], line)
		}
	}
	g.up[first].signal(t, syscall.SIGKILL)
	g.up[first].wait()
	second := g.leader()
	rest := 3 - first - second
	if id, err = g.call(second, "CLUSTER MYID"); err != nil {
		t.Fatal(err)
	}
	says(t, g.up[rest], fmt.Sprintf("member %d at 127.0.0.1:%d (%s) leads the group from now on", second+1, g.ports[second], id))
	g.up[second].signal(t, syscall.SIGKILL)
	g.up[second].wait()
	says(t, g.up[rest], fmt.Sprintf("member %d at 127.0.0.1:%d (%s) does not lead the group any more", second+1, g.ports[second], id))
	says(t, g.up[rest], "no leader is known for ")
}
