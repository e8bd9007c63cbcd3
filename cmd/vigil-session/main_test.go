package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/cmd/vigil-session/internal/rig"
	"github.com/vigildb/vigil/cmd/vigil-session/webtier"
	"github.com/vigildb/vigil/server"
)

const patient = time.Minute

// programs are built once, for the tests that need processes.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "vigil-session-test")
	if err != nil {
		return "", err
	}
	for _, module := range [][2]string{{".", "."}, {"../..", "./cmd/vigil-server"}} { // each by its own go.sum
		build := exec.Command("go", "build", "-C", module[0], "-o", dir+"/", module[1])
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as for all other tests: it is compiled already
		if out, err := build.CombinedOutput(); err != nil {
			return dir, fmt.Errorf("%w\n%s", err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// program is a process whose log the test reads.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // capacity: more than any test's program writes
	seen  []string
	ended chan error
}

func launch(t *testing.T, name string, args ...string) *program {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, cmd: exec.Command(filepath.Join(dir, name), args...), lines: make(chan string, 10000), ended: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), "VIGIL_SESSION_PASSWORD=", "VIGIL_SESSION_USERNAME=")
	r, w := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
	}()
	go func() {
		err := p.cmd.Wait()
		w.Close()
		p.ended <- err
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// subscribed is in the log line of a subscription, and not in that of a failed
// one, which reads "not subscribed".
const subscribed = "msg=subscribed"

// says waits for a line with this text and returns it.
func (p *program) says(text string) string {
	p.t.Helper()
	limit := time.After(patient)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("ended without saying %q:\n%s", text, strings.Join(p.seen, "\n"))
			}
			if p.seen = append(p.seen, line); strings.Contains(line, text) {
				return line
			}
		case <-limit:
			p.t.Fatalf("never said %q:\n%s", text, strings.Join(p.seen, "\n"))
		}
	}
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end and checks the exit code.
func (p *program) exits(code int) {
	p.t.Helper()
	select {
	case <-p.ended:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			p.t.Errorf("exit code %d, want %d", got, code)
		}
	case <-time.After(patient):
		p.t.Fatal("does not end")
	}
}

func webOn(t *testing.T, addr string) *webtier.Client {
	t.Helper()
	rdb := redis.NewClient(webtier.Pool(&redis.Options{Network: "unix", Addr: addr}, 16))
	t.Cleanup(func() { rdb.Close() })
	return webtier.New(rdb, webtier.Options{Budget: patient})
}

// slowConfig writes a configuration for machines under load: answers wait as
// long as the tests do.
func slowConfig(t *testing.T, path, more string) {
	t.Helper()
	text := "budget = \"1h\"\nanswer_ttl = \"1h\"\n" + more
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurationIsReloadedOrRefused(t *testing.T) {
	s := rig.Start(t, server.Options{Seed: 1})
	file := filepath.Join(t.TempDir(), "session.toml")
	slowConfig(t, file, "featured = [\"/a\"]\n")
	p := launch(t, "vigil-session", "-addr", s.Addr, "-config", file)
	p.says(subscribed)
	web := webOn(t, s.Addr)
	featured := func(want string) {
		t.Helper()
		if got, err := web.Ask(t.Context(), "featuredpages", "s", ""); string(got) != want || err != nil {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
	featured(`"[\"/a\"]"`)
	slowConfig(t, file, "featured = [\"/b\"]\n")
	p.says("configuration reloaded")
	featured(`"[\"/b\"]"`)
	slowConfig(t, file, "featured = [\"/c\"]\nfeatures = 1\n")
	if line := p.says("configuration refused"); !strings.Contains(line, "features is no name") {
		t.Errorf("the log does not say what is wrong: %s", line)
	}
	featured(`"[\"/b\"]"`)
	p.signal(syscall.SIGHUP)
	p.says("has not changed")
	slowConfig(t, file, "featured = [\"/d\"]\n[limits]\nworkers = 7\n")
	p.signal(syscall.SIGHUP)
	p.says("configuration reloaded")
	featured(`"[\"/d\"]"`)
	p.signal(syscall.SIGTERM)
	p.says("stopped")
	p.exits(0)
}

func TestSIGTERMAnswersWhatWasBegun(t *testing.T) {
	s := rig.Start(t, server.Options{Seed: 1})
	file := filepath.Join(t.TempDir(), "session.toml")
	slowConfig(t, file, "")
	p := launch(t, "vigil-session", "-addr", s.Addr, "-config", file)
	p.says(subscribed)
	rdb := s.Client(t)
	const views = 500
	for i := range views {
		if n, err := rdb.Publish(t.Context(), fmt.Sprintf("ss:pageview:s%d:r", i), "/").Result(); n != 1 || err != nil {
			t.Fatalf("publish: %d, %v", n, err)
		}
	}
	p.signal(syscall.SIGTERM)
	p.exits(0)
	for i := range views {
		if n, err := rdb.LLen(t.Context(), fmt.Sprintf("async:pageview:s%d:r", i)).Result(); n != 1 || err != nil {
			t.Errorf("view %d has %d answers, %v, want 1", i, n, err)
		}
	}
	if t.Failed() {
		for line := range p.lines {
			t.Log(line)
		}
	}
}

func TestKilledServerDegradesPagesUntilItIsBack(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	startServer := func() *program {
		p := launch(t, "vigil-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--appendfsync", "always")
		rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
		defer rdb.Close()
		until(t, "server answers", func() bool { return rdb.Ping(t.Context()).Err() == nil })
		return p
	}
	vigil := startServer()
	file := filepath.Join(dir, "session.toml")
	slowConfig(t, file, "")
	service := launch(t, "vigil-session", "-addr", socket, "-config", file)
	service.says(subscribed)
	web := webOn(t, socket)
	stop, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var answered [8]int64 // the newest count that each visitor was told
	for i := range answered {
		wg.Go(func() {
			for stop.Err() == nil {
				v, err := web.PageView(stop, fmt.Sprint("visitor", i), "/")
				if err != nil {
					return // the server is dead
				}
				if v.TotalPages != answered[i]+1 {
					t.Errorf("visitor %d: page %d after page %d", i, v.TotalPages, answered[i])
				}
				answered[i] = v.TotalPages
			}
		})
	}
	until(t, "some pages", func() bool {
		rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
		defer rdb.Close()
		n, _ := rdb.Get(t.Context(), "total-pages:visitor0").Int()
		return n > 20
	})
	vigil.signal(syscall.SIGKILL)
	<-vigil.ended
	service.says("not subscribed")
	cancel()
	wg.Wait()
	if _, err := web.PageView(t.Context(), "visitor0", "/"); err == nil {
		t.Error("a dead server answered")
	}
	startServer()
	service.says(subscribed)
	for i := range answered {
		v, err := web.PageView(t.Context(), fmt.Sprint("visitor", i), "/")
		// One view may have been counted without its answer.
		if err != nil || v.TotalPages <= answered[i] || v.TotalPages > answered[i]+2 {
			t.Errorf("visitor %d after the crash: got %+v, %v; was told of %d pages", i, v, err, answered[i])
		}
	}
	service.signal(syscall.SIGTERM)
	service.exits(0)
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for limit := time.After(patient); !done(); {
		select {
		case <-limit:
			t.Fatalf("%s: never", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestHealthAndMetricsAreServed(t *testing.T) {
	s := rig.Start(t, server.Options{Seed: 1})
	p := launch(t, "vigil-session", "-addr", s.Addr, "-http", "127.0.0.1:0", "-log-format", "json")
	line := p.says("metrics and health")
	_, rest, _ := strings.Cut(line, `"address":"`)
	base, _, _ := strings.Cut(rest, `"`)
	p.says(`"msg":"subscribed"`)
	get := func(path string, status int) string {
		t.Helper()
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Errorf("%s: got %s, %v; want %d", path, resp.Status, err, status)
		}
		return string(body)
	}
	get("/healthz", 200)
	get("/readyz", 200)
	if _, err := webOn(t, s.Addr).Ask(t.Context(), "combo", "s", "1"); err != nil {
		t.Error(err)
	}
	metrics := get("/metrics", 200)
	for _, want := range []string{"vigil_session_subscribed 1", `vigil_session_requests_total{command="combo",outcome="failed"} 0`,
		"vigil_session_queue_requests 0", "go_goroutines", "process_resident_memory_bytes"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	get("/", 404)
	s.Stop(t)
	p.says("not subscribed")
	get("/readyz", 503)
	get("/healthz", 200)
}

func TestFlagsThatMakeNoSenseEndWith2(t *testing.T) {
	for _, args := range [][]string{
		{"-addr", "nonsense"}, {"-addr", "http://x"}, {"-wire", "node"}, {"-epoch", "then"}, {"-session-glob", "a:b"},
		{"-session-glob", ""}, {"-log-format", "xml"}, {"-log-level", "loud"}, {"-http", "a:b:c"}, {"extra"}, {"-nonsense"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), args, &out, &out); code != 2 {
			t.Errorf("%q: exit code %d, want 2\n%s", args, code, out.String())
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"-config", filepath.Join(t.TempDir(), "none")}, &out, &out); code != 1 {
		t.Errorf("no file: exit code %d, want 1", code)
	}
	for _, args := range [][]string{{"-h"}, {"-version"}, {"bench", "-h"}} {
		if code := run(t.Context(), args, &out, &out); code != 0 {
			t.Errorf("%q: exit code %d, want 0", args, code)
		}
	}
}

func TestAddressesAndPasswordsAreRead(t *testing.T) {
	t.Setenv(passwordVariable, "secret")
	for addr, want := range map[string]redis.Options{
		"localhost:6379":                {Addr: "localhost:6379", DB: 3, Password: "secret"},
		"/run/vigil.sock":               {Network: "unix", Addr: "/run/vigil.sock", DB: 3, Password: "secret"},
		"redis://u:p@h:1/2":             {Addr: "h:1", DB: 2, Username: "u", Password: "p"},
		"redis://h:1":                   {Addr: "h:1", DB: 3, Password: "secret"},
		net.JoinHostPort("::1", "6379"): {Addr: "[::1]:6379", DB: 3, Password: "secret"},
	} {
		got, err := storeOptions(addr, 3, true)
		if err != nil || got.Addr != want.Addr || got.DB != want.DB || got.Username != want.Username || got.Password != want.Password ||
			want.Network != "" && got.Network != want.Network {
			t.Errorf("%s: got %+v, %v; want %+v", addr, got, err, want)
		}
	}
	for addr, want := range map[string]string{"": "", "9187": "localhost:9187", ":9187": "localhost:9187", "0.0.0.0:1": "0.0.0.0:1"} {
		if got, err := httpAddress(addr); got != want || err != nil {
			t.Errorf("-http %q: got %q, %v; want %q", addr, got, err, want)
		}
	}
}

func TestBenchFindsNothingLostAndNothingWrong(t *testing.T) {
	p := launch(t, "vigil-session", "bench", "-redis", "", "-visitors", "20", "-think", "20ms", "-warm", "100ms", "-time", "500ms", "-rounds", "1")
	for _, kind := range []string{"vigil", "vigil, with filters"} {
		if line := p.says(", " + kind + ": "); !strings.HasSuffix(line, " 0 wrong, 0 lost") {
			t.Error(line)
		}
	}
	p.says("| 20 | vigil, with filters |")
	p.exits(0)
}
