package server

import (
	"os"
	"runtime"
	"strconv"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/transport"
)

// executable is the path of the program; unknown: empty, as Redis shows it.
var executable = sync.OnceValue(func() string {
	path, _ := os.Executable()
	return path
})

func infoServer(t *info.Text, s *session) {
	now := s.srv.clock.Now()
	up := max(0, now.UnixMilli()-s.srv.started) / 1000 // the clock may have been set back
	info.Field(t, "redis_version", s.srv.settings().limits.RedisVersion)
	info.Field(t, "vigil_version", commands.Version)
	info.Field(t, "redis_git_sha1", "00000000")
	info.Field(t, "redis_git_dirty", 0)
	info.Field(t, "redis_build_id", s.srv.runID[:16])
	mode := "standalone"
	if s.srv.slotted() {
		mode = "cluster"
	}
	info.Field(t, "redis_mode", mode)
	info.Field(t, "os", runtime.GOOS+" "+runtime.GOARCH)
	info.Field(t, "arch_bits", strconv.IntSize)
	info.Field(t, "monotonic_clock", "go")
	info.Field(t, "multiplexing_api", transport.PollingAPI)
	info.Field(t, "go_version", runtime.Version())
	info.Field(t, "gomaxprocs", runtime.GOMAXPROCS(0))
	info.Field(t, "process_id", os.Getpid())
	info.Field(t, "process_supervised", "no")
	info.Field(t, "run_id", s.srv.runID)
	info.Field(t, "tcp_port", s.srv.sockets.port())
	info.Field(t, "server_time_usec", now.UnixMicro())
	info.Field(t, "uptime_in_seconds", up)
	info.Field(t, "uptime_in_days", up/86400)
	info.Field(t, "hz", int64(1e9/cronPeriod.Nanoseconds()))
	info.Field(t, "configured_hz", int64(1e9/cronPeriod.Nanoseconds()))
	info.Field(t, "lru_clock", now.Unix()&(1<<24-1))
	info.Field(t, "executable", executable())
	info.Field(t, "config_file", s.srv.config.File())
	info.Field(t, "io_threads_active", 0)
	if zone := s.srv.settings().limits.AvailabilityZone; zone != "" {
		info.Field(t, "availability_zone", zone)
	}
	infoListeners(t, s)
}

func infoClients(t *info.Text, s *session) {
	var pubsub, watching int
	if s.srv.watches.any() || s.srv.broker.Any() {
		s.srv.clients.each(func(s *session) {
			v := s.view.load()
			if v.clientType() == "pubsub" {
				pubsub++
			}
			if v.watch > 0 {
				watching++
			}
		})
	}
	slow := s.srv.figures.Slowly()
	info.Field(t, "connected_clients", s.srv.clients.count())
	info.Field(t, "cluster_connections", 0)
	info.Field(t, "maxclients", s.srv.settings().maxClients)
	info.Field(t, "client_recent_max_input_buffer", slow.LargestIn)
	info.Field(t, "client_recent_max_output_buffer", slow.LargestOut)
	info.Field(t, "blocked_clients", s.srv.blocked.Count()+s.srv.pause.Count())
	info.Field(t, "tracking_clients", s.srv.tracking.Counts().Clients)
	info.Field(t, "pubsub_clients", pubsub)
	info.Field(t, "watching_clients", watching)
	info.Field(t, "clients_in_timeout_table", s.srv.blocked.Timed())
	info.Field(t, "total_watched_keys", s.srv.watches.n.Load())
	info.Field(t, "total_blocking_keys", s.srv.blocked.KeyCount())
	info.Field(t, "total_blocking_keys_on_nokey", s.srv.blocked.RemovalCount())
	reason, actions, left := s.srv.pause.State()
	info.Field(t, "paused_reason", reason)
	info.Field(t, "paused_actions", actions)
	info.Field(t, "paused_timeout_milliseconds", left)
}

func infoKeyspace(t *info.Text, s *session) {
	info.Keyspace(t, t.Stats(&s.srv.figures, s.locked).Databases)
}

func infoKeySizes(t *info.Text, s *session) { info.KeySizes(t, s.srv.figures.Sizes(s.locked)) }
