package report

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vigildb/vigil/server/conf"

	"github.com/vigildb/vigil/server/internal/door"
)

// collector makes metrics of figures at each scrape. Nothing has to be kept between scrapes: the server counts anyway.
type collector struct {
	source *Source
	info   []describedMetric
}

// NewCollector makes the metrics of what a source reports.
func NewCollector(s *Source) prometheus.Collector { return &collector{source: s, info: infoMetrics()} }

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
	descTimes      = describe("redis_latency_percentiles_usec", "Microseconds within which so many per cent of the calls of a command ended.", "cmd")
	descErrors     = describe("redis_errors_total", "Error replies by first word.", "err")
	descKeys       = describe("redis_db_keys", "Keys of a database.", "db")
	descExpiring   = describe("redis_db_keys_expiring", "Keys of a Database with an expiry.", "db")
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
	descLevelCount = describe("vigil_level_tables", "Tables in a Level of Pebble.", "level")
	descLevelBytes = describe("vigil_level_bytes", "Bytes in a Level of Pebble.", "level")
	descSnapshots  = describe("vigil_snapshots", "Snapshots that are kept.")
	descNewest     = describe("vigil_snapshot_newest_timestamp_seconds", "When the newest Snapshot was made; 0 without one.")
	descOldest     = describe("vigil_snapshot_oldest_timestamp_seconds", "When the oldest Snapshot was made; 0 without one.")
	allWithLabels  = []*prometheus.Desc{descUp, descScrape, descError, descStart, descInstance, descCalls, descDuration, descRejected,
		descFailed, descTimes, descErrors, descKeys, descExpiring, descTTL, descSlowLen, descSlowID, descSlowLast, descMaxClients, descMaxMemory,
		descIOThreads, descOutput, descOvercome, descVigil, descHealthy, descLeader, descLevelCount, descLevelBytes, descSnapshots, descNewest,
		descOldest}
)

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.info {
		ch <- m.desc
	}
	for _, d := range append(groupDescs(), allWithLabels...) {
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
	f, err := c.source.Current()
	s.put(descHealthy, truth(c.source.health() == nil))
	s.put(descLeader, truth(c.source.inside.Role() != door.RoleFollower))
	s.put(descUp, truth(err == nil))
	if err != nil {
		s.put(descError, 1, err.Error())
		return
	}
	s.put(descError, 0, "")
	for _, m := range c.info {
		if text, ok := f.Info[m.field]; ok {
			v := Number(text)
			if m.scale != 0 {
				v *= m.scale
			}
			s.metric(m.desc, m.kind, v, nil)
		}
	}
	set := c.source.inside.Settings()
	s.server(f, set)
	s.configuration(set)
	s.commands(f)
	s.keyspace(f, set.Databases)
	s.slowLog(f)
	s.replication(f)
	c.store(s, f)
	if g, err := c.source.Group(); err == nil {
		s.group(g)
	}
	s.put(descScrape, time.Since(began).Seconds())
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func (s sink) server(f *Figures, set *conf.Settings) {
	i := f.Info
	s.put(descStart, float64(f.At.Unix())-f.Number("uptime_in_seconds"))
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

func (s sink) commands(f *Figures) {
	for _, n := range f.Commands {
		s.add(descCalls, n.Calls, n.Name)
		s.add(descDuration, n.Micros/1e6, n.Name)
		s.add(descRejected, n.Rejected, n.Name)
		s.add(descFailed, n.Failed, n.Name)
		if n.Percentiles != nil {
			s <- prometheus.MustNewConstSummary(descTimes, uint64(n.Calls), n.Micros, n.Percentiles, n.Name)
		}
	}
	for word, n := range f.Errors {
		s.add(descErrors, n, word)
	}
}

// maxEmptyDatabases is up to which number databases without keys are shown too.
const maxEmptyDatabases = 16

func (s sink) keyspace(f *Figures, databases int) {
	has := map[int]bool{}
	put := func(d Database) {
		name := "db" + strconv.Itoa(d.Number)
		s.put(descKeys, d.Keys, name)
		s.put(descExpiring, d.Expires, name)
		s.put(descTTL, 0, name)
		has[d.Number] = true
	}
	for _, d := range f.Databases {
		put(d)
	}
	for i := range min(databases, maxEmptyDatabases) {
		if !has[i] {
			put(Database{Number: i})
		}
	}
}

func (s sink) slowLog(f *Figures) {
	s.put(descSlowLen, float64(f.SlowLen))
	last := SlowEntry{}
	if len(f.Slow) > 0 {
		last = f.Slow[0]
	}
	s.put(descSlowID, float64(last.ID))
	s.put(descSlowLast, last.Micros/1e6)
}

func (c *collector) store(s sink, f *Figures) {
	for _, l := range f.Levels {
		name := strconv.Itoa(int(l.Number))
		s.put(descLevelCount, l.Tables, name)
		s.put(descLevelBytes, l.Bytes, name)
	}
	snapshots, err := c.source.Snapshots()
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
