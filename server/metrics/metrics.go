// Package metrics makes metrics for Prometheus of a server that a program has in itself.
//
//	prometheus.MustRegister(metrics.NewCollector(srv))
//
// The names are those of redis_exporter, and of vigil itself (docs/monitoring.md). The pages of server/window
// and their HTTP server are not linked; there, /metrics has these metrics and those of schedules and
// placement maps.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/internal/report"
)

// NewCollector makes a collector of the metrics of a server. A scrape asks the server over a connection inside the
// process, which CLIENT LIST shows under the name vigil-metrics; scrapes within a second share what it
// replied. When the server does not reply, or is closed, redis_up is 0.
//
// The metrics of two servers have the same names: a program that has several gives each a label, with
// prometheus.WrapRegistererWith.
func NewCollector(srv *server.Server) prometheus.Collector {
	return report.NewCollector(report.NewSource(srv, "vigil-metrics", time.Now))
}
