package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// startFailed runs a start that fails, and returns what is on the standard error and in the logfile.
func startFailed(t *testing.T, logFile string, args ...string) (stderr, log string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stderr = &out
	if err := cmd.Run(); err == nil {
		t.Fatalf("%v: the server started", args)
	}
	text, err := os.ReadFile(logFile)
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return out.String(), string(text)
}

// Whatever ends a start is in the logfile: under a supervisor nobody sees the standard error.
func TestFatalErrorsOfAStartReachTheLogFile(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	held := t.TempDir()
	launch(t, "--dir", held)
	damaged := killedStore(t, 50)
	for _, path := range files(t, damaged) {
		if base := filepath.Base(path); strings.HasPrefix(base, "MANIFEST-") || strings.HasSuffix(base, ".log") {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/3] ^= 0xff
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	badACL := file("users.acl", "user bob on nonsense\n")
	inner := file("inner.conf", "maxmemry 1gb\n")
	for name, c := range map[string]struct {
		conf string // a file, in which LOG is the logfile
		args []string
		want string
	}{
		"a port in use":           {"", []string{"--port", busy, "--logfile", "LOG"}, "address already in use"},
		"the window's port":       {"", []string{"--port", "auto", "--http-port", busy, "--logfile", "LOG"}, "http-port: listen on"},
		"a lock that is held":     {"", []string{"--port", "auto", "--dir", held, "--logfile", "LOG"}, "in use by another process"},
		"a damaged store":         {"", []string{"--port", "auto", "--dir", damaged, "--logfile", "LOG"}, "--check --dir"},
		"no directory":            {"", []string{"--port", "auto", "--dir", filepath.Join(badACL, "x"), "--logfile", "LOG"}, "users.acl"},
		"no certificates":         {"", []string{"--port", "0", "--tls-port", "1", "--tls-cert-file", "/nonexistent.crt", "--tls-key-file", "/nonexistent.key", "--tls-auth-clients", "no", "--logfile", "LOG"}, "/nonexistent.crt"},
		"a bad ACL file":          {"", []string{"--port", "auto", "--aclfile", badACL, "--logfile", "LOG"}, "users.acl:1"},
		"a bad user":              {"logfile LOG\nuser bob on nonsense\n", nil, "'bob'"},
		"no place for a socket":   {"logfile LOG\nport 0\nunixsocket /nonexistent/s\n", nil, "/nonexistent/s"},
		"half a group":            {"logfile LOG\ncluster-members 1=127.0.0.1:7001\n", nil, "cluster-secret"},
		"a mistake behind it":     {"logfile LOG\nmaxmemry 1gb\n", nil, "'maxmemory'"},
		"a mistake before it":     {"maxmemry 1gb\nlogfile LOG\n", nil, "'maxmemory'"},
		"a mistake and an option": {"maxmemry 1gb\nlogfile /nonexistent/log\n", []string{"--logfile", "LOG"}, "'maxmemory'"},
		"a mistaken option":       {"logfile LOG\n", []string{"--maxmemry", "1gb"}, "'maxmemory'"},
		"an included mistake":     {"include " + inner + "\nlogfile LOG\n", nil, "inner.conf"},
		"a wrong value":           {"logfile LOG\nport x\n", nil, "port x"},
		"no configuration file":   {"", []string{filepath.Join(dir, "none.conf"), "--logfile", "LOG"}, "none.conf"},
		"no snapshot to restore":  {"logfile LOG\nport 0\n", []string{"--restore", filepath.Join(dir, "none")}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "vigil.log")
			var args []string
			if c.conf != "" {
				args = append(args, file("v.conf", strings.ReplaceAll(c.conf, "LOG", path)))
			}
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "LOG", path))
			}
			if !strings.Contains(strings.Join(args, " "), "--dir") {
				args = append(args, "--dir", t.TempDir())
			}
			stderr, log := startFailed(t, path, args...)
			if !strings.Contains(log, c.want) || !regexp.MustCompile(`(?m)^\d+:M .* # `).MatchString(log) {
				t.Errorf("the log has no %q:\n%s", c.want, log)
			}
			if !strings.Contains(stderr, c.want) {
				t.Errorf("the standard error has no %q:\n%s", c.want, stderr)
			}
			if n := strings.Count(log, c.want); n > 2 {
				t.Errorf("the log says it %d times:\n%s", n, log)
			}
		})
	}
}

func TestSIGHUPOpensTheLogFileAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log", "vigil.log")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	p := startCommand(t, exec.Command(binary, "--port", "0", "--unixsocket", socket, "--dir", t.TempDir(), "--logfile", path))
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(text)
	}
	await(t, func() bool { return strings.Contains(read(path), "Ready to accept connections") })
	say := func() { // a line of a script's
		t.Helper()
		if got := dialAt(t, "unix", socket).do(t, `EVAL "redis.log(redis.LOG_WARNING, 'said') return 'OK'" 0`); got != "OK" {
			t.Fatal(got)
		}
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	say()
	if old := read(path + ".1"); !strings.Contains(old, " # said") {
		t.Errorf("before SIGHUP the log goes to the renamed file:\n%s", old)
	}
	p.signal(t, syscall.SIGHUP)
	await(t, func() bool { return strings.Contains(read(path), "opened again") })
	old := read(path + ".1")
	say()
	if now := read(path); !strings.Contains(now, " # said") || read(path+".1") != old {
		t.Errorf("after SIGHUP the new file has:\n%s\nand the old one:\n%s", now, read(path+".1"))
	}
	// A folder that is gone costs nothing: the log stays where it is.
	if err := os.Rename(filepath.Dir(path), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(dir, "moved", "vigil.log")
	p.signal(t, syscall.SIGHUP)
	await(t, func() bool { return strings.Contains(read(moved), "open the log: ") })
	say()
	if now := read(moved); strings.Count(now, " # said") != 2 {
		t.Errorf("the log has lost lines:\n%s", now)
	}
	p.signal(t, syscall.SIGTERM)
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	if strings.TrimSpace(p.out.String()) != "" {
		t.Errorf("beside the logfile there is output:\n%s", p.out)
	}
}

func TestLogLevelHoldsFromTheFirstLineToTheLast(t *testing.T) {
	t.Parallel()
	line := regexp.MustCompile(`^\d+:M .{24} ([.*#-]) `)
	for level, c := range map[string]struct{ may, must string }{
		"debug": {".-*#", ".*#"}, "verbose": {"-*#", "*#"}, "notice": {"*#", "*#"}, "warning": {"#", "#"}, "nothing": {"", ""},
	} {
		dir := t.TempDir()
		socket, path := filepath.Join(dir, "s"), filepath.Join(dir, "vigil.log")
		p := startCommand(t, exec.Command(binary, "--port", "0", "--unixsocket", socket, "--dir", t.TempDir(), "--logfile", path,
			"--loglevel", level, "--http-port", "auto", "--daemonize", "yes"))
		await(t, func() bool {
			nc, err := net.Dial("unix", socket)
			if err != nil {
				return false
			}
			defer nc.Close()
			c := newClient(nc)
			c.send("PING")
			got, err := c.reply()
			return err == nil && got == "PONG"
		})
		p.signal(t, syscall.SIGTERM)
		if err := p.wait(); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(text)) {
			m := line.FindStringSubmatch(l)
			if m == nil || !strings.Contains(c.may, m[1]) {
				t.Errorf("loglevel %s: %s", level, l)
			}
		}
		for _, mark := range c.must {
			if !strings.Contains(string(text), " "+string(mark)+" ") {
				t.Errorf("loglevel %s: no line of %q:\n%s", level, mark, text)
			}
		}
	}
}
