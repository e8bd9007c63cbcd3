package conf

import (
	"math"
	"time"
)

// sourceRows are those of servers that follow this one.
func sourceRows() []directive {
	seconds := func(v value) time.Duration { return time.Duration(min(v.n, math.MaxInt32)) * time.Second }
	return []directive{
		{name: "repl-backlog-size", kind: memory(1, math.MaxInt64), def: "1048576",
			doc: "How much of the stream of commands is in memory for replicas that come back; more is kept while one of them needs it, up to `client-output-buffer-limit`.",
			set: func(s *Settings, v value) { s.ReplBacklogSize = v.n }},
		{name: "repl-backlog-ttl", kind: integer(0, math.MaxInt64), def: "3600",
			doc: "Seconds without replicas after which the stream is not recorded any more; 0 for never.",
			set: func(s *Settings, v value) { s.ReplBacklogTTL = seconds(v) }},
		{name: "repl-timeout", kind: integer(1, math.MaxInt32), def: "60",
			doc: "Seconds after which a replica is disconnected that takes nothing, or confirms nothing, and a master is given up that says nothing.",
			set: func(s *Settings, v value) { s.ReplTimeout = seconds(v) }},
		{name: "repl-ping-replica-period", alias: "repl-ping-slave-period", kind: integer(1, math.MaxInt32), def: "10",
			doc: "Seconds between the PINGs that replicas get.",
			set: func(s *Settings, v value) { s.ReplPingPeriod = seconds(v) }},
		{name: "repl-diskless-sync-delay", kind: integer(0, math.MaxInt32), def: "5",
			doc: "Seconds between the begins of two full synchronizations: replicas that come meanwhile share one. The first begins at once.",
			set: func(s *Settings, v value) { s.ReplSyncDelay = seconds(v) }},
		{name: "min-replicas-to-write", alias: "min-slaves-to-write", kind: integer(0, math.MaxInt32), def: "0",
			doc: "Writes are refused with fewer replicas that confirm what they have, in a group with fewer members that reply; 0 for no minimum.",
			set: func(s *Settings, v value) { s.MinReplicas = int(v.n) }},
		{name: "min-replicas-max-lag", alias: "min-slaves-max-lag", kind: integer(0, math.MaxInt32), def: "10",
			doc: "Seconds within which a replica has to have confirmed something to count for `min-replicas-to-write`.",
			set: func(s *Settings, v value) { s.MinReplicasMaxLag = seconds(v) }},
		{name: "repl-modules", kind: yesNo(), def: "no",
			doc: "Replicas have RedisBloom and RedisJSON: they get filters, sketches and JSON documents, each whole after each change. Otherwise such keys are left out.",
			set: func(s *Settings, v value) { s.ReplModules = v.n == 1 }},
		{name: "rdbcompression", kind: yesNo(), def: "yes",
			doc: "RDB files that are exported, and those that replicas get, have strings of 21 bytes and more in LZF where that is shorter.",
			set: func(s *Settings, v value) { s.RDBCompression = v.n == 1 }},
	}
}
