package metrics_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vigildb/vigil/server/metrics"
	"github.com/vigildb/vigil/server/servertest"
)

// gather returns the value of each metric without labels, and of each with them the number of its label sets.
func gather(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			switch {
			case len(m.Label) > 0:
				all[f.GetName()]++
			case m.Counter != nil:
				all[f.GetName()] = m.Counter.GetValue()
			default:
				all[f.GetName()] = m.Gauge.GetValue()
			}
		}
	}
	return all
}

func TestCollectorReportsAServer(t *testing.T) {
	s := servertest.Run(t)
	s.Set("k", "v")
	s.Get("k")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(s.Server()))
	got := gather(t, registry)
	for name, want := range map[string]float64{"redis_up": 1, "vigil_healthy": 1, "vigil_leader": 1, "redis_keyspace_hits_total": 1, "redis_db_keys": 16,
		"redis_connected_clients": 2, "vigil_in_memory": 1, "vigil_snapshots": 0} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	clients, err := s.Do("CLIENT", "LIST")
	if list, _ := clients.(string); err != nil || !strings.Contains(list, "name=vigil-metrics ") {
		t.Errorf("CLIENT LIST: %s (%v)", list, err)
	}
	for name := range got {
		if strings.HasPrefix(name, "vigil_window") || strings.HasPrefix(name, "vigil_schedule") || strings.HasPrefix(name, "vigil_placement") {
			t.Errorf("%s is of the window", name)
		}
	}
}

func TestCollectorOutlivesItsServer(t *testing.T) {
	s := servertest.Run(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.NewCollector(s.Server()))
	if err := s.Server().Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := gather(t, registry); got["redis_up"] != 0 || got["redis_exporter_last_scrape_error"] != 1 || len(got) > 5 {
		t.Errorf("after Close: %v", got)
	}
}

func TestCollectorsOfTwoServers(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, name := range []string{"a", "b"} {
		labelled := prometheus.WrapRegistererWith(prometheus.Labels{"instance": name}, registry)
		labelled.MustRegister(metrics.NewCollector(servertest.Run(t).Server()))
	}
	if got := gather(t, registry); got["redis_up"] != 2 {
		t.Errorf("redis_up of %v servers, want 2", got["redis_up"])
	}
}
