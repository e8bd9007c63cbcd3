// Package monitoring has no code: its tests compare the dashboard for Grafana, dashboard.json, and the alerts for
// Prometheus, alerts.yaml, with what a server exports.
package monitoring
