package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// await lets others run until something is so.
func await(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

func TestVersionHasTheFormOfRedis(t *testing.T) {
	out, err := exec.Command(binary, "--version").CombinedOutput()
	if err != nil || !regexp.MustCompile(`^vigil-server Redis-compatible v=8\.8\.\d+ sha=[0-9a-f]{8}:[01] malloc=go bits=(64|32) vigil \d+\.\d+\.\d+\S*\n$`).Match(out) {
		t.Errorf("%v: %q", err, out)
	}
	c := dial(t, launch(t, "--dir", t.TempDir()))
	info := c.do(t, "INFO server")
	for field, text := range map[string]string{"vigil_version": ` vigil (\d\S*)\n`, "redis_version": ` v=(\S+) `} {
		said := regexp.MustCompile(text).FindStringSubmatch(string(out))
		shown := regexp.MustCompile(field + `:(\S+)\r\n`).FindStringSubmatch(info)
		if said == nil || shown == nil || said[1] != shown[1] {
			t.Errorf("--version says %q, INFO's %s is %q", said, field, shown)
		}
	}
	build := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.modified", Value: "true"}}}
	if got := version(build); !strings.Contains(got, " sha=01234567:1 ") {
		t.Errorf("with a commit: %s", got)
	}
}

// TestWhatIsNotThereIsNotPassedOver starts servers whose owners rely on something
// that vigil does not have, by every source of directives.
func TestWhatIsNotThereIsNotPassedOver(t *testing.T) {
	dir := t.TempDir()
	inner, outer, users := filepath.Join(dir, "users.conf"), filepath.Join(dir, "v.conf"), filepath.Join(dir, "users.acl")
	for path, text := range map[string]string{users: "user default on >geheim ~* &* +@all\nuser bob on geheim\n", inner: "\n\nuser default on geheim ~* +@all\n", outer: "port 0\ninclude " + inner + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{outer}, "", "at line 3 of " + inner},
		{[]string{"-"}, "port 0\nuser default on #geheim\n", "at line 2 of standard input"},
		{[]string{"-"}, "user alice on >geheim +nosuch\n", "Error in user declaration 'alice': Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"},
		{[]string{"-"}, "user alice on\nuser alice off\n", "Duplicate user found. A user can only be defined once in config files"},
		{[]string{"--user", "default", "on", ">geheim", "(+get"}, "", "Unmatched parenthesis in selector definition."},
		{[]string{"--user", "default", "on", ">geheim", "--aclfile", users}, "", "declare them in one of the two"},
		{[]string{"--aclfile", "/nosuch/users.acl"}, "", "No such file or directory"},
		{[]string{"--aclfile", users}, "", users + ":2: Syntax error."},
		{[]string{"--tls-port", "6380", "--port", "0"}, "", "failed to configure TLS: no tls-cert-file configured"},
		{[]string{"--loadmodule", "/x.so"}, "", "vigil does not load modules"},
		{[]string{"--replicaof", "localhost", "65536"}, "", "Invalid master port"},
		{[]string{"--cluster-enabled", "yes"}, "", "a member of a group needs cluster-secret"},
		{[]string{"--cluster-slots", "0-100", "--cluster-secret", "0123456789abcdef"}, "", "need cluster-view cluster"},
		{[]string{"--masterauth", "geheim", "zwei"}, "", "wrong number of arguments"},
		{[]string{"--rename-command", "NOSUCH", "x"}, "", "No such command in rename-command"},
		{[]string{"--port", "0"}, "", "Configured to not listen anywhere"},
		{[]string{dir}, "", "Is a directory"},
	} {
		cmd := exec.Command(binary, append(x.args, "--dir", dir)...)
		cmd.Stdin = strings.NewReader(x.stdin)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !bytes.Contains(out, []byte(x.want)) || bytes.Contains(out, []byte("geheim")) {
			t.Errorf("%q: got %v, want %q:\n%s", x.args, err, x.want, out)
		}
	}
}

func TestPasswordIsAskedForWhereverItStands(t *testing.T) {
	dir := t.TempDir()
	inner, outer := filepath.Join(dir, "secret.conf"), filepath.Join(dir, "v.conf")
	for path, text := range map[string]string{inner: "requirepass x\n", outer: "include " + dir + "/sec*.conf\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{inner}, {outer}, {"--requirepass", "x"}} {
		p := launch(t, append(args, "--dir", t.TempDir())...)
		c := dial(t, p)
		if got := c.do(t, "GET k"); !strings.HasPrefix(got, "NOAUTH") {
			t.Errorf("%q: %s", args, got)
		}
		if got := c.do(t, "AUTH x"); got != "OK" {
			t.Errorf("%q: %s", args, got)
		}
	}
}

func TestServerWithoutFilesToOpenDoesNotStart(t *testing.T) {
	for limit, want := range map[int]string{30: "your current 'ulimit -n' of 30 is not enough", 128: ""} {
		cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, limit), binary, "--port", "auto", "--dir", t.TempDir())
		p := startCommand(t, cmd)
		if want == "" {
			p.addr = <-p.ready
			if got := dial(t, p).do(t, "CONFIG GET maxclients"); got != "[maxclients 64]" {
				t.Errorf("ulimit -n %d: %s", limit, got)
			}
			p.signal(t, syscall.SIGTERM)
		}
		status := 0
		if want != "" {
			status = 1
		}
		if code := p.code(t); code != status || !strings.Contains(p.out.String(), want) {
			t.Errorf("ulimit -n %d: status %d\n%s", limit, code, p.out)
		}
	}
}
