package window

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/vigildb/vigil/server/conf"

	"github.com/vigildb/vigil/server/internal/door"
)

// metricsHandler is /metrics. Nothing has to be kept between scrapes: the server
// counts anyway.
func (w *Window) metricsHandler() http.Handler {
	return promhttp.HandlerFor(w.registry(), promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (w *Window) registry() *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(&collector{w: w, info: infoMetrics()})
	return registry
}

// collector makes metrics of figures at each scrape.
type collector struct {
	w    *Window
	info []describedMetric
}

type describedMetric struct {
	infoMetric
	desc *prometheus.Desc
}

func infoMetrics() (all []describedMetric) {
	for _, m := range append(redisRows(), vigilRows()...) {
		all = append(all, describedMetric{m, describe(m.name, m.help)})
	}
	return all
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Those with labels, and those that are not in INFO.
var (
	descUp       = describe("redis_up", "1 if the server answers.")
	descScrape   = describe("redis_exporter_last_scrape_duration_seconds", "Time that the last scrape took.")
	descError    = describe("redis_exporter_last_scrape_error", "1 if the last scrape failed.", "err")
	descStart    = describe("redis_start_time_seconds", "Time of the start.")
	descInstance = describe("redis_instance_info", "What the server is.", "role", "redis_version", "redis_build_id", "redis_mode", "os",
		"maxmemory_policy", "tcp_port", "run_id", "process_id", "master_replid")
	descCalls      = describe("redis_commands_total", "Calls of a command.", "cmd")
	descDuration   = describe("redis_commands_duration_seconds_total", "Total time that a command took.", "cmd")
	descRejected   = describe("redis_commands_rejected_calls_total", "Calls of a command that did not run.", "cmd")
	descFailed     = describe("redis_commands_failed_calls_total", "Calls of a command that ended with an error.", "cmd")
	descErrors     = describe("redis_errors_total", "Error replies by first word.", "err")
	descKeys       = describe("redis_db_keys", "Keys of a database.", "db")
	descExpiring   = describe("redis_db_keys_expiring", "Keys of a database with an expiry.", "db")
	descTTL        = describe("redis_db_avg_ttl_seconds", "Mean time to live: not measured.", "db")
	descSlowLen    = describe("redis_slowlog_length", "Entries in the slow log.")
	descSlowID     = describe("redis_slowlog_last_id", "ID of the newest entry in the slow log.")
	descSlowLast   = describe("redis_last_slow_execution_duration_seconds", "Time that the newest entry in the slow log took.")
	descMaxClients = describe("redis_config_maxclients", "The directive maxclients.")
	descMaxMemory  = describe("redis_config_maxmemory", "The directive maxmemory.")
	descIOThreads  = describe("redis_config_io_threads", "The directive io-threads.")
	descOutput     = describe("redis_config_client_output_buffer_limit_bytes", "The directive client-output-buffer-limit.", "class", "limit")
	descOvercome   = describe("redis_config_client_output_buffer_limit_overcome_seconds", "Seconds that a client may be over its soft limit.", "class", "limit")

	descVigil      = describe("vigil_info", "What the server is.", "version", "go_version", "appendfsync", "maxmemory_policy")
	descHealthy    = describe("vigil_healthy", "1 if /healthz returns 200.")
	descLeader     = describe("vigil_leader", "1 if the server leads its group, or is alone.")
	descLevelCount = describe("vigil_level_tables", "Tables in a level of Pebble.", "level")
	descLevelBytes = describe("vigil_level_bytes", "Bytes in a level of Pebble.", "level")
	descSnapshots  = describe("vigil_snapshots", "Snapshots that are kept.")
	descNewest     = describe("vigil_snapshot_newest_timestamp_seconds", "When the newest snapshot was made; 0 without one.")
	descOldest     = describe("vigil_snapshot_oldest_timestamp_seconds", "When the oldest snapshot was made; 0 without one.")
	descConns      = describe("vigil_window_connections", "Connections over HTTP.")

	descNodes     = describe("vigil_schedule_nodes", "Nodes of a schedule.", "db", "key", "policy")
	descLeased    = describe("vigil_schedule_leased_nodes", "Nodes of a schedule that are leased.", "db", "key", "policy")
	descHanded    = describe("vigil_schedule_handed_out_total", "Nodes that a schedule has leased.", "db", "key", "policy")
	descObserved  = describe("vigil_schedule_observed_total", "Probes reported to a schedule.", "db", "key", "policy")
	descLost      = describe("vigil_schedule_failed_total", "Probes that did not happen.", "db", "key", "policy")
	descUnits     = describe("vigil_placement_units", "Units of a placement map.", "db", "key", "strategy")
	descVersion   = describe("vigil_placement_version", "Changes of a placement map.", "db", "key", "strategy")
	descFound     = describe("vigil_discovered_keys", "Schedules and placement maps found so far.", "type")
	allWithLabels = []*prometheus.Desc{descUp, descScrape, descError, descStart, descInstance, descCalls, descDuration, descRejected,
		descFailed, descErrors, descKeys, descExpiring, descTTL, descSlowLen, descSlowID, descSlowLast, descMaxClients, descMaxMemory,
		descIOThreads, descOutput, descOvercome, descVigil, descHealthy, descLeader, descLevelCount, descLevelBytes, descSnapshots, descNewest,
		descOldest, descConns, descNodes, descLeased, descHanded, descObserved, descLost, descUnits, descVersion, descFound}
)

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.info {
		ch <- m.desc
	}
	for _, d := range allWithLabels {
		ch <- d
	}
}

// sink takes the metrics of one scrape.
type sink chan<- prometheus.Metric

func (s sink) put(d *prometheus.Desc, v float64, labels ...string) { s.metric(d, gauge, v, labels) }
func (s sink) add(d *prometheus.Desc, v float64, labels ...string) { s.metric(d, counter, v, labels) }

func (s sink) metric(d *prometheus.Desc, k kind, v float64, labels []string) {
	t := prometheus.GaugeValue
	if k == counter {
		t = prometheus.CounterValue
	}
	s <- prometheus.MustNewConstMetric(d, t, v, labels...)
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s, began := sink(ch), time.Now()
	f, err := c.w.current()
	s.put(descHealthy, truth(c.w.srv.Health() == nil))
	s.put(descLeader, truth(c.w.inside.Role() != door.RoleFollower))
	s.put(descConns, float64(len(c.w.slots)))
	s.put(descUp, truth(err == nil))
	if err != nil {
		s.put(descError, 1, err.Error())
		return
	}
	s.put(descError, 0, "")
	for _, m := range c.info {
		if text, ok := f.info[m.field]; ok {
			v := number(text)
			if m.scale != 0 {
				v *= m.scale
			}
			s.metric(m.desc, m.kind, v, nil)
		}
	}
	set := c.w.config.Settings()
	s.server(f, set)
	s.configuration(set)
	s.commands(f)
	s.keyspace(f, set.Databases)
	s.slowLog(f)
	c.store(s, f)
	c.decisions(s, f)
	s.put(descScrape, time.Since(began).Seconds())
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func (s sink) server(f *figures, set *conf.Settings) {
	i := f.info
	s.put(descStart, float64(f.at.Unix())-f.number("uptime_in_seconds"))
	s.put(descInstance, 1, i["role"], i["redis_version"], i["redis_build_id"], i["redis_mode"], i["os"], i["maxmemory_policy"],
		i["tcp_port"], i["run_id"], i["process_id"], i["master_replid"])
	sync := map[conf.Fsync]string{conf.FsyncAlways: "always", conf.FsyncEverySecond: "everysec", conf.FsyncNo: "no"}
	s.put(descVigil, 1, i["vigil_version"], i["go_version"], sync[set.AppendFsync], i["vigil_maxmemory_policy"])
}

func (s sink) configuration(set *conf.Settings) {
	s.put(descMaxClients, float64(set.MaxClients))
	s.put(descMaxMemory, float64(set.MaxMemory))
	s.put(descIOThreads, float64(set.IOThreads))
	for class, name := range map[conf.ClientClass]string{conf.NormalClient: "normal", conf.ReplicaClient: "slave", conf.PubSubClient: "pubsub"} {
		limit := set.OutputLimits[class]
		s.put(descOutput, float64(limit.Hard), name, "hard")
		s.put(descOutput, float64(limit.Soft), name, "soft")
		s.put(descOvercome, float64(limit.SoftSeconds), name, "soft")
	}
}

func (s sink) commands(f *figures) {
	for _, n := range f.commands {
		s.add(descCalls, n.Calls, n.Name)
		s.add(descDuration, n.Micros/1e6, n.Name)
		s.add(descRejected, n.Rejected, n.Name)
		s.add(descFailed, n.Failed, n.Name)
	}
	for word, n := range f.errors {
		s.add(descErrors, n, word)
	}
}

// maxEmptyDatabases is up to which number databases without keys are shown too.
const maxEmptyDatabases = 16

func (s sink) keyspace(f *figures, databases int) {
	has := map[int]bool{}
	put := func(d database) {
		name := "db" + strconv.Itoa(d.Number)
		s.put(descKeys, d.Keys, name)
		s.put(descExpiring, d.Expires, name)
		s.put(descTTL, 0, name)
		has[d.Number] = true
	}
	for _, d := range f.databases {
		put(d)
	}
	for i := range min(databases, maxEmptyDatabases) {
		if !has[i] {
			put(database{Number: i})
		}
	}
}

func (s sink) slowLog(f *figures) {
	s.put(descSlowLen, float64(f.slowLen))
	last := slowEntry{}
	if len(f.slow) > 0 {
		last = f.slow[0]
	}
	s.put(descSlowID, float64(last.ID))
	s.put(descSlowLast, last.Micros/1e6)
}

func (c *collector) store(s sink, f *figures) {
	for _, l := range f.levels {
		name := strconv.Itoa(int(l.Number))
		s.put(descLevelCount, l.Tables, name)
		s.put(descLevelBytes, l.Bytes, name)
	}
	snapshots, err := c.w.listSnapshots()
	if err != nil {
		return // while data are loaded
	}
	newest, oldest := 0.0, 0.0
	if n := len(snapshots); n > 0 {
		newest, oldest = float64(snapshots[0].Made.Unix()), float64(snapshots[n-1].Made.Unix())
	}
	s.put(descSnapshots, float64(len(snapshots)))
	s.put(descNewest, newest)
	s.put(descOldest, oldest)
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
