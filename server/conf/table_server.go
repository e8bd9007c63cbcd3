package conf

import (
	"math"
	"time"
)

func networkRows() []directive {
	return []directive{
		{name: "port", kind: port(), def: "6379",
			doc: "TCP port to listen on; 0 for none, `auto` for any free port, which the log and INFO then show.",
			set: func(s *Settings, v value) { s.Port = int(v.n) }},
		{name: "bind", kind: addresses(), def: "127.0.0.1 -::1",
			doc: "Addresses to listen on; an address with a minus sign in front is skipped if the machine does not have it.",
			set: func(s *Settings, v value) { s.Bind = v.words }},
		{name: "unixsocket", kind: text(), def: "", flags: immutable,
			doc: "Path of a Unix socket to listen on.",
			set: func(s *Settings, v value) { s.UnixSocket = v.text }},
		{name: "unixsocketperm", kind: octal(0, 0o777), def: "0", flags: immutable,
			doc: "Permissions of the Unix socket; 0 for access by its owner only.",
			set: func(s *Settings, v value) { s.UnixSocketPerm = uint32(v.n) }},
		{name: "tcp-backlog", kind: integer(0, math.MaxInt32), def: "511", flags: immutable,
			doc: "Length of the queue of connections that are not accepted yet.",
			set: func(s *Settings, v value) { s.TCPBacklog = int(v.n) }},
		{name: "tcp-keepalive", kind: integer(0, math.MaxInt32), def: "300",
			doc: "Seconds between keepalive probes of an idle connection; 0 for no probes.",
			set: func(s *Settings, v value) { s.TCPKeepAlive = time.Duration(v.n) * time.Second }},
		{name: "timeout", kind: integer(0, math.MaxInt32), def: "0",
			doc: "Seconds after which an idle client is disconnected; 0 for never.",
			set: func(s *Settings, v value) { s.Timeout = time.Duration(v.n) * time.Second }},
		{name: "protected-mode", kind: yesNo(), def: "yes",
			doc: "Refuse clients on other machines while no password is set.",
			set: func(s *Settings, v value) { s.ProtectedMode = v.n == 1 }},
		{name: "io-threads", kind: integer(0, 128), def: "0", flags: immutable,
			doc: "Number of event loops that serve the sockets; 0 for half the number of processors. Linux only.",
			set: func(s *Settings, v value) { s.IOThreads = int(v.n) }},
		{name: "maxclients", kind: integer(1, math.MaxUint32), def: "10000",
			doc: "Maximum number of connected clients.",
			set: func(s *Settings, v value) { s.MaxClients = int(v.n) }},
		{name: "proto-max-bulk-len", kind: memory(1024*1024, math.MaxInt64), def: "536870912",
			doc: "Maximum length of one argument of a command.",
			set: func(s *Settings, v value) { s.ProtoMaxBulkLen = v.n }},
		{name: "client-query-buffer-limit", kind: memory(1024*1024, math.MaxInt64), def: "1073741824",
			doc: "Maximum size of the input of a client whose command is not complete yet.",
			set: func(s *Settings, v value) { s.ClientQueryBufferLimit = v.n }},
		{name: "client-output-buffer-limit", kind: outputLimits(), def: "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
			doc: "Maximum size of the replies waiting for a client before it is disconnected.",
			set: func(s *Settings, v value) { s.OutputLimits = v.limits }},
		{name: "maxmemory-clients", kind: memoryOrPercent(-100, math.MaxInt64), def: "1073741824",
			doc: "Maximum memory of all clients' buffers; beyond it, the clients that use most are disconnected (docs/limits.md); 0 for no limit.",
			set: func(s *Settings, v value) { s.MaxMemoryClients = v.n }},
		{name: "http-port", kind: port(), def: "0",
			doc: "TCP port of the monitoring window: `/metrics` for Prometheus, `/healthz` and web pages (docs/monitoring.md); 0 for none, `auto` for any free port, which the log then shows.",
			set: func(s *Settings, v value) { s.HTTPPort = int(v.n) }},
		{name: "http-bind", kind: addresses(), def: "127.0.0.1",
			doc: "Addresses of the monitoring window, in the notation of `bind`.",
			set: func(s *Settings, v value) { s.HTTPBind = v.words }},
	}
}

func processRows() []directive {
	return []directive{
		{name: "daemonize", kind: yesNo(), def: "no", flags: immutable,
			doc: "Run in the background.",
			set: func(s *Settings, v value) { s.Daemonize = v.n == 1 }},
		{name: "supervised", kind: oneOf("upstart", "systemd", "auto", "no"), def: "no", flags: immutable,
			doc: "Supervisor to notify when the server is ready.",
			set: func(s *Settings, v value) { s.Supervised = Supervised(v.n) }},
		{name: "pidfile", kind: text(), def: "", flags: immutable,
			doc: "File that holds the process ID while the server runs.",
			set: func(s *Settings, v value) { s.PidFile = v.text }},
		{name: "loglevel", kind: oneOf("debug", "verbose", "notice", "warning", "nothing"), def: "notice",
			doc: "Minimum level of logged messages.",
			set: func(s *Settings, v value) { s.LogLevel = LogLevel(v.n) }},
		{name: "logfile", kind: text(), def: "", flags: immutable,
			doc: "File to log to; empty for standard output.",
			set: func(s *Settings, v value) { s.LogFile = v.text }},
		{name: "databases", kind: integer(1, math.MaxInt32), def: "16", flags: immutable,
			doc: "Number of databases.",
			set: func(s *Settings, v value) { s.Databases = int(v.n) }},
		{name: "hz", kind: clamped(1, 500), def: "10", effect: inert,
			doc: "Rounds of background work per second."},
		{name: "shutdown-timeout", kind: integer(0, math.MaxInt32), def: "10", effect: inert,
			doc: "Seconds to wait for replicas at shutdown."},
		{name: "shutdown-on-sigint", kind: flagsOf(saveExcludesNoSave, "default", "save", "nosave", "now", "force"), def: "default",
			doc: "How to shut down at SIGINT: `save` writes a snapshot first, `force` shuts down even if that fails. Acknowledged writes are kept in any case.",
			set: func(s *Settings, v value) { s.ShutdownOnSigint = ShutdownFlags(v.n) }},
		{name: "shutdown-on-sigterm", kind: flagsOf(saveExcludesNoSave, "default", "save", "nosave", "now", "force"), def: "default",
			doc: "How to shut down at SIGTERM, like `shutdown-on-sigint`.",
			set: func(s *Settings, v value) { s.ShutdownOnSigterm = ShutdownFlags(v.n) }},
	}
}

// noACL is what to do in place of users and their rules.
const noACL = "vigil has the default user only: set requirepass, and remove the users"

func accessRows() []directive {
	return []directive{
		{name: "requirepass", kind: text(), def: "", flags: sensitive,
			doc: "Password of the default user; empty for none.",
			set: func(s *Settings, v value) { s.RequirePass = v.text }},
		{name: "aclfile", kind: text(), def: "", flags: immutable, effect: absent, instead: noACL,
			doc: "File that defines users, instead of `user` lines."},
		{name: "acl-pubsub-default", kind: oneOf("allchannels", "resetchannels"), def: "resetchannels", effect: inert,
			doc: "Channels that a new user may use."},
		{name: "acllog-max-len", kind: integer(0, math.MaxInt64), def: "128", effect: inert,
			doc: "Entries that ACL LOG keeps."},
		{name: "enable-debug-command", kind: oneOf("no", "yes", "local"), def: "no", flags: immutable,
			doc: "Which clients may use DEBUG.",
			set: func(s *Settings, v value) { s.EnableDebugCommand = Permission(v.n) }},
		{name: "enable-protected-configs", kind: oneOf("no", "yes", "local"), def: "no", flags: immutable,
			doc: "Which clients may set protected directives with CONFIG SET.",
			set: func(s *Settings, v value) { s.EnableProtectedConfigs = Permission(v.n) }},
	}
}

func diskRows() []directive {
	return []directive{
		{name: "dir", kind: directory(), def: ".", flags: always | protected | immutable,
			doc: "Directory of the data. Unlike in Redis it cannot change at run time, because the server works on its files all the time.",
			set: func(s *Settings, v value) { s.Dir = v.text }},
		{name: "dbfilename", kind: text(fileName("dbfilename", "filename", true)), def: "dump.rdb", flags: protected, effect: inert,
			doc: "Name of the snapshot that SAVE and BGSAVE write."},
		{name: "save", kind: savePoints(), def: "",
			doc: "When to write snapshots automatically; durability does not depend on them. Together with `appendonly no`, an explicit `\"\"` keeps all data in memory only.",
			set: func(s *Settings, v value) { s.Save = v.save }},
		{name: "snapshot-keep", kind: integer(0, math.MaxInt32), def: "2",
			doc: "Number of snapshots made by `save` to keep; 0 for all. Snapshots made by clients are never removed.",
			set: func(s *Settings, v value) { s.SnapshotKeep = int(v.n) }},
		{name: "appendonly", kind: yesNo(), def: "no", flags: notLoading,
			doc: "Every write goes to the journal, whether this is `yes` or `no`. Only if `save \"\"` and `appendonly no` are both given explicitly, in a file or on the command line, does the server keep its data in memory only.",
			set: func(s *Settings, v value) { s.AppendOnly = v.n == 1 }},
		{name: "appendfsync", kind: oneOf("everysec", "always", "no"), def: "everysec",
			doc: "When the journal is synced to disk: before each reply, every second, or whenever the operating system does it.",
			set: func(s *Settings, v value) { s.AppendFsync = Fsync(v.n) }},
		{name: "stop-writes-on-bgsave-error", kind: yesNo(), def: "yes", effect: inert,
			doc: "Refuse writes after a failed snapshot."},
	}
}
