package window

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vigildb/vigil/server/internal/report"
)

// metricsHandler is /metrics.
func (w *Window) metricsHandler() http.Handler {
	return promhttp.HandlerFor(w.registry(), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (w *Window) registry() *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(report.NewCollector(w.source), &collector{w})
	return registry
}

// collector makes the metrics of what the window alone knows: its connections, and the keys that it has found.
type collector struct{ w *Window }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	descConns    = describe("vigil_window_connections", "Connections over HTTP.")
	descNodes    = describe("vigil_schedule_nodes", "Nodes of a schedule.", "db", "key", "policy")
	descLeased   = describe("vigil_schedule_leased_nodes", "Nodes of a schedule that are leased.", "db", "key", "policy")
	descHanded   = describe("vigil_schedule_handed_out_total", "Nodes that a schedule has leased.", "db", "key", "policy")
	descObserved = describe("vigil_schedule_observed_total", "Probes reported to a schedule.", "db", "key", "policy")
	descLost     = describe("vigil_schedule_failed_total", "Probes that did not happen.", "db", "key", "policy")
	descUnits    = describe("vigil_placement_units", "Units of a placement map.", "db", "key", "strategy")
	descVersion  = describe("vigil_placement_version", "Changes of a placement map.", "db", "key", "strategy")
	descFound    = describe("vigil_discovered_keys", "Schedules and placement maps found so far.", "type")
)

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descConns, descNodes, descLeased, descHanded, descObserved, descLost, descUnits, descVersion, descFound} {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := sink(ch)
	s.put(descConns, float64(len(c.w.slots)))
	if f, err := c.w.source.Current(); err == nil {
		c.decisions(s, f)
	}
}

// sink takes the metrics of one scrape.
type sink chan<- prometheus.Metric

func (s sink) put(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s sink) add(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// maxMeasured is how many schedules, and how many maps, have metrics of their own.
const maxMeasured = 16

// decisions are the schedules and maps that were found.
func (c *collector) decisions(s sink, f *figures) {
	found := c.w.discover(f)
	s.put(descFound, float64(len(found.schedules)), "schedule")
	s.put(descFound, float64(len(found.maps)), "placement")
	seen := map[string]bool{} // names that were cut may be alike
	label := func(v keyFigures, of string) []string {
		labels := []string{strconv.Itoa(v.DB), printable(v.Key, maxLabel), v.text(of)}
		id := of + strings.Join(labels, " ")
		if seen[id] {
			return nil
		}
		seen[id] = true
		return labels
	}
	for _, v := range c.w.describeKeys("SCHED.INFO", found.schedules, maxMeasured) {
		if labels := label(v, "policy"); labels != nil {
			s.put(descNodes, v.number("nodes"), labels...)
			s.put(descLeased, v.number("leased"), labels...)
			s.add(descHanded, v.number("handed-out"), labels...)
			s.add(descObserved, v.number("observed"), labels...)
			s.add(descLost, v.number("failed"), labels...)
		}
	}
	for _, v := range c.w.describeKeys("PLACE.INFO", found.maps, maxMeasured) {
		if labels := label(v, "strategy"); labels != nil {
			s.put(descUnits, v.number("units"), labels...)
			s.put(descVersion, v.number("version"), labels...)
		}
	}
}
