package main

import (
	"os"
	"os/exec"
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

// TestUnitFileStartsAServerThatTellsSystemd reads what the unit uses
// as systemd does, and its command line as the server does.
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

// left reports whether .dockerignore leaves a file out of an image: the last pattern that matches it, or a folder of it, decides.
func left(t *testing.T, path string) bool {
	t.Helper()
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	out := false
	for line := range strings.Lines(string(text)) {
		pattern := strings.TrimSpace(line)
		if pattern == "" || pattern[0] == '#' {
			continue
		}
		pattern, in := strings.CutPrefix(pattern, "!")
		rest, deep := strings.CutPrefix(pattern, "**/")
		words := strings.Split(path, "/")
		for end := 1; end <= len(words); end++ {
			name := strings.Join(words[:end], "/")
			if deep {
				name = words[end-1]
			}
			match, err := filepath.Match(rest, name)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if match {
				out = !in
			}
		}
	}
	return out
}

// What the server is built of is in the image's context, and what is secret or large is not.
func TestImageGetsItsSourcesAndNoData(t *testing.T) {
	for _, path := range []string{"data/group/secret", "data/group/1/vigil-tail", "data/000004.log", "bin/vigil-server", "dist/vigil.deb", ".git/config", ".env", "server.key",
		"cmd/vigil-server/vigil-server", "server/.env", "server/data/x", "cmd/a.pem", "persistence/testdata/x", "dump.rdb", "vigil-reserve"} {
		if !left(t, path) {
			t.Errorf("%s goes into the image", path)
		}
	}
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}
{{end}}{{end}}{{end}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := append(strings.Fields(string(out)), root+"/go.mod", root+"/go.sum", root+"/cmd/vigil-server/cpu.pprof")
	if len(files) < 300 {
		t.Fatalf("the server has %d files", len(files))
	}
	for _, path := range files {
		if name, err := filepath.Rel(root, path); err != nil || left(t, filepath.ToSlash(name)) {
			t.Errorf("%s is missing in the image, %v", path, err)
		}
	}
}

// The socket of systemd is where the server would listen by itself, and the package has it.
func TestSocketUnitHoldsThePortOfTheConfiguration(t *testing.T) {
	unit := packaged(t, "vigil.socket")
	config, err := conf.Load([]string{filepath.Join("packaging", "vigil.conf"), "--dir", t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := config.Settings()
	for _, want := range []string{"ListenStream=" + set.Bind[0] + ":" + strconv.Itoa(set.Port), "FileDescriptorName=vigil", "Backlog=" + strconv.Itoa(set.TCPBacklog), "WantedBy=sockets.target"} {
		if !strings.Contains(unit, "\n"+want+"\n") {
			t.Errorf("no %q in the unit", want)
		}
	}
	if !strings.Contains(packaged(t, "debian/nfpm.yaml"), "dst: /lib/systemd/system/vigil.socket") {
		t.Error("the package does not have the unit")
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if !strings.Contains(packaged(t, "debian/"+script), "vigil.socket") {
			t.Errorf("%s forgets the socket", script)
		}
	}
}

// The commands of compose.yaml are read by the server as it would be started there.
func TestComposeFileStartsTheServerAndAsksIt(t *testing.T) {
	text := packaged(t, "compose.yaml")
	_, rest, _ := strings.Cut(text, "content: |\n")
	text, _, _ = strings.Cut(rest, "volumes:")
	file := filepath.Join(t.TempDir(), "vigil.conf")
	dir := t.TempDir()
	text = strings.NewReplacer("dir /data", "dir "+dir, "${VIGIL_PASSWORD:?set VIGIL_PASSWORD}", "geheim", "bind * -::*", "bind 127.0.0.1").Replace(text)
	if err := os.WriteFile(file, []byte(text), 0o400); err != nil {
		t.Fatal(err)
	}
	p := launch(t, file)
	if got, err := pings(t, p.addr, file); got != "+PONG" || err != nil {
		t.Errorf("the health check says %q, %v", got, err)
	}
	if got := dial(t, p).do(t, "GET k"); !strings.Contains(got, "NOAUTH") {
		t.Errorf("without the password: %s", got)
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
	for _, want := range []string{"FROM golang:" + string(version[1]) + " ", " ./cmd/vigil-server", "USER 65532", "STOPSIGNAL SIGTERM", "VOLUME /data", `CMD ["/vigil-server", "--ping"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the container file", want)
		}
	}
}
