package monitoring

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/membership/membershiptest"
	"github.com/vigildb/vigil/server/window"
)

// query is an expression of one of the two files.
type query struct{ of, expr string }

// dashboard is what a test reads of a file of Grafana.
type dashboard struct {
	Title      string
	UID        string
	Templating struct {
		List []struct{ Name, Query string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Panels []panel
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ RefID, Expr string }
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// variables stands for what Grafana puts into expressions.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$job", "vigil", "$instance", ".*")

func (d dashboard) queries() (all []query) {
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, query{p.Title, variables.Replace(q.Expr)})
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, query{a.Name, variables.Replace(a.Expr)})
	}
	return all
}

// alerts is a file of rules.
type alerts struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			For         string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func readAlerts(t *testing.T) (a alerts) {
	t.Helper()
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a alerts) queries() (all []query) {
	for _, g := range a.Groups {
		for _, r := range g.Rules {
			all = append(all, query{r.Alert, r.Expr})
		}
	}
	return all
}

// exported are the metrics of a server that is a cluster by itself and has a schedule and a placement map, with the names of
// their labels.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	srv, config := membershiptest.Alone(t, "--http-port", "auto")
	w, err := window.Open(srv, config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	made := send(t, srv, "SCHED.CREATE feeds SEED 1\r\nSCHED.ADD feeds a RATE 1\r\nPLACE.CREATE shards SEED 1\r\nPLACE.SET shards a 1\r\n")
	if strings.Contains(made, "-ERR") {
		t.Fatal(made)
	}
	send(t, srv, "GET two arguments\r\n")
	return scrape(t, "http://"+w.Addrs()[0].String()+"/metrics")
}

// send sends calls and returns their replies.
func send(t *testing.T, srv *server.Server, calls string) (replies string) {
	t.Helper()
	c, err := srv.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, calls+"ECHO done\r\n"); err != nil {
		t.Fatal(err)
	}
	for !strings.HasSuffix(replies, "done\r\n") {
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if err != nil {
			t.Fatalf("%v after %q", err, replies)
		}
		replies += string(b[:n])
	}
	return replies
}

func scrape(t *testing.T, url string) map[string][]string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for name, f := range families {
		names := []string{"job", "instance"} // which Prometheus adds
		for _, l := range f.Metric[0].Label {
			names = append(names, l.GetName())
		}
		if f.Metric[0].Summary != nil {
			names = append(names, "quantile")
		}
		all[name] = names
	}
	return all
}

// elsewhere are metrics of servers other than that of the test, which is nobody's replica and nobody's master.
var elsewhere = map[string][]string{
	"redis_connected_slave_lag_seconds": {"job", "instance", "slave_ip", "slave_port", "slave_state"},
	"redis_master_link_up":              {"job", "instance", "master_host", "master_port"},
}

// TestExpressionsAreAboutWhatAServerExports parses every expression, and looks for the metrics and labels that it names.
func TestExpressionsAreAboutWhatAServerExports(t *testing.T) {
	known := exported(t)
	for name, names := range elsewhere {
		known[name] = names
	}
	for _, q := range append(readDashboard(t).queries(), readAlerts(t).queries()...) {
		expr, err := parser.ParseExpr(q.expr)
		if err != nil {
			t.Errorf("%s: %s: %v", q.of, q.expr, err)
			continue
		}
		for _, problem := range complaints(expr, known) {
			t.Errorf("%s: %s: %s", q.of, q.expr, problem)
		}
	}
}

// complaints lists what an expression names and no server has.
func complaints(expr parser.Expr, known map[string][]string) (all []string) {
	labelsOf := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		names, exists := known[s.Name]
		if !exists {
			all = append(all, "there is no metric "+s.Name)
		}
		for _, l := range names {
			labelsOf[l] = true
		}
		for _, m := range s.LabelMatchers {
			if m.Name != labels.MetricName && exists && !slices.Contains(names, m.Name) {
				all = append(all, s.Name+" has no label "+m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, l := range a.Grouping {
				if !labelsOf[l] {
					all = append(all, "nothing has the label "+l)
				}
			}
		}
		return nil
	})
	return all
}

// TestAMetricThatIsNoneIsFound plants what the test above is to find.
func TestAMetricThatIsNoneIsFound(t *testing.T) {
	known := map[string][]string{"redis_up": {"instance"}}
	for text, want := range map[string]int{"redis_up": 0, "redis_down": 1, `redis_up{cmd="x"}`: 1, "sum by (cmd) (redis_up)": 1, "rate(redis_up[5m]) + nosuch": 1} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := complaints(expr, known); len(got) != want {
			t.Errorf("%s: %v, want %d", text, got, want)
		}
	}
}

func TestDashboardIsWhatGrafanaTakes(t *testing.T) {
	d := readDashboard(t)
	if d.Title != "vigil" || d.UID != "vigil" || len(d.Panels) < 20 {
		t.Errorf("%s %s with %d panels", d.Title, d.UID, len(d.Panels))
	}
	ids, names := map[int]bool{}, map[string]bool{}
	for _, v := range d.Templating.List {
		names[v.Name] = true
	}
	for i, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s: the number %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d shows nothing: %+v", p.ID, p)
		}
		if g := p.GridPos; g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s does not fit: %+v", p.Title, g)
		}
		for _, o := range d.Panels[:i] {
			a, b := p.GridPos, o.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies on %s", p.Title, o.Title)
			}
		}
		for _, q := range p.Targets {
			if !strings.Contains(q.Expr, `{job=~"$job",instance=~"$instance"`) {
				t.Errorf("%s: %s is not of the servers that are chosen", p.Title, q.Expr)
			}
		}
	}
	for _, name := range []string{"datasource", "job", "instance"} {
		if !names[name] {
			t.Errorf("there is no variable %s", name)
		}
	}
}

func TestAlertsSayWhatIsWrong(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range readAlerts(t).Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !strings.HasPrefix(r.Alert, "Vigil") {
				t.Errorf("the name %q", r.Alert)
			}
			seen[r.Alert] = true
			if r.Annotations["summary"] == "" || r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning" {
				t.Errorf("%s: %v %v", r.Alert, r.Labels, r.Annotations)
			}
			if _, err := model.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: for %s: %v", r.Alert, r.For, err)
			}
		}
	}
	if len(seen) < 15 {
		t.Errorf("%d alerts", len(seen))
	}
}
