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
	up := max(0, now.UnixMilli()-t.srv.started) / 1000 // the clock may have been set back
	field(t, "redis_version", t.srv.settings().limits.RedisVersion)
	field(t, "vigil_version", commands.Version)
	field(t, "redis_git_sha1", "00000000")
	field(t, "redis_git_dirty", 0)
	field(t, "redis_build_id", t.srv.runID[:16])
	mode := "standalone"
	if t.srv.slotted() {
		mode = "cluster"
	}
	field(t, "redis_mode", mode)
	field(t, "os", runtime.GOOS+" "+runtime.GOARCH)
	field(t, "arch_bits", strconv.IntSize)
	field(t, "monotonic_clock", "go")
	field(t, "multiplexing_api", transport.PollingAPI)
	field(t, "go_version", runtime.Version())
	field(t, "gomaxprocs", runtime.GOMAXPROCS(0))
	field(t, "process_id", os.Getpid())
	field(t, "process_supervised", "no")
	field(t, "run_id", t.srv.runID)
	field(t, "tcp_port", t.srv.port())
	field(t, "server_time_usec", now.UnixMicro())
	field(t, "uptime_in_seconds", up)
	field(t, "uptime_in_days", up/86400)
	field(t, "hz", int64(1e9/cronPeriod.Nanoseconds()))
	field(t, "configured_hz", int64(1e9/cronPeriod.Nanoseconds()))
	field(t, "lru_clock", now.Unix()&(1<<24-1))
	field(t, "executable", executable())
	field(t, "config_file", t.srv.config.File())
	field(t, "io_threads_active", 0)
	if zone := t.srv.settings().limits.AvailabilityZone; zone != "" {
		field(t, "availability_zone", zone)
	}
	infoListeners(t)
}

func infoClients(t *infoText) {
	var pubsub, watching int
	if t.srv.watches.any() || t.srv.broker.Any() {
		t.srv.clients.each(func(s *session) {
			v := s.view.load()
			if v.clientType() == "pubsub" {
				pubsub++
			}
			if v.watch > 0 {
				watching++
			}
		})
	}
	slow := t.srv.slowly()
	field(t, "connected_clients", t.srv.clients.count())
	field(t, "cluster_connections", 0)
	field(t, "maxclients", t.srv.settings().maxClients)
	field(t, "client_recent_max_input_buffer", slow.largestIn)
	field(t, "client_recent_max_output_buffer", slow.largestOut)
	field(t, "blocked_clients", t.srv.blocked.Count()+t.srv.pause.Count())
	field(t, "tracking_clients", t.srv.tracking.Counts().Clients)
	field(t, "pubsub_clients", pubsub)
	field(t, "watching_clients", watching)
	field(t, "clients_in_timeout_table", t.srv.blocked.Timed())
	field(t, "total_watched_keys", t.srv.watches.n.Load())
	field(t, "total_blocking_keys", t.srv.blocked.KeyCount())
	field(t, "total_blocking_keys_on_nokey", t.srv.blocked.RemovalCount())
	reason, actions, left := t.srv.pause.State()
	field(t, "paused_reason", reason)
	field(t, "paused_actions", actions)
	field(t, "paused_timeout_milliseconds", left)
}

func infoKeyspace(t *infoText) {
	for i, db := range t.store().Databases {
		if db.Keys > 0 {
			field(t, "db"+strconv.Itoa(i), "keys="+strconv.Itoa(db.Keys)+",expires="+strconv.Itoa(db.Expires)+",avg_ttl=0")
		}
	}
}
