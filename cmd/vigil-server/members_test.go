package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const testSecret = "a secret of the tests"

// member is a server that joins a group, or has joined it.
type member struct {
	port    int
	dir     string
	program string // "" for binary
	p       *process
}

// joiner starts server i, from 3 on, with a directory of its own, and waits until it is ready.
func (g *trio) joiner(i int, args ...string) *member {
	g.t.Helper()
	m := &member{port: g.ports[0] + i, dir: g.t.TempDir()}
	m.run(g, append([]string{"--cluster-join", fmt.Sprintf("127.0.0.1:%d 127.0.0.1:%d 127.0.0.1:%d", g.ports[0], g.ports[1], g.ports[2])}, args...)...)
	m.await(g.t)
	return m
}

// outlive kills all servers of the group but this one, which continues alone.
func (m *member) outlive(g *trio) {
	g.t.Helper()
	m.p.cmd.Process.Kill()
	m.p.wait()
	g.kill()
	m.run(g, "--recover", "alone")
	m.await(g.t)
}

// run starts the server, which knows of the group what its directory says, and what args say.
func (m *member) run(g *trio, args ...string) {
	args = append([]string{"--dir", m.dir, "--port", strconv.Itoa(m.port), "--cluster-secret", testSecret}, append(g.extra(), args...)...)
	m.p = startCommand(g.t, exec.Command(cmp.Or(m.program, binary), args...))
}

// extra are the arguments of the group but for its members and its secret.
func (g *trio) extra() []string { return g.args[4:] }

func (m *member) await(t *testing.T) {
	t.Helper()
	select {
	case m.p.addr = <-m.p.ready:
		if m.p.addr == "" {
			t.Fatalf("the server ended before it was ready:\n%s", m.p.out)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the server is not ready:\n%s", m.p.out)
	}
}

// says waits for a text in the log of a server.
func says(t *testing.T, p *process, text string) {
	t.Helper()
	if !p.out.wait(text) {
		t.Fatalf("the log has no %q:\n%s", text, p.out)
	}
}

// ends waits for the end of a server, and for a text in its log. It must have failed.
func ends(t *testing.T, p *process, text string) {
	t.Helper()
	says(t, p, text)
	if err := p.wait(); err == nil {
		t.Errorf("it ended as if all were well:\n%s", p.out)
	}
}

// writers are clients that count upwards in keys of their own, at whichever server takes it.
type writers struct {
	stop    atomic.Bool
	clients sync.WaitGroup
	acked   [4]atomic.Int64
	asked   [4]int64
	failed  atomic.Int64 // calls without OK
	acks    chan int     // which of them has written, while that is waited for
}

// write writes at some ports with several clients until check.
func write(ports ...int) *writers {
	l := &writers{acks: make(chan int, 1)}
	for k := range l.acked {
		l.clients.Go(func() { l.count(k, ports) })
	}
	return l
}

func (l *writers) count(k int, ports []int) {
	var c *client
	for i := 0; !l.stop.Load(); {
		if c == nil {
			nc, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(ports[i%len(ports)]), time.Second)
			if err != nil {
				i++
				continue
			}
			c = newClient(nc)
		}
		l.asked[k] = l.acked[k].Load() + 1
		err := c.send(fmt.Sprintf("SET client:%d %d", k, l.asked[k]))
		got := ""
		if err == nil {
			got, err = c.reply()
		}
		if err == nil && got == "OK" {
			l.acked[k].Add(1)
			select {
			case l.acks <- k:
			default: // nobody waits
			}
			continue
		}
		l.failed.Add(1)
		c.nc.Close()
		c = nil
		i++
	}
	if c != nil {
		c.nc.Close()
	}
}

// progress waits until each client has written some more.
func (l *writers) progress(t *testing.T) {
	t.Helper()
	var before [4]int64
	for k := range l.acked {
		before[k] = l.acked[k].Load()
	}
	late := time.After(time.Minute)
	for k := range l.acked {
		for l.acked[k].Load() < before[k]+20 {
			select {
			case <-l.acks:
			case <-late:
				t.Fatalf("client %d does not get on", k)
			}
		}
	}
}

// check ends the clients and reads at a server what they wrote.
func (l *writers) check(t *testing.T, port int) {
	t.Helper()
	l.checkBy(t, func(line string) (string, error) { return callAt(port, line) })
}

// checkBy is check with a call of the test's.
func (l *writers) checkBy(t *testing.T, call func(line string) (string, error)) {
	t.Helper()
	l.stop.Store(true)
	l.clients.Wait()
	for k := range l.acked {
		got, err := call(fmt.Sprintf("GET client:%d", k))
		n, _ := strconv.ParseInt(got, 10, 64)
		if acked := l.acked[k].Load(); err != nil || n < acked || n > l.asked[k] || acked == 0 {
			t.Errorf("client %d: %s, %v; %d were acknowledged, of %d", k, got, err, acked, l.asked[k])
		}
	}
}

// transfer transfers leadership to a member, and waits until it leads.
func transfer(t *testing.T, to int, ports ...int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if got, err := callAt(to, "SET leader "+strconv.Itoa(to)); err == nil && got == "OK" {
			return
		}
		for _, port := range ports {
			_, _ = callAt(port, "VIGIL.CLUSTER TRANSFER 127.0.0.1:"+strconv.Itoa(to))
		}
	}
	t.Fatalf("the server at %d does not lead", to)
}

// A server joins by one command while clients write, which notice nothing, and has everything: it can
// lead. It starts again with nothing but its directory and the secret.
func TestServerJoinsUnderLoad(t *testing.T) {
	g := newTrio(t, "--cluster-election-timeout", "2000", "--cluster-log-bound", "1mb")
	first := g.leader()
	if got, err := g.call(first, fmt.Sprintf("SETRANGE early %d x", 3<<20-1)); err != nil || got != strconv.Itoa(3<<20) {
		t.Fatalf("%s, %v", got, err)
	}
	l := write(g.ports[first])
	l.progress(t)
	m := g.joiner(3)
	says(t, m.p, "member 4 votes from now on")
	l.progress(t)
	if n := l.failed.Load(); n > 0 {
		t.Errorf("%d calls failed while a server joined", n)
	}
	m.p.signal(t, syscall.SIGTERM)
	if err := m.p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, m.p.out)
	}
	m.run(g)
	m.await(t)
	l.progress(t)
	transfer(t, m.port, g.ports[:]...)
	l.check(t, m.port)
	if got, err := callAt(m.port, "STRLEN early"); err != nil || got != strconv.Itoa(3<<20) {
		t.Errorf("what was there before: %s, %v", got, err)
	}
}

// A member that is lost for good is replaced while clients write, without one error: the others lead
// and agree. When it comes back it is told, and tells its clients.
func TestLostMemberIsReplacedUnderLoad(t *testing.T) {
	g := newTrio(t)
	first := g.leader()
	lost := (first + 1) % 3
	l := write(g.ports[first])
	l.progress(t)
	g.up[lost].cmd.Process.Kill()
	g.up[lost].wait()
	l.progress(t)
	m := g.joiner(3, "--cluster-replaces", strconv.Itoa(lost+1))
	says(t, m.p, fmt.Sprintf("member %d has left the group", lost+1))
	l.progress(t)
	if n := l.failed.Load(); n > 0 && strings.Count(g.up[first].out.String(), "has ceased to lead") == 0 {
		t.Errorf("%d calls failed although the leader led all the time", n)
	}
	g.start(lost)
	says(t, g.up[lost], fmt.Sprintf("this server, member %d, has left the group", lost+1))
	g.await(lost)
	for _, call := range []string{"GET leader", "SET leader 9"} {
		if got, err := g.call(lost, call); err != nil || got != "CLUSTERDOWN This server has left its group" {
			t.Errorf("%s at the one that was replaced: %s, %v", call, got, err)
		}
	}
	transfer(t, m.port, g.ports[:]...)
	l.check(t, m.port)
	// The number is used up: neither does a new directory get it.
	again := &member{port: g.ports[0] + 4, dir: t.TempDir()}
	again.run(g, "--cluster-join", "127.0.0.1:"+strconv.Itoa(m.port), "--cluster-member-id", strconv.Itoa(lost+1))
	ends(t, again.p, fmt.Sprintf("member %d has left the group", lost+1))
}

// A leader leaves while clients write: another one leads, and the server that has left says so,
// also after it has started again.
func TestLeaderLeaves(t *testing.T) {
	g := newTrio(t)
	first := g.leader()
	l := write(g.ports[:]...)
	l.progress(t)
	if got, err := g.call(first, fmt.Sprintf("VIGIL.CLUSTER LEAVE %d", first+1)); err != nil || got != "OK" {
		t.Fatalf("LEAVE: %s, %v", got, err)
	}
	says(t, g.up[first], fmt.Sprintf("this server, member %d, has left the group", first+1))
	l.progress(t)
	second := g.leader()
	if second == first {
		t.Fatal("it leads although it has left")
	}
	for end := time.Now().Add(time.Minute); ; {
		got, err := g.call(second, "VIGIL.CLUSTER STATUS")
		if err == nil && strings.Contains(got, "voters 2") && !strings.Contains(got, strconv.Itoa(g.ports[first])) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("STATUS: %s, %v", got, err)
		}
	}
	l.check(t, g.ports[second])
	g.up[first].signal(t, syscall.SIGTERM)
	if err := g.up[first].wait(); err != nil {
		t.Error(err)
	}
	g.start(first)
	says(t, g.up[first], "this directory cannot come back")
	g.await(first)
	if got, err := g.call(first, "GET leader"); err != nil || got != "CLUSTERDOWN This server has left its group" {
		t.Errorf("after another start: %s, %v", got, err)
	}
}

// A directory belongs to one member of one group, at one place at a time.
func TestDirectoryOfAMemberIsRefusedElsewhere(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--cluster-election-timeout", "300")
	g.leader()
	m := g.joiner(3)
	says(t, m.p, "member 4 votes from now on")
	o := g.joiner(4)
	says(t, o.p, "member 5 votes from now on")

	// A copy runs beside the original.
	c := &member{port: g.ports[0] + 5, dir: filepath.Join(t.TempDir(), "copy")}
	m.p.still(t, func() {
		if err := os.CopyFS(c.dir, os.DirFS(m.dir)); err != nil {
			t.Fatal(err)
		}
	})
	c.run(g)
	ends(t, c.p, "the directory may be a copy")
	if got, err := callAt(m.port, "VIGIL.CLUSTER STATUS"); err != nil || strings.Contains(got, strconv.Itoa(c.port)) {
		t.Errorf("the original: %s, %v", got, err)
	}

	// Two directories are swapped.
	for _, x := range []*member{m, o} {
		x.p.signal(t, syscall.SIGTERM)
		if err := x.p.wait(); err != nil {
			t.Fatal(err)
		}
	}
	m.dir, o.dir = o.dir, m.dir
	m.run(g)
	ends(t, m.p, "directories of members may have been swapped")
	o.run(g, "--cluster-member-id", "5")
	ends(t, o.p, "the directory belongs to member 4, and cluster-member-id is 5")
	m.dir, o.dir = o.dir, m.dir

	// Another secret, and none.
	out, err := exec.Command(binary, "--dir", m.dir, "--port", strconv.Itoa(m.port), "--cluster-secret", "a secret of others").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the directory belongs to member 4 of another group") {
		t.Errorf("another secret: %v\n%s", err, out)
	}
	out, err = exec.Command(binary, "--dir", m.dir, "--port", strconv.Itoa(m.port)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cannot be opened alone") {
		t.Errorf("no secret: %v\n%s", err, out)
	}

	// A new directory is nobody's.
	out, err = exec.Command(binary, "--dir", t.TempDir(), "--port", strconv.Itoa(c.port), "--cluster-secret", testSecret).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the directory belongs to no member yet") {
		t.Errorf("a new directory: %v\n%s", err, out)
	}

	// After all of that both go on.
	m.run(g)
	o.run(g)
	m.await(t)
	o.await(t)
	transfer(t, m.port, append(g.ports[:], o.port)...)
}

// A member that is elsewhere now tells the group, which tells all others.
func TestMemberMovesToAnotherAddress(t *testing.T) {
	t.Parallel()
	g := newTrio(t)
	g.leader()
	m := g.joiner(3)
	says(t, m.p, "member 4 votes from now on")
	m.p.signal(t, syscall.SIGTERM)
	if err := m.p.wait(); err != nil {
		t.Fatal(err)
	}
	old := m.port
	m.port = g.ports[0] + 5
	m.run(g)
	m.await(t)
	for i := range 3 {
		says(t, g.up[i], fmt.Sprintf("member 4 is at 127.0.0.1:%d now, no longer at 127.0.0.1:%d", m.port, old))
	}
	transfer(t, m.port, g.ports[:]...)
}

// What is no member is refused with a reason in the log, and changes nothing.
func TestStrangersOnTheBusAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	g := newTrio(t)
	first := g.leader()
	bus := "127.0.0.1:" + strconv.Itoa(g.ports[first]+10000)
	for hello, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":       `"GET " is no hello of a member`,
		"VIGM\x01" + zeroes(33):        "different versions of the mesh",
		"VIGM\x63":                     "different versions of the mesh",
		"VIGM\x02" + zeroes(16+33+1+0): "another cluster, or has another secret",
	} {
		nc, err := net.Dial("tcp", bus)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(nc, hello); err != nil {
			t.Error(err)
		}
		says(t, g.up[first], want)
		nc.Close()
	}
	other := &member{port: g.ports[0] + 3, dir: t.TempDir()}
	other.p = startCommand(t, exec.Command(binary, "--dir", other.dir, "--port", strconv.Itoa(other.port), "--cluster-secret", "a secret of others",
		"--cluster-join", "127.0.0.1:"+strconv.Itoa(g.ports[first])))
	ends(t, other.p, "another cluster, or has another secret")
	if got, err := g.call(first, "SET k v"); err != nil || got != "OK" {
		t.Errorf("%s, %v", got, err)
	}
	if n := len(regexp.MustCompile(`no connection from`).FindAllString(g.up[first].out.String(), -1)); n == 0 || n > 6 {
		t.Errorf("%d refusals in the log:\n%s", n, g.up[first].out)
	}
}

func zeroes(n int) string { return strings.Repeat("\x00", n) }

// The members that a leader would need are not heard: it does not begin a change that it could not
// end, and takes writes again when they are back.
func TestChangeThatCannotBeMadeIsNotBegun(t *testing.T) {
	t.Parallel()
	g := newTrio(t)
	first := g.leader()
	if got, err := g.call(first, fmt.Sprintf("VIGIL.CLUSTER TRANSFER %d", first+1)); err != nil || got != "OK" {
		t.Errorf("TRANSFER to itself: %s, %v", got, err)
	}
	m := g.joiner(3)
	says(t, m.p, "member 4 votes from now on")
	first = g.leader()
	lost := (first + 1) % 3
	g.up[lost].cmd.Process.Kill()
	g.up[lost].wait()
	if got, err := callAt(g.ports[first], "VIGIL.CLUSTER LEAVE 9"); err != nil || !strings.Contains(got, "The group has no member '9'") {
		t.Errorf("LEAVE 9: %s, %v", got, err)
	}
	for end := time.Now().Add(time.Minute); ; {
		got, err := callAt(g.ports[g.leader()], fmt.Sprintf("VIGIL.CLUSTER LEAVE %d", lost+1))
		if err == nil && got == "OK" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("LEAVE of the one that is lost: %s, %v", got, err)
		}
	}
}
