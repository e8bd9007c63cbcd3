package conf

import "math"

// The rows of this file do nothing in vigil. They are checked and shown, so that
// files and tools made for Redis work. A directive that is absent accepts only its
// default: with any other value the user relies on something that vigil lacks.

// replicationRows are those of replication that a replica does not need.
func replicationRows() []directive {
	return []directive{
		{name: "repl-disable-tcp-nodelay", kind: yesNo(), def: "no", effect: inert},
		{name: "repl-diskless-sync", kind: yesNo(), def: "yes", effect: inert},
		{name: "replica-lazy-flush", alias: "slave-lazy-flush", kind: yesNo(), def: "no", effect: inert},
		{name: "replica-ignore-maxmemory", alias: "slave-ignore-maxmemory", kind: yesNo(), def: "yes", effect: inert},
		{name: "replica-ignore-disk-write-errors", kind: yesNo(), def: "no", effect: inert},
		{name: "repl-diskless-load", kind: oneOf("disabled", "on-empty-db", "swapdb"), def: "disabled", flags: notLoading, effect: inert},
		{name: "propagation-error-behavior", kind: oneOf("ignore", "panic", "panic-on-replicas"), def: "ignore", effect: inert},
		{name: "repl-diskless-sync-max-replicas", kind: integer(0, math.MaxInt32), def: "0", effect: inert},
	}
}

// clusterRows are those of Redis Cluster.
func clusterRows() []directive {
	return []directive{
		{name: "cluster-replica-no-failover", alias: "cluster-slave-no-failover", kind: yesNo(), def: "no", effect: inert},
		{name: "cluster-allow-replica-migration", kind: yesNo(), def: "yes", effect: inert},
		{name: "cluster-config-file", kind: text(), def: "nodes.conf", flags: immutable, effect: inert},
		{name: "cluster-replica-validity-factor", alias: "cluster-slave-validity-factor", kind: integer(0, math.MaxInt32), def: "10", effect: inert},
		{name: "cluster-migration-barrier", kind: integer(0, math.MaxInt32), def: "1", effect: inert},
		{name: "cluster-ping-interval", kind: integer(0, math.MaxInt64), def: "0", flags: hidden, effect: inert},
		{name: "cluster-link-sendbuf-limit", kind: memory(0, math.MaxInt64), def: "0", effect: inert},
	}
}

// journalRows are those of the append only file and of RDB files.
func journalRows() []directive {
	return []directive{
		{name: "rdbchecksum", kind: yesNo(), def: "yes", flags: immutable, effect: inert},
		{name: "rdb-del-sync-files", kind: yesNo(), def: "no", effect: inert},
		{name: "aof-rewrite-incremental-fsync", kind: yesNo(), def: "yes", effect: inert},
		{name: "no-appendfsync-on-rewrite", kind: yesNo(), def: "no", effect: inert},
		{name: "rdb-save-incremental-fsync", kind: yesNo(), def: "yes", effect: inert},
		{name: "aof-load-truncated", kind: yesNo(), def: "yes", effect: absent, instead: "an incomplete record at the end of the journal was never acknowledged and is always dropped; remove the line"},
		{name: "aof-use-rdb-preamble", kind: yesNo(), def: "yes", effect: inert},
		{name: "aof-timestamp-enabled", kind: yesNo(), def: "no", effect: inert},
		{name: "aof-disable-auto-gc", kind: yesNo(), def: "no", flags: hidden, effect: inert},
		{name: "appendfilename", kind: text(fileName("appendfilename", "filename", false)), def: "appendonly.aof", flags: immutable, effect: inert},
		{name: "appenddirname", kind: text(fileName("appenddirname", "dirname", false)), def: "appendonlydir", flags: immutable, effect: inert},
		{name: "aof_rewrite_cpulist", alias: "aof-rewrite-cpulist", kind: text(), def: "", flags: settled, effect: inert},
		{name: "auto-aof-rewrite-percentage", kind: integer(0, math.MaxInt32), def: "100", effect: inert},
		{name: "rdb-key-save-delay", kind: integer(math.MinInt32, math.MaxInt32), def: "0", flags: hidden, effect: inert},
		{name: "key-load-delay", kind: integer(math.MinInt32, math.MaxInt32), def: "0", flags: hidden, effect: inert},
		{name: "auto-aof-rewrite-min-size", kind: memory(0, math.MaxInt64), def: "67108864", effect: inert},
		{name: "loading-process-events-interval-bytes", kind: integer(1024, math.MaxInt32), def: "2097152", flags: hidden, effect: inert},
	}
}

// engineRows are those of the insides of Redis.
func engineRows() []directive {
	return []directive{
		{name: "io-threads-do-reads", kind: yesNo(), def: "no", flags: immutable, effect: inert},
		{name: "always-show-logo", kind: yesNo(), def: "no", flags: immutable, effect: inert},
		{name: "activerehashing", kind: yesNo(), def: "yes", effect: inert},
		{name: "set-proc-title", kind: yesNo(), def: "yes", flags: immutable, effect: inert},
		{name: "dynamic-hz", kind: yesNo(), def: "yes", effect: inert},
		{name: "jemalloc-bg-thread", kind: yesNo(), def: "yes", effect: inert},
		{name: "activedefrag", kind: kind{title: "`no`", parse: noActiveDefrag, lines: plain}, def: "no", effect: inert},
		{name: "syslog-enabled", kind: yesNo(), def: "no", flags: immutable, effect: absent, instead: "vigil logs to a file or to standard output: set logfile, or let a supervisor forward the output"},
		{name: "crash-log-enabled", kind: yesNo(), def: "yes", effect: inert},
		{name: "crash-memcheck-enabled", kind: yesNo(), def: "yes", effect: inert},
		{name: "use-exit-on-panic", kind: yesNo(), def: "no", flags: hidden, effect: inert},
		{name: "disable-thp", kind: yesNo(), def: "yes", flags: immutable, effect: inert},
		{name: "syslog-ident", kind: text(), def: "redis", flags: immutable, effect: inert},
		{name: "server_cpulist", alias: "server-cpulist", kind: text(), def: "", flags: settled, effect: inert},
		{name: "bio_cpulist", alias: "bio-cpulist", kind: text(), def: "", flags: settled, effect: inert},
		{name: "bgsave_cpulist", alias: "bgsave-cpulist", kind: text(), def: "", flags: settled, effect: inert},
		{name: "ignore-warnings", kind: text(), def: "", effect: inert},
		{name: "proc-title-template", kind: text(), def: "{title} {listen-addr} {server-mode}", effect: inert},
		{name: "bind-source-addr", kind: text(), def: "", effect: inert},
		{name: "req-res-logfile", kind: text(), def: "", flags: immutable | hidden, effect: absent, instead: "vigil does not log requests and replies: use MONITOR"},
		{name: "locale-collate", kind: text(), def: "", effect: inert},
		{name: "syslog-facility", kind: oneOf("user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"), def: "local0", flags: immutable, effect: inert},
		{name: "oom-score-adj", kind: oneOf("no", "yes", "relative", "absolute"), def: "no", effect: inert},
		{name: "sanitize-dump-payload", kind: oneOf("no", "yes", "clients"), def: "no", effect: inert},
		{name: "enable-module-command", kind: oneOf("no", "yes", "local"), def: "no", flags: immutable, effect: inert},
		{name: "active-defrag-cycle-min", kind: integer(1, 99), def: "1", effect: inert},
		{name: "active-defrag-cycle-max", kind: integer(1, 99), def: "25", effect: inert},
		{name: "active-defrag-threshold-lower", kind: integer(0, 1000), def: "10", effect: inert},
		{name: "active-defrag-threshold-upper", kind: integer(0, 1000), def: "100", effect: inert},
		{name: "maxmemory-eviction-tenacity", kind: integer(0, 100), def: "10", effect: inert},
		{name: "watchdog-period", kind: integer(0, math.MaxInt32), def: "0", flags: hidden, effect: inert},
		{name: "socket-mark-id", kind: integer(0, math.MaxUint32), def: "0", flags: immutable, effect: absent, instead: "vigil does not mark its sockets: match their port in the firewall instead"},
		{name: "max-new-connections-per-cycle", kind: integer(1, 1000), def: "10", effect: inert},
		{name: "max-new-tls-connections-per-cycle", kind: integer(1, 1000), def: "1", effect: inert},
		{name: "client-default-resp", kind: integer(2, 3), def: "2", flags: immutable | hidden, effect: absent, instead: "clients start with RESP2 and change it with HELLO: remove the line"},
		{name: "active-defrag-max-scan-fields", kind: integer(1, math.MaxInt64), def: "1000", effect: inert},
		{name: "active-defrag-ignore-bytes", kind: memory(1, math.MaxInt64), def: "104857600", effect: inert},
		{name: "oom-score-adj-values", kind: oomScores(), def: "0 200 800", effect: inert},
	}
}
