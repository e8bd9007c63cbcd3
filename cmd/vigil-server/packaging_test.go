package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/conf"
)

func packaged(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("packaging", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnitFileStartsAServerThatTellsSystemd reads the unit as systemd does, as far
// as it is used, and its command line as the server does.
func TestUnitFileStartsAServerThatTellsSystemd(t *testing.T) {
	keys := map[string]string{}
	section := ""
	for line := range strings.Lines(packaged(t, "vigil.service")) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case !ok || !regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(name) || keys[section+"."+name] != "":
			t.Errorf("[%s] %s: no key, or twice", section, line)
		default:
			keys[section+"."+name] = value
		}
	}
	for name, want := range map[string]string{"Service.Type": "notify", "Service.UMask": "0077", "Service.ProtectSystem": "strict",
		"Service.StateDirectory": "vigil", "Service.LogsDirectory": "vigil", "Service.RestartPreventExitStatus": strconv.Itoa(statusLost), "Service.ExecReload": "/bin/kill -HUP $MAINPID", "Service.Restart": "on-failure", "Service.KillSignal": "SIGTERM", "Unit.StartLimitBurst": "5"} {
		if keys[name] != want {
			t.Errorf("%s is %q, want %q", name, keys[name], want)
		}
	}
	words := strings.Fields(keys["Service.ExecStart"])
	if len(words) < 2 || words[1] != "/etc/vigil/vigil.conf" {
		t.Fatalf("ExecStart is %q", words)
	}
	words[1] = filepath.Join("packaging", "vigil.conf")
	for i, w := range words {
		if w == "/var/lib/vigil" {
			words[i] = t.TempDir()
		}
	}
	config, err := conf.Load(words[1:], nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := config.Settings(); s.Supervised != conf.SupervisedSystemd || s.Daemonize || len(config.Warnings()) > 0 {
		t.Errorf("the unit starts a server with %+v, %q", s, config.Warnings())
	}
}

// The log that the unit lets the server write is the one that is rotated, and the server is told.
func TestRotationOfTheLogReachesTheServer(t *testing.T) {
	stanza := packaged(t, "debian/logrotate")
	for _, want := range []string{"/var/log/vigil/*.log {", "systemctl reload vigil.service", "su vigil vigil", "nocreate"} {
		if !strings.Contains(stanza, want) {
			t.Errorf("no %q in the stanza:\n%s", want, stanza)
		}
	}
	if !strings.Contains(packaged(t, "debian/nfpm.yaml"), "debian/logrotate\n    dst: /etc/logrotate.d/vigil\n    type: config") {
		t.Error("the package does not have the stanza")
	}
	if !strings.Contains(packaged(t, "debian/postrm"), "/var/log/vigil") {
		t.Error("a purge leaves the logs")
	}
}

func TestManualPageHasEveryOption(t *testing.T) {
	page := packaged(t, "vigil-server.8")
	for _, option := range regexp.MustCompile(`--[a-z]+`).FindAllString(usage, -1) {
		name := strings.ReplaceAll(option, "-", `\-`)
		directive := `\fB` + strings.TrimPrefix(name, `\-\-`) + `\fR`
		if option != "--directive" && !strings.Contains(page, name) && !strings.Contains(page, directive) {
			t.Errorf("%s is not in the manual page", option)
		}
	}
}

// TestContainerFileBuildsWhatIsThere checks the names that would go stale.
func TestContainerFileBuildsWhatIsThere(t *testing.T) {
	text := packaged(t, "Containerfile")
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	for _, want := range []string{"FROM golang:" + string(version[1]) + " ", " ./cmd/vigil-server", "USER 65532", "STOPSIGNAL SIGTERM", "VOLUME /data"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the container file", want)
		}
	}
}
