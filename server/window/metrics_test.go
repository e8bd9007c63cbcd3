package window

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// exporterMetric is a line of testdata/exporter.txt.
type exporterMetric struct {
	kind   string
	labels []string
}

func exporterMetrics(t *testing.T) map[string]exporterMetric {
	t.Helper()
	text, err := os.ReadFile("testdata/exporter.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]exporterMetric{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] != "#" {
			all[words[1]] = exporterMetric{words[0], words[2:]}
		}
	}
	return all
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("not what Prometheus reads: %v", err)
	}
	return families
}

func labelsOf(m *dto.Metric) (names []string) {
	for _, l := range m.Label {
		names = append(names, l.GetName())
	}
	return names
}

// value is that of the metric with all these label values; -1 if there is none.
func value(families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	for _, m := range families[name].GetMetric() {
		var have []string
		for _, l := range m.Label {
			have = append(have, l.GetValue())
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(have, l) }) {
			continue
		}
		if m.Counter != nil {
			return m.Counter.GetValue()
		}
		return m.Gauge.GetValue()
	}
	return -1
}

// busyRig is one whose every metric has something to tell.
func busyRig(t *testing.T) *rig {
	r := newRig(t, "--slowlog-log-slower-than", "0", "--maxmemory", "100mb")
	r.must("SET k v")
	r.must("SET e v EX 1000")
	r.must("GET k")
	r.must("GET nosuch")
	r.do("GET", "two", "arguments")
	r.must("LPUSH l a")
	r.do("GET", "l")
	r.must("SCHED.CREATE feeds SEED 1")
	r.must("SCHED.ADD feeds a RATE 2 b RATE 1")
	r.must("SCHED.NEXT feeds")
	r.must("PLACE.CREATE shards SEED 1")
	r.must("PLACE.SET shards ash 1 birch 2 cedar 3")
	return r
}

func TestMetricsHaveNamesTypesAndLabelsOfTheExporter(t *testing.T) {
	known := exporterMetrics(t)
	families := parse(t, busyRig(t).get("/metrics"))
	for name, f := range families {
		if strings.HasPrefix(name, "vigil_") {
			continue
		}
		want, ok := known[name]
		if !ok {
			t.Errorf("%s is no metric of the exporter", name)
			continue
		}
		if got := strings.ToLower(f.GetType().String()); got != want.kind {
			t.Errorf("%s is a %s, want a %s", name, got, want.kind)
		}
		for _, m := range f.Metric {
			got, labels := labelsOf(m), slices.Clone(want.labels)
			slices.Sort(got)
			slices.Sort(labels)
			if !slices.Equal(got, labels) {
				t.Errorf("%s has the labels %v, want %v", name, got, labels)
			}
		}
	}
}

// dashboards lists what the exporter's Grafana dashboards and alerts ask for, without
// what only replicas and clusters have.
var dashboards = strings.Fields(`redis_up redis_uptime_in_seconds redis_connected_clients redis_blocked_clients redis_memory_used_bytes
	redis_memory_used_rss_bytes redis_memory_max_bytes redis_commands_processed_total redis_commands_total
	redis_commands_duration_seconds_total redis_keyspace_hits_total redis_keyspace_misses_total redis_net_input_bytes_total
	redis_net_output_bytes_total redis_db_keys redis_db_keys_expiring redis_expired_keys_total redis_evicted_keys_total
	redis_connected_slaves redis_instance_info redis_slowlog_length redis_config_maxmemory redis_config_maxclients
	redis_total_system_memory_bytes redis_pubsub_channels redis_start_time_seconds redis_rdb_last_save_timestamp_seconds
	redis_rejected_connections_total redis_expired_subkeys_total redis_expired_stale_percentage redis_evicted_scripts_total
	redis_eventloop_cycles_total redis_eventloop_duration_sum_usec_total redis_eventloop_duration_cmd_sum_usec_total
	redis_current_eviction_exceeded_time_ms redis_cpu_user_main_thread_seconds_total redis_mem_fragmentation_ratio redis_errors_total redis_latency_percentiles_usec redis_last_slow_execution_duration_seconds
	vigil_journal_lsn vigil_journal_synced_lsn vigil_journal_bytes vigil_level_bytes vigil_compactions_total vigil_dirty_keys
	vigil_shards vigil_schedule_nodes vigil_placement_units vigil_snapshots`)

func TestMetricsThatDashboardsAskForAreThere(t *testing.T) {
	families := parse(t, busyRig(t).get("/metrics"))
	for _, name := range dashboards {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestMetricsPassTheLinterUnlessTheExportersDoNot(t *testing.T) {
	known := exporterMetrics(t)
	problems, err := promlint.New(strings.NewReader(busyRig(t).get("/metrics"))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if _, inherited := known[p.Metric]; !inherited {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestMetricsTellWhatHappened(t *testing.T) {
	families := parse(t, busyRig(t).get("/metrics"))
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"redis_up", nil, 1}, {"vigil_healthy", nil, 1},
		{"redis_commands_total", []string{"set"}, 2}, {"redis_commands_total", []string{"get"}, 3},
		{"redis_commands_rejected_calls_total", []string{"get"}, 1}, {"redis_commands_failed_calls_total", []string{"get"}, 1},
		{"redis_errors_total", []string{"WRONGTYPE"}, 1}, {"redis_errors_total", []string{"ERR"}, 1},
		{"redis_keyspace_hits_total", nil, 2}, {"redis_keyspace_misses_total", nil, 1},
		{"redis_db_keys", []string{"db0"}, 5}, {"redis_db_keys_expiring", []string{"db0"}, 1}, {"redis_db_keys", []string{"db15"}, 0},
		{"redis_memory_max_bytes", nil, 100 << 20}, {"redis_config_maxmemory", nil, 100 << 20}, {"redis_config_maxclients", nil, 10000},
		{"vigil_schedule_nodes", []string{"feeds", "index"}, 2}, {"vigil_schedule_leased_nodes", []string{"feeds"}, 1},
		{"vigil_schedule_handed_out_total", []string{"feeds"}, 1}, {"vigil_placement_units", []string{"shards", "sieve-abs"}, 3},
		{"vigil_shards", nil, 256}, {"vigil_in_memory", nil, 1}, {"vigil_snapshots", nil, 0},
	} {
		if got := value(families, c.name, c.labels...); got != c.want {
			t.Errorf("%s%v: got %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	for _, name := range []string{"redis_commands_duration_seconds_total", "redis_memory_used_bytes", "redis_slowlog_length",
		"redis_net_input_bytes_total", "vigil_journal_lsn", "redis_start_time_seconds"} {
		if got := value(families, name); got <= 0 {
			t.Errorf("%s: got %v, want more than 0", name, got)
		}
	}
}

func TestLabelsTakeAnyNameOfAKey(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("x", 1000)
	for _, name := range []string{"a\xffb", "new\nline", `quo"te\`, "ünïcode ✓", long, long + "y", strings.Repeat("✓", 400)} {
		if a := r.do("SCHED.CREATE", name, "SEED", "1"); a.Err() != nil {
			t.Fatal(a.Err())
		}
	}
	families := parse(t, r.get("/metrics"))
	if n := len(families["vigil_schedule_nodes"].GetMetric()); n != 6 {
		t.Errorf("%d schedules have metrics, want 6: two names are alike when they are cut", n)
	}
	if _, err := r.w.registry().Gather(); err != nil {
		t.Errorf("metrics that contradict each other: %v", err)
	}
	if got := value(families, "vigil_schedule_nodes", `"a\xffb"`); got != 0 {
		t.Errorf("a name that is no text: got %v, want 0 nodes under its quoted form", got)
	}
}

func TestMetricsTellOfAServerThatDoesNotAnswer(t *testing.T) {
	r := newRig(t, "--rename-command", "INFO", "")
	status, body := r.ask(request("/metrics"))
	families := parse(t, body)
	if status != http.StatusOK || value(families, "redis_up") != 0 || value(families, "redis_exporter_last_scrape_error") != 1 {
		t.Errorf("INFO was renamed away: status %d\n%s", status, body)
	}
	if status, body := r.ask(request("/")); status != http.StatusServiceUnavailable || !strings.Contains(body, "did not answer") {
		t.Errorf("the page: status %d\n%s", status, body)
	}
}

func TestCommandsAreAskedUnderTheirNewNames(t *testing.T) {
	r := newRig(t, "--rename-command", "INFO", "secret-info", "--rename-command", "slowlog", "sl", "--rename-command", "SCAN", "walk")
	r.client.Names = r.w.observer.Names
	r.must("SCHED.CREATE feeds SEED 1")
	if got := value(parse(t, r.get("/metrics")), "vigil_schedule_nodes", "feeds"); got != 0 {
		t.Errorf("the schedule was not found by the new name of SCAN: got %v", got)
	}
}
