package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	top := t.TempDir()
	dir, elsewhere := filepath.Join(top, "data"), filepath.Join(top, "other")
	for _, d := range []string{dir, elsewhere} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket, logFile, pid := filepath.Join(elsewhere, "v.sock"), filepath.Join(elsewhere, "log"), filepath.Join(elsewhere, "pid")
	file := filepath.Join(elsewhere, "v.conf")
	if err := os.WriteFile(file, []byte("requirepass x\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	old := syscall.Umask(0o002) // as users have it
	p := launch(t, file, "--dir", dir, "--unixsocket", socket, "--pidfile", pid)
	q := exec.Command(binary, "--port", "0", "--unixsocket", filepath.Join(elsewhere, "open.sock"), "--unixsocketperm", "770",
		"--save", "", "--appendonly", "no", "--logfile", logFile)
	err := q.Start()
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { q.Process.Kill(); q.Wait() }()
	c := dialAt(t, "unix", socket)
	for _, line := range []string{"AUTH x", "SET k v", "SAVE", "CONFIG REWRITE"} {
		if got := c.do(t, line); got != "OK" {
			t.Fatalf("%s: %s", line, got)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for path, want := range map[string]fs.FileMode{socket: 0o700, pid: 0o644, file: 0o640} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info, err, want)
		}
	}
	p.signal(t, syscall.SIGTERM)
	p.wait()
	await(t, func() bool {
		info, err := os.Stat(filepath.Join(elsewhere, "open.sock"))
		return err == nil && info.Mode().Perm() == 0o770
	})
	if info, err := os.Stat(logFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log: %v, %v", info, err)
	}
}

func TestThrowAwayServerLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--dir", dir, "--save", "", "--appendonly", "no"}
	p, q := launch(t, args...), launch(t, args...) // without a lock
	c := dial(t, p)
	for _, x := range []struct{ line, want string }{
		{"SET k v", "OK"}, {"SAVE", "OK"},
		{"CONFIG SET appendonly yes", `ERR CONFIG SET failed (possibly related to argument 'appendonly') - the server is in memory only: it was started with save "" and appendonly no`},
		{"CONFIG GET appendonly", "[appendonly no]"},
	} {
		if got := c.do(t, x.line); got != x.want {
			t.Errorf("%s: got %s, want %s", x.line, got, x.want)
		}
	}
	if got := c.do(t, "INFO persistence"); !strings.Contains(got, "vigil_in_memory:1\r\n") || !strings.Contains(got, "aof_enabled:0\r\n") {
		t.Errorf("INFO does not tell:\n%s", got)
	}
	if got := dial(t, q).do(t, "GET k"); got != "(nil)" {
		t.Errorf("another server has it too: %s", got)
	}
	for _, p := range []*process{p, q} {
		p.signal(t, syscall.SIGTERM)
		if err := p.wait(); err != nil || !strings.Contains(p.out.String(), "in memory only") {
			t.Errorf("%v\n%s", err, p.out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestOneWordAloneKeepsEverything(t *testing.T) {
	for _, args := range [][]string{{"--save", ""}, {"--appendonly", "no"}, {"--save", "", "--appendonly", "yes"}, {"--save", "900 1", "--appendonly", "no"}} {
		dir := t.TempDir()
		args = append(args, "--dir", dir)
		p := launch(t, args...)
		if got := dial(t, p).do(t, "SET k v"); got != "OK" {
			t.Fatal(got)
		}
		p.signal(t, syscall.SIGTERM)
		p.wait()
		if got := dial(t, launch(t, args...)).do(t, "GET k"); got != "v" {
			t.Errorf("%q: GET k after a restart: %s", args, got)
		}
	}
}
