package server

import (
	"os"
	"runtime"
	"strconv"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/transport"
)

// executable is the path of the program; unknown: empty, as Redis shows it.
var executable = sync.OnceValue(func() string {
	path, _ := os.Executable()
	return path
})

func infoServer(t *infoText) {
	now := t.srv.clock.Now()
	up := (now.UnixMilli() - t.srv.started) / 1000
	t.line("redis_version", commands.RedisVersion)
	t.line("vigil_version", commands.Version)
	t.line("redis_git_sha1", "00000000")
	t.line("redis_git_dirty", 0)
	t.line("redis_build_id", t.srv.runID[:16])
	t.line("redis_mode", "standalone")
	t.line("os", runtime.GOOS+" "+runtime.GOARCH)
	t.line("arch_bits", strconv.IntSize)
	t.line("monotonic_clock", "go")
	t.line("multiplexing_api", transport.PollingAPI)
	t.line("go_version", runtime.Version())
	t.line("gomaxprocs", runtime.GOMAXPROCS(0))
	t.line("process_id", os.Getpid())
	t.line("process_supervised", "no")
	t.line("run_id", t.srv.runID)
	t.line("tcp_port", t.srv.port())
	t.line("server_time_usec", now.UnixMicro())
	t.line("uptime_in_seconds", up)
	t.line("uptime_in_days", up/86400)
	t.line("hz", int64(1e9/cronPeriod.Nanoseconds()))
	t.line("configured_hz", int64(1e9/cronPeriod.Nanoseconds()))
	t.line("lru_clock", now.Unix()&(1<<24-1))
	t.line("executable", executable())
	t.line("config_file", t.srv.config.File())
	t.line("io_threads_active", 0)
	infoListeners(t)
}

func infoClients(t *infoText) {
	var largestIn, largestOut, pubsub, watching int
	for _, s := range t.srv.clients.list() {
		v := s.view.load()
		largestIn = max(largestIn, v.input+v.inputFree)
		largestOut = max(largestOut, s.out.size())
		if v.clientType() == "pubsub" {
			pubsub++
		}
		if v.watch > 0 {
			watching++
		}
	}
	t.line("connected_clients", t.srv.clients.count())
	t.line("cluster_connections", 0)
	t.line("maxclients", t.srv.settings().maxClients)
	t.line("client_recent_max_input_buffer", largestIn)
	t.line("client_recent_max_output_buffer", largestOut)
	t.line("blocked_clients", int(t.srv.waiting.n.Load())+t.srv.pause.count())
	t.line("tracking_clients", t.srv.tracking.clients.Load())
	t.line("pubsub_clients", pubsub)
	t.line("watching_clients", watching)
	t.line("clients_in_timeout_table", t.srv.waiting.timed())
	t.line("total_watched_keys", t.srv.watches.n.Load())
	t.line("total_blocking_keys", t.srv.waiting.keyCount())
}

func infoReplication(t *infoText) {
	const noID = "0000000000000000000000000000000000000000"
	t.line("role", "master")
	t.line("connected_slaves", 0)
	t.line("master_failover_state", "no-failover")
	t.line("master_replid", t.srv.runID)
	t.line("master_replid2", noID)
	t.line("master_repl_offset", 0)
	t.line("second_repl_offset", -1)
	t.line("repl_backlog_active", 0)
	t.line("repl_backlog_size", 0)
	t.line("repl_backlog_first_byte_offset", 0)
	t.line("repl_backlog_histlen", 0)
}

func infoKeyspace(t *infoText) {
	for i, db := range t.figures.stats.Databases {
		if db.Keys > 0 {
			t.line("db"+strconv.Itoa(i), "keys="+strconv.Itoa(db.Keys)+",expires="+strconv.Itoa(db.Expires)+",avg_ttl=0")
		}
	}
}
