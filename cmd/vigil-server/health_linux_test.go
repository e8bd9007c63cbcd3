package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// askWindow asks the window of a server.
func askWindow(t *testing.T, p *process, path string) (status int, body string) {
	t.Helper()
	m := windowAt.FindStringSubmatch(p.out.String())
	if m == nil {
		t.Fatalf("the log does not tell where the window is:\n%s", p.out)
	}
	reply, err := http.Get(m[1] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(text)
}

// wantHealth waits until a route of the window says so.
func wantHealth(t *testing.T, p *process, path string, status int, body string) {
	t.Helper()
	var gotStatus int
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if gotStatus, got = askWindow(t, p, path); gotStatus == status && got == body+"\n" {
			return
		}
	}
	t.Errorf("/%s: %d %q, want %d %q", path, gotStatus, got, status, body)
}

// comparison is one side of an "and" in an alert.
var comparison = regexp.MustCompile(`^([a-z_]+) == ([0-9.]+)$`)

// fires evaluates an alert of packaging/monitoring, which compares metrics without labels, with those of a server.
func fires(t *testing.T, alert string, p *process) bool {
	t.Helper()
	doc, err := os.ReadFile("packaging/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`- alert: ` + alert + `\b.*\n +expr: (.*)\n`).FindSubmatch(doc)
	if m == nil {
		t.Fatalf("packaging/monitoring/alerts.yaml has no alert %s", alert)
	}
	_, text := askWindow(t, p, "metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(m[1]), " and ") {
		c := comparison.FindStringSubmatch(part)
		if c == nil {
			t.Fatalf("%s: %q is no comparison that the test understands", alert, part)
		}
		family := families[c[1]]
		if family == nil {
			t.Fatalf("%s: there is no metric %s", alert, c[1])
		}
		if want, _ := strconv.ParseFloat(c[2], 64); family.Metric[0].GetGauge().GetValue() != want {
			return false
		}
	}
	return true
}

// wantAlert waits until an alert fires, or does not.
func wantAlert(t *testing.T, alert string, p *process, want bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if fires(t, alert, p) == want {
			return
		}
	}
	_, text := askWindow(t, p, "metrics")
	t.Errorf("%s: want %v:\n%s", alert, want, text)
}

// What a balancer and Prometheus learn of each member: a follower is healthy, and writes go to the leader.
func TestHealthOfAGroupIsThatOfEachRole(t *testing.T) {
	t.Parallel()
	g := newTrio(t, "--http-port", "auto")
	leader := g.leader()
	for i := range 3 {
		if i == leader {
			wantHealth(t, g.up[i], "healthz", 200, "ok: leader")
			wantHealth(t, g.up[i], "healthz?leader", 200, "ok: leader")
			continue
		}
		wantHealth(t, g.up[i], "healthz", 200, "ok: follower")
		wantHealth(t, g.up[i], "healthz?leader", 503, fmt.Sprintf("follower: another member leads the group: 127.0.0.1:%d", g.ports[leader]))
		wantAlert(t, "VigilUnhealthy", g.up[i], false)
		wantAlert(t, "VigilRefusesWrites", g.up[i], false)
	}
	rest := (leader + 1) % 3
	for i := range 3 {
		if i != rest {
			g.up[i].signal(t, syscall.SIGKILL)
			g.up[i].wait()
		}
	}
	for _, path := range []string{"healthz", "healthz?leader"} {
		wantHealth(t, g.up[rest], path, 503, "follower: no leader of the group is known")
	}
	wantAlert(t, "VigilUnhealthy", g.up[rest], true)
	wantAlert(t, "VigilRefusesWrites", g.up[rest], false)
}

func TestAlertOfRefusedWritesIsForAFullDisk(t *testing.T) {
	t.Parallel()
	p := launch(t, "--dir", t.TempDir(), "--http-port", "auto")
	wantHealth(t, p, "healthz?leader", 200, "ok")
	wantAlert(t, "VigilRefusesWrites", p, false)
	fillDisk(t, p, true)
	setUntil(t, p, "MISCONF", 0)
	wantAlert(t, "VigilRefusesWrites", p, true)
	if status, body := askWindow(t, p, "healthz?leader"); status != 503 || !strings.Contains(body, "the disk fails") {
		t.Errorf("/healthz?leader: %d %s", status, body)
	}
	fillDisk(t, p, false)
	wantAlert(t, "VigilRefusesWrites", p, false)
}
