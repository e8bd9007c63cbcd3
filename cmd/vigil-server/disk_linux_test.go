package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// fillDisk makes every write of a process to a file fail as on a full disk, or
// none: the limit on the size of files may be changed from outside, needs no
// rights, and holds for what grows.
func fillDisk(t *testing.T, p *process, full bool) {
	t.Helper()
	const fsize = 1 // RLIMIT_FSIZE
	limit := syscall.Rlimit{Cur: ^uint64(0), Max: ^uint64(0)}
	if full {
		limit.Cur = 0
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.cmd.Process.Pid), fsize,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		t.Fatalf("prlimit: %v", errno)
	}
}

// setUntil writes numbered keys until a reply begins so, and returns how many were
// acknowledged. Under always a write under way may cost the connection.
func setUntil(t *testing.T, p *process, prefix string, from int) (acked []int) {
	t.Helper()
	c := dial(t, p)
	for i, end := from, time.Now().Add(20*time.Second); time.Now().Before(end); i++ {
		if err := c.send(fmt.Sprintf("SET k%d %d", i, i)); err != nil {
			c = dial(t, p)
			continue
		}
		got, err := c.reply()
		if err != nil {
			c = dial(t, p)
			continue
		}
		if got == "OK" {
			acked = append(acked, i)
		}
		if strings.HasPrefix(got, prefix) {
			return acked
		}
	}
	t.Fatalf("no reply began with %s for 20 s:\n%s", prefix, p.out)
	return nil
}

func TestFullDiskRefusesWritesUntilThereIsRoom(t *testing.T) {
	for _, policy := range []string{"always", "everysec", "no"} {
		dir := t.TempDir()
		p := launch(t, "--dir", dir, "--appendfsync", policy)
		keys := setUntil(t, p, "OK", 0)
		fillDisk(t, p, true)
		keys = append(keys, setUntil(t, p, "MISCONF", 1)...)
		if got := dial(t, p).do(t, "GET k0"); got != "0" {
			t.Errorf("%s: GET on a full disk: got %s, want 0", policy, got)
		}
		fillDisk(t, p, false)
		freed := time.Now()
		keys = append(keys, setUntil(t, p, "OK", 1_000_000)...)
		t.Logf("%s: written again after %v", policy, time.Since(freed).Round(time.Millisecond))
		check := func(p *process) {
			t.Helper()
			c := dial(t, p)
			for _, k := range keys {
				if got := c.do(t, fmt.Sprintf("GET k%d", k)); got != fmt.Sprint(k) {
					t.Fatalf("%s: GET k%d: got %s", policy, k, got)
				}
			}
		}
		check(p)
		p.signal(t, syscall.SIGTERM)
		if err := p.wait(); err != nil {
			t.Fatalf("%s: exit: %v\n%s", policy, err, p.out)
		}
		check(launch(t, "--dir", dir, "--appendfsync", policy))
	}
}

// What an end on a full disk could not write, it says, and the next start writes it.
func TestStopOnAFullDiskSaysWhatTheNextStartWrites(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir)
	fillDisk(t, p, true)
	keys := setUntil(t, p, "MISCONF", 0)
	p.signal(t, syscall.SIGTERM)
	err := p.wait()
	if p.cmd.ProcessState.ExitCode() != statusLost || !regexp.MustCompile(`# [1-9]\d* acknowledged changes are not on the disk: .* start the server again`).MatchString(p.out.String()) {
		t.Errorf("exit %v, want status %d and how much is not on the disk:\n%s", err, statusLost, p.out)
	}
	p = launch(t, "--dir", dir)
	c := dial(t, p)
	for _, k := range keys {
		if got := c.do(t, fmt.Sprintf("GET k%d", k)); got != fmt.Sprint(k) {
			t.Fatalf("GET k%d: got %s", k, got)
		}
	}
}

func TestStartOnAFullDiskEndsWithTheReason(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "--dir", dir)
	setUntil(t, p, "OK", 0)
	p.signal(t, syscall.SIGKILL)
	p.wait()
	for _, dir := range []string{dir, t.TempDir()} {
		cmd := exec.Command("sh", "-c", `ulimit -S -f 0; exec "$0" --port 0 --dir "$1"`, binary, dir)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(out.String(), "file too large") || out.Len() > 2000 {
			t.Errorf("exit %v, want status 1 and the reason, once:\n%.2000s", err, out.String())
		}
		if text := out.String(); !strings.Contains(text, "Make room") || !strings.Contains(text, "do not restore a snapshot") || strings.Contains(text, "--restore") {
			t.Errorf("the advice is wrong:\n%s", text)
		}
	}
}

// A leader whose disk is full ends, whatever it was that could not be written: the others have
// room, and go on with all that was acknowledged.
func TestFullDiskOfALeaderEndsItsLeadership(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"SET k v", "BGSAVE"} {
		g := newTrio(t)
		first := g.leader()
		if got, err := g.call(first, "SET kept 1"); got != "OK" {
			t.Fatal(got, err)
		}
		fillDisk(t, g.up[first], true)
		g.call(first, call)
		select {
		case err := <-g.up[first].done:
			g.up[first].done <- err
		case <-time.After(time.Minute):
			t.Fatalf("%s: the leader goes on:\n%s", call, g.up[first].out)
		}
		next := g.leader()
		if got, err := g.call(next, "GET kept"); got != "1" {
			t.Errorf("%s: GET at the next leader: got %s, %v", call, got, err)
		}
	}
}
