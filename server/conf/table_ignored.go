package conf

import "math"

// The rows of this file mean nothing in vigil. They are checked, kept and
// shown, so that files and tools made for Redis work.

// replicationRows are those of replication.
func replicationRows() []directive {
	return []directive{
		{name: "repl-disable-tcp-nodelay", kind: yesNo(), def: "no"},
		{name: "repl-diskless-sync", kind: yesNo(), def: "yes"},
		{name: "replica-lazy-flush", alias: "slave-lazy-flush", kind: yesNo(), def: "no"},
		{name: "replica-serve-stale-data", alias: "slave-serve-stale-data", kind: yesNo(), def: "yes"},
		{name: "replica-read-only", alias: "slave-read-only", kind: yesNo(), def: "yes"},
		{name: "replica-ignore-maxmemory", alias: "slave-ignore-maxmemory", kind: yesNo(), def: "yes"},
		{name: "replica-announced", kind: yesNo(), def: "yes"},
		{name: "replica-ignore-disk-write-errors", kind: yesNo(), def: "no"},
		{name: "replica-announce-ip", alias: "slave-announce-ip", kind: text(), def: ""},
		{name: "masteruser", kind: text(), def: "", flags: sensitive},
		{name: "masterauth", kind: text(), def: "", flags: sensitive},
		{name: "repl-diskless-load", kind: oneOf("disabled", "on-empty-db", "swapdb"), def: "disabled", flags: notLoading},
		{name: "propagation-error-behavior", kind: oneOf("ignore", "panic", "panic-on-replicas"), def: "ignore"},
		{name: "replica-priority", alias: "slave-priority", kind: integer(0, math.MaxInt32), def: "100"},
		{name: "repl-diskless-sync-delay", kind: integer(0, math.MaxInt32), def: "5"},
		{name: "replica-announce-port", alias: "slave-announce-port", kind: integer(0, 65535), def: "0"},
		{name: "repl-timeout", kind: integer(1, math.MaxInt32), def: "60"},
		{name: "repl-ping-replica-period", alias: "repl-ping-slave-period", kind: integer(1, math.MaxInt32), def: "10"},
		{name: "min-replicas-to-write", alias: "min-slaves-to-write", kind: integer(0, math.MaxInt32), def: "0"},
		{name: "min-replicas-max-lag", alias: "min-slaves-max-lag", kind: integer(0, math.MaxInt32), def: "10"},
		{name: "repl-diskless-sync-max-replicas", kind: integer(0, math.MaxInt32), def: "0"},
		{name: "repl-backlog-size", kind: memory(1, math.MaxInt64), def: "1048576"},
		{name: "repl-backlog-ttl", kind: integer(0, math.MaxInt64), def: "3600"},
		{name: "replicaof", alias: "slaveof", kind: primary(), def: "", flags: immutable},
	}
}

// clusterRows are those of Redis Cluster.
func clusterRows() []directive {
	return []directive{
		{name: "cluster-require-full-coverage", kind: yesNo(), def: "yes"},
		{name: "cluster-replica-no-failover", alias: "cluster-slave-no-failover", kind: yesNo(), def: "no"},
		{name: "cluster-enabled", kind: yesNo(), def: "no", flags: immutable},
		{name: "cluster-allow-reads-when-down", kind: yesNo(), def: "no"},
		{name: "cluster-allow-pubsubshard-when-down", kind: yesNo(), def: "yes"},
		{name: "cluster-allow-replica-migration", kind: yesNo(), def: "yes"},
		{name: "cluster-announce-ip", kind: text(), def: ""},
		{name: "cluster-config-file", kind: text(), def: "nodes.conf", flags: immutable},
		{name: "cluster-announce-hostname", kind: text(), def: ""},
		{name: "cluster-announce-human-nodename", kind: text(), def: ""},
		{name: "cluster-preferred-endpoint-type", kind: oneOf("ip", "hostname", "unknown-endpoint"), def: "ip"},
		{name: "cluster-replica-validity-factor", alias: "cluster-slave-validity-factor", kind: integer(0, math.MaxInt32), def: "10"},
		{name: "cluster-migration-barrier", kind: integer(0, math.MaxInt32), def: "1"},
		{name: "cluster-port", kind: integer(0, 65535), def: "0", flags: immutable},
		{name: "cluster-announce-bus-port", kind: integer(0, 65535), def: "0"},
		{name: "cluster-announce-port", kind: integer(0, 65535), def: "0"},
		{name: "cluster-announce-tls-port", kind: integer(0, 65535), def: "0"},
		{name: "cluster-node-timeout", kind: integer(0, math.MaxInt64), def: "15000"},
		{name: "cluster-ping-interval", kind: integer(0, math.MaxInt64), def: "0", flags: hidden},
		{name: "cluster-link-sendbuf-limit", kind: memory(0, math.MaxInt64), def: "0"},
	}
}

// tlsRows are those of encrypted connections.
func tlsRows() []directive {
	return []directive{
		{name: "tls-port", kind: integer(0, 65535), def: "0"},
		{name: "tls-session-cache-size", kind: integer(0, math.MaxInt32), def: "20480"},
		{name: "tls-session-cache-timeout", kind: integer(0, math.MaxInt32), def: "300"},
		{name: "tls-cluster", kind: yesNo(), def: "no"},
		{name: "tls-replication", kind: yesNo(), def: "no"},
		{name: "tls-auth-clients", kind: oneOf("no", "yes", "optional"), def: "yes"},
		{name: "tls-prefer-server-ciphers", kind: yesNo(), def: "no"},
		{name: "tls-session-caching", kind: yesNo(), def: "yes"},
		{name: "tls-cert-file", kind: text(), def: ""},
		{name: "tls-key-file", kind: text(), def: ""},
		{name: "tls-key-file-pass", kind: text(), def: "", flags: sensitive},
		{name: "tls-client-cert-file", kind: text(), def: ""},
		{name: "tls-client-key-file", kind: text(), def: ""},
		{name: "tls-client-key-file-pass", kind: text(), def: "", flags: sensitive},
		{name: "tls-dh-params-file", kind: text(), def: ""},
		{name: "tls-ca-cert-file", kind: text(), def: ""},
		{name: "tls-ca-cert-dir", kind: text(), def: ""},
		{name: "tls-protocols", kind: text(), def: ""},
		{name: "tls-ciphers", kind: text(), def: ""},
		{name: "tls-ciphersuites", kind: text(), def: ""},
	}
}

// journalRows are those of the append only file and of RDB files.
func journalRows() []directive {
	return []directive{
		{name: "rdbchecksum", kind: yesNo(), def: "yes", flags: immutable},
		{name: "rdbcompression", kind: yesNo(), def: "yes"},
		{name: "rdb-del-sync-files", kind: yesNo(), def: "no"},
		{name: "aof-rewrite-incremental-fsync", kind: yesNo(), def: "yes"},
		{name: "no-appendfsync-on-rewrite", kind: yesNo(), def: "no"},
		{name: "rdb-save-incremental-fsync", kind: yesNo(), def: "yes"},
		{name: "aof-load-truncated", kind: yesNo(), def: "yes"},
		{name: "aof-use-rdb-preamble", kind: yesNo(), def: "yes"},
		{name: "aof-timestamp-enabled", kind: yesNo(), def: "no"},
		{name: "aof-disable-auto-gc", kind: yesNo(), def: "no", flags: hidden},
		{name: "appendfilename", kind: text(fileName("appendfilename", "filename", false)), def: "appendonly.aof", flags: immutable},
		{name: "appenddirname", kind: text(fileName("appenddirname", "dirname", false)), def: "appendonlydir", flags: immutable},
		{name: "aof-rewrite-cpulist", alias: "aof_rewrite_cpulist", kind: text(), def: "", flags: immutable},
		{name: "auto-aof-rewrite-percentage", kind: integer(0, math.MaxInt32), def: "100"},
		{name: "rdb-key-save-delay", kind: integer(math.MinInt32, math.MaxInt32), def: "0", flags: hidden},
		{name: "key-load-delay", kind: integer(math.MinInt32, math.MaxInt32), def: "0", flags: hidden},
		{name: "auto-aof-rewrite-min-size", kind: memory(0, math.MaxInt64), def: "67108864"},
		{name: "loading-process-events-interval-bytes", kind: integer(1024, math.MaxInt32), def: "2097152", flags: hidden},
	}
}

// engineRows are those of the insides of Redis.
func engineRows() []directive {
	return []directive{
		{name: "io-threads-do-reads", kind: yesNo(), def: "no", flags: immutable},
		{name: "always-show-logo", kind: yesNo(), def: "no", flags: immutable},
		{name: "activerehashing", kind: yesNo(), def: "yes"},
		{name: "set-proc-title", kind: yesNo(), def: "yes", flags: immutable},
		{name: "dynamic-hz", kind: yesNo(), def: "yes"},
		{name: "jemalloc-bg-thread", kind: yesNo(), def: "yes"},
		{name: "activedefrag", kind: kind{title: "`no`", parse: noActiveDefrag, lines: plain}, def: "no"},
		{name: "syslog-enabled", kind: yesNo(), def: "no", flags: immutable},
		{name: "crash-log-enabled", kind: yesNo(), def: "yes"},
		{name: "crash-memcheck-enabled", kind: yesNo(), def: "yes"},
		{name: "use-exit-on-panic", kind: yesNo(), def: "no", flags: hidden},
		{name: "disable-thp", kind: yesNo(), def: "yes", flags: immutable},
		{name: "syslog-ident", kind: text(), def: "redis", flags: immutable},
		{name: "server-cpulist", alias: "server_cpulist", kind: text(), def: "", flags: immutable},
		{name: "bio-cpulist", alias: "bio_cpulist", kind: text(), def: "", flags: immutable},
		{name: "bgsave-cpulist", alias: "bgsave_cpulist", kind: text(), def: "", flags: immutable},
		{name: "ignore-warnings", kind: text(), def: ""},
		{name: "proc-title-template", kind: text(), def: "{title} {listen-addr} {server-mode}"},
		{name: "bind-source-addr", kind: text(), def: ""},
		{name: "req-res-logfile", kind: text(), def: "", flags: immutable | hidden},
		{name: "locale-collate", kind: text(), def: ""},
		{name: "syslog-facility", kind: oneOf("user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"), def: "local0", flags: immutable},
		{name: "oom-score-adj", kind: oneOf("no", "yes", "relative", "absolute"), def: "no"},
		{name: "sanitize-dump-payload", kind: oneOf("no", "yes", "clients"), def: "no"},
		{name: "enable-module-command", kind: oneOf("no", "yes", "local"), def: "no", flags: immutable},
		{name: "active-defrag-cycle-min", kind: integer(1, 99), def: "1"},
		{name: "active-defrag-cycle-max", kind: integer(1, 99), def: "25"},
		{name: "active-defrag-threshold-lower", kind: integer(0, 1000), def: "10"},
		{name: "active-defrag-threshold-upper", kind: integer(0, 1000), def: "100"},
		{name: "maxmemory-eviction-tenacity", kind: integer(0, 100), def: "10"},
		{name: "watchdog-period", kind: integer(0, math.MaxInt32), def: "0", flags: hidden},
		{name: "socket-mark-id", kind: integer(0, math.MaxUint32), def: "0", flags: immutable},
		{name: "max-new-connections-per-cycle", kind: integer(1, 1000), def: "10"},
		{name: "max-new-tls-connections-per-cycle", kind: integer(1, 1000), def: "1"},
		{name: "client-default-resp", kind: integer(2, 3), def: "2", flags: immutable | hidden},
		{name: "active-defrag-max-scan-fields", kind: integer(1, math.MaxInt64), def: "1000"},
		{name: "active-defrag-ignore-bytes", kind: memory(1, math.MaxInt64), def: "104857600"},
		{name: "oom-score-adj-values", kind: oomScores(), def: "0 200 800"},
	}
}
