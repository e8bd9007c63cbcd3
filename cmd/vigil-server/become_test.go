package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// become runs the program with --become, and returns its status and what it has printed.
func become(t *testing.T, what, dir string, args ...string) (status int, text string) {
	t.Helper()
	out, err := exec.Command(binary, append([]string{"--become", what, "--dir", dir}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}

func wantBecome(t *testing.T, what, dir string, status int, text string, args ...string) {
	t.Helper()
	if got, out := become(t, what, dir, args...); got != status || !strings.Contains(out, text) {
		t.Fatalf("--become %s: status %d, want %d and %q:\n%s", what, got, status, text, out)
	}
}

func wantSound(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command(binary, "--check", "--dir", dir).CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "sound\n") {
		t.Fatalf("--check: %v\n%s", err, out)
	}
}

// stop ends a server in order.
func (m *member) stop(t *testing.T) {
	t.Helper()
	m.p.signal(t, syscall.SIGTERM)
	if err := m.p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, m.p.out)
	}
}

// kill ends a server at once.
func (m *member) kill() {
	_ = m.p.cmd.Process.Kill()
	_ = m.p.wait()
}

// eventually asks a server until it replies what is wanted.
func (m *member) eventually(t *testing.T, call, want string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); got != want; {
		if time.Now().After(end) {
			t.Fatalf("%s at port %d: %q, want %q\n%s", call, m.port, got, want, m.p.out)
		}
		var err error
		if got, err = callAt(m.port, call); err != nil {
			got = err.Error()
		}
	}
}

// aloneWith starts a server that is alone, with some keys, and stops it.
func aloneWith(t *testing.T, calls ...string) *member {
	t.Helper()
	m := &member{port: freePorts(t), dir: t.TempDir()}
	m.p = startCommand(t, exec.Command(binary, "--dir", m.dir, "--port", strconv.Itoa(m.port)))
	m.await(t)
	for _, call := range calls {
		if got, err := callAt(m.port, call); err != nil || strings.HasPrefix(got, "ERR") {
			t.Fatalf("%s: %s, %v", call, got, err)
		}
	}
	m.stop(t)
	return m
}

// A server that was alone becomes three with its keys, in all databases, by the recipe for clients of Sentinel; the loss of the first loses
// nothing, and one of the others is alone again with functions, and with users in a file.
func TestServerThatWasAloneBecomesThreeAndOneAgain(t *testing.T) {
	m := aloneWith(t, "SET k v", "HSET h f 1", "SET e 1 PXAT 4102444800000", "SWAPDB 0 2", "SET zero 0",
		`FUNCTION LOAD "#!lua name=lib\nredis.register_function{function_name='f',callback=function() return 7 end,flags={'no-writes'}}"`)
	wantSound(t, m.dir)
	wantBecome(t, "member", m.dir, 0, "founds a group")
	wantSound(t, m.dir)
	wantBecome(t, "member", m.dir, 2, "that of a member of a group already")

	address := "127.0.0.1:" + strconv.Itoa(m.port)
	servers := []*member{m, {port: m.port + 1, dir: t.TempDir()}, {port: m.port + 2, dir: t.TempDir()}}
	founds := []string{"--cluster-members", "1=" + address, "--cluster-member-id", "1"}
	joins := []string{"--cluster-join", address}
	run := func(i int, args ...string) {
		s := servers[i]
		s.p = startCommand(t, exec.Command(binary, append([]string{"--dir", s.dir, "--port", strconv.Itoa(s.port), "--cluster-secret", testSecret}, args...)...))
	}
	run(1, joins...) // before there is anybody
	run(0, founds...)
	run(2, joins...)
	for _, s := range servers {
		s.await(t)
	}
	for _, s := range servers {
		s.eventually(t, "DBSIZE", "1")
		s.eventually(t, "EVAL_RO \"redis.call('select', 2) return {redis.call('get','k'), redis.call('hget','h','f'), redis.call('dbsize')}\" 0", "[v 1 3]")
	}
	m.eventually(t, "FCALL f 0", "7")
	m.eventually(t, "ACL SETUSER robin on >secret ~* +@all", "OK")
	m.eventually(t, "CONFIG SET maxmemory-samples 7", "OK")
	m.eventually(t, "SET acknowledged 1", "OK")
	m.eventually(t, "WAIT 2 10000", "2")
	for _, s := range servers[1:] { // both vote
		says(t, s.p, "member 3 votes from now on")
	}
	m.kill()
	leader := servers[1]
	for end := time.Now().Add(time.Minute); ; {
		if got, _ := callAt(leader.port, "SET later 1"); got == "OK" {
			break
		}
		if leader = servers[1+(leader.port-m.port)%2]; time.Now().After(end) {
			t.Fatalf("nobody leads:\n%s", leader.p.out)
		}
	}
	for _, s := range servers[1:] {
		s.stop(t)
	}

	for i := range 2 { // what a member has can be exported, and it is a member all the same
		file := filepath.Join(t.TempDir(), "out.rdb")
		out, err := exec.Command(binary, "--export", file, "--for", "redis7.4", "--dir", leader.dir).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "exported: 6 keys") {
			t.Fatalf("export %d: %v\n%s", i, err, out)
		}
		wantSound(t, leader.dir)
	}
	wantBecome(t, "alone", leader.dir, 0, "the store is alone")
	wantBecome(t, "alone", leader.dir, 2, "the store is alone already")
	wantSound(t, leader.dir)
	users := filepath.Join(leader.dir, usersOfGroup)
	info, err := os.Stat(users)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%s: %v, %v", users, info, err)
	}
	if text, err := os.ReadFile(filepath.Join(leader.dir, directivesOfGroup)); err != nil || string(text) != "CONFIG SET maxmemory-samples \"7\"\n" {
		t.Errorf("directives: %q, %v", text, err)
	}
	leader.p = startCommand(t, exec.Command(binary, "--dir", leader.dir, "--port", strconv.Itoa(leader.port), "--aclfile", users))
	leader.await(t)
	for call, want := range map[string]string{"GET acknowledged": "1", "GET later": "1", "DBSIZE": "3", "FCALL f 0": "7", "AUTH robin secret": "OK"} {
		leader.eventually(t, call, want)
	}
	leader.stop(t)
	ends(t, startCommand(t, exec.Command(binary, "--dir", leader.dir, "--port", strconv.Itoa(leader.port), "--cluster-secret", testSecret)), "--become member")
}

// With cluster-enabled yes the server founds a group of a cluster with slots. What would lose or hide keys is refused with a reason, and changes
// nothing.
func TestStartThatWouldLoseKeysIsRefused(t *testing.T) {
	m := aloneWith(t, "SET k v")
	keeps := aloneWith(t, "SET k v", "SWAPDB 0 3")
	for _, dir := range []string{m.dir, keeps.dir} {
		wantBecome(t, "member", dir, 0, "founds a group")
	}
	start := func(m *member, args ...string) *process {
		return startCommand(t, exec.Command(binary, append([]string{"--dir", m.dir, "--port", strconv.Itoa(m.port), "--cluster-secret", testSecret}, args...)...))
	}
	address := "127.0.0.1:" + strconv.Itoa(m.port)
	enabled := []string{"--cluster-enabled", "yes", "--cluster-slots", "0-16383"}
	ends(t, start(m, "--cluster-enabled", "yes", "--cluster-join", "127.0.0.1:1"), "would be lost if it joined a group")
	ends(t, start(m, "--cluster-members", "1="+address+" 2=127.0.0.1:"+strconv.Itoa(m.port+1)+" 3=127.0.0.1:"+strconv.Itoa(m.port+2), "--cluster-member-id", "1"), "other founders would begin without it")
	ends(t, start(m), "cluster-members founds a group")
	ends(t, start(m, "--recover", "alone"), "the directory belongs to no member yet")
	ends(t, startCommand(t, exec.Command(binary, "--dir", m.dir, "--port", strconv.Itoa(m.port))), "--become alone")
	ends(t, start(keeps, enabled...), "start it with more cluster-databases")
	keeps.p = start(keeps, append(enabled, "--cluster-databases", "4")...)
	keeps.await(t)
	keeps.stop(t)
	m.p = start(m, enabled...)
	m.await(t)
	m.eventually(t, "GET k", "v")

	// Another master of the cluster cannot become a replica while it runs, as its store has other hashes.
	other := &member{port: m.port + 1, dir: t.TempDir()}
	other.p = start(other, "--cluster-enabled", "yes")
	other.await(t)
	other.eventually(t, fmt.Sprintf("CLUSTER MEET 127.0.0.1 %d", m.port), "OK")
	id, err := callAt(m.port, "CLUSTER MYID")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(got, "other hashes"); {
		if got, _ = callAt(other.port, "CLUSTER REPLICATE "+id); time.Now().After(end) {
			t.Fatalf("CLUSTER REPLICATE: %s", got)
		}
	}
	other.stop(t)
	m.stop(t)
	wantBecome(t, "alone", m.dir, 0, "the store is alone")
}

// A store that cannot be turned stays as it is, and the exit status is 2.
func TestBecomeIsRefused(t *testing.T) {
	m := aloneWith(t, "SET k v")
	wantBecome(t, "member", filepath.Join(m.dir, "missing"), 1, "No such file or directory")
	wantBecome(t, "member", t.TempDir(), 2, "there is no store in the directory")
	wantBecome(t, "captain", m.dir, 2, "there are only --become member and --become alone")
	wantBecome(t, "member", m.dir, 2, "beside directives only", "--check")
	wantBecome(t, "alone", m.dir, 2, "the store is alone already")
	m.p = startCommand(t, exec.Command(binary, "--dir", m.dir, "--port", strconv.Itoa(m.port)))
	m.await(t)
	wantBecome(t, "member", m.dir, 2, "in use by another process")
	m.eventually(t, "GET k", "v")
	m.stop(t)
}
