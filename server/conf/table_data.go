package conf

import (
	"math"

	"github.com/vigildb/vigil/commands"
)

func memoryRows() []directive {
	return []directive{
		{name: "maxmemory", kind: memory(0, math.MaxInt64), def: "0",
			doc: "Memory for data; with 0 it follows from the memory of the cgroup or the machine (docs/limits.md).",
			set: func(s *Settings, v value) { s.MaxMemory = v.n }},
		{name: "maxmemory-policy", kind: oneOf(policyNames...), def: "spill", flags: shared,
			doc: "What happens at maxmemory: `spill` moves cold keys to disk; the other policies are the ones of Redis.",
			set: func(s *Settings, v value) { s.MaxMemoryPolicy = Policy(v.n) }},
		{name: "maxmemory-samples", kind: integer(1, 64), def: "5", flags: shared,
			doc: "Number of keys to compare when choosing one to evict.",
			set: func(s *Settings, v value) { s.MaxMemorySamples = int(v.n) }},
		{name: "lfu-log-factor", kind: integer(0, math.MaxInt32), def: "10", effect: inert,
			doc: "How slowly the access counter of LFU saturates."},
		{name: "lfu-decay-time", kind: integer(0, math.MaxInt32), def: "1", effect: inert,
			doc: "Minutes after which the access counter of LFU decreases by one."},
		{name: "active-expire-effort", kind: integer(1, 10), def: "1", effect: inert,
			doc: "How hard to look for expired keys."},
		{name: "lazyfree-lazy-eviction", kind: yesNo(), def: "no", effect: inert,
			doc: "Free evicted values in the background."},
		{name: "lazyfree-lazy-expire", kind: yesNo(), def: "no", effect: inert,
			doc: "Free expired values in the background."},
		{name: "lazyfree-lazy-server-del", kind: yesNo(), def: "no", effect: inert,
			doc: "Free overwritten values in the background."},
		{name: "lazyfree-lazy-user-del", kind: yesNo(), def: "no", effect: inert,
			doc: "Make DEL work like UNLINK."},
		{name: "lazyfree-lazy-user-flush", kind: yesNo(), def: "no", effect: inert,
			doc: "Make FLUSHALL and FLUSHDB asynchronous by default."},
	}
}

func encodingsRows() []directive {
	return []directive{
		{name: "hash-max-listpack-entries", alias: "hash-max-ziplist-entries", kind: integer(0, math.MaxInt64), def: "512", flags: shared,
			doc: "Maximum number of fields of a compact hash.",
			set: func(s *Settings, v value) { s.HashMaxListpackEntries = v.n }},
		{name: "hash-max-listpack-value", alias: "hash-max-ziplist-value", kind: memory(0, math.MaxInt64), def: "64", flags: shared,
			doc: "Maximum length in bytes of a field or value of a compact hash.",
			set: func(s *Settings, v value) { s.HashMaxListpackValue = v.n }},
		{name: "list-max-listpack-size", alias: "list-max-ziplist-size", kind: integer(math.MinInt32, math.MaxInt32), def: "-2", effect: inert,
			doc: "Elements in a node of a list, or -1 to -5 for 4, 8, 16, 32 or 64 KiB."},
		{name: "list-compress-depth", kind: integer(0, math.MaxInt32), def: "0", effect: inert,
			doc: "Nodes at both ends of a list that are never compressed."},
		{name: "set-max-intset-entries", kind: integer(0, math.MaxInt64), def: "512", flags: shared,
			doc: "Maximum number of members of a set that is an array of integers.",
			set: func(s *Settings, v value) { s.SetMaxIntsetEntries = v.n }},
		{name: "set-max-listpack-entries", kind: integer(0, math.MaxInt64), def: "128", effect: inert,
			doc: "Maximum number of members of a compact set."},
		{name: "set-max-listpack-value", kind: integer(0, math.MaxInt64), def: "64", effect: inert,
			doc: "Maximum length in bytes of a member of a compact set."},
		{name: "zset-max-listpack-entries", alias: "zset-max-ziplist-entries", kind: integer(0, math.MaxInt64), def: "128", flags: shared,
			doc: "Maximum number of members of a compact sorted set.",
			set: func(s *Settings, v value) { s.ZSetMaxListpackEntries = v.n }},
		{name: "zset-max-listpack-value", alias: "zset-max-ziplist-value", kind: memory(0, math.MaxInt64), def: "64", flags: shared,
			doc: "Maximum length in bytes of a member of a compact sorted set.",
			set: func(s *Settings, v value) { s.ZSetMaxListpackValue = v.n }},
		{name: "stream-node-max-bytes", kind: memory(0, math.MaxInt64), def: "4096", flags: shared,
			doc: "Maximum size in bytes of a page of a stream; 0 stands for 64 KiB, the most that there is.",
			set: func(s *Settings, v value) { s.StreamNodeMaxBytes = v.n }},
		{name: "stream-node-max-entries", kind: integer(0, math.MaxInt64), def: "100", flags: shared,
			doc: "Maximum number of entries in a page of a stream; 0 stands for 4096, the most that there are.",
			set: func(s *Settings, v value) { s.StreamNodeMaxEntries = v.n }},
		{name: "module-list-json", kind: yesNo(), def: "no", flags: shared,
			doc: "List the module ReJSON in MODULE LIST, HELLO and INFO, where some clients look before they use JSON documents.",
			set: func(s *Settings, v value) { s.ModuleListJSON = v.n != 0 }},
		{name: "hll-sparse-max-bytes", kind: memory(0, math.MaxInt64), def: "3000", flags: shared,
			doc: "Maximum size in bytes of a sparse HyperLogLog.",
			set: func(s *Settings, v value) { s.HLLSparseMaxBytes = v.n }},
	}
}

func watchingRows() []directive {
	return []directive{
		{name: "slowlog-log-slower-than", kind: integer(-1, math.MaxInt64), def: "10000",
			doc: "Minimum duration in microseconds of a command that is logged as slow; negative for never.",
			set: func(s *Settings, v value) { s.SlowlogLogSlowerThan = v.n }},
		{name: "slowlog-max-len", kind: integer(0, math.MaxInt64), def: "128",
			doc: "Maximum number of entries in the slow log.",
			set: func(s *Settings, v value) { s.SlowlogMaxLen = v.n }},
		{name: "latency-monitor-threshold", kind: integer(0, math.MaxInt64), def: "0",
			doc: "Minimum duration in milliseconds of an event that LATENCY records; 0 for never.",
			set: func(s *Settings, v value) { s.LatencyThreshold = v.n }},
		{name: "latency-tracking", kind: yesNo(), def: "yes",
			doc: "Keep a latency histogram for each command.",
			set: func(s *Settings, v value) { s.LatencyTracking = v.n == 1 }},
		{name: "latency-tracking-info-percentiles", kind: percentiles(), def: "50 99 99.9",
			doc: "Percentiles that INFO latencystats shows.",
			set: func(s *Settings, v value) { s.LatencyPercentiles = v.numbers }},
		{name: "notify-keyspace-events", kind: eventFlags(), def: "", flags: shared,
			doc: "Keyspace events to publish.",
			set: func(s *Settings, v value) { s.NotifyKeyspaceEvents = commands.EventClass(v.n) }},
		{name: "tracking-table-max-keys", kind: integer(0, math.MaxInt64), def: "1000000",
			doc: "Maximum number of keys that are remembered for client-side caching, and a 16th of the clients that have read them; beyond it, random keys are invalidated. 0 for no limit.",
			set: func(s *Settings, v value) { s.TrackingTableMaxKeys = v.n }},
		{name: "busy-reply-threshold", alias: "lua-time-limit", kind: integer(0, math.MaxInt64), def: "5000", flags: shared,
			doc: "Milliseconds after which other clients get BUSY errors while a script runs; 0 for never.",
			set: func(s *Settings, v value) { s.BusyReplyThreshold = v.n }},
		{name: "lua-memory-limit", kind: memory(1<<20, math.MaxInt64), def: "268435456", flags: shared,
			doc: "Memory that a script may use before it is ended with an error.",
			set: func(s *Settings, v value) { s.LuaMemoryLimit = v.n }},
		{name: "hide-user-data-from-log", kind: yesNo(), def: "no", effect: absent, instead: "the log names the key when a value cannot be read: restrict access to the log file",
			doc: "Keep keys and values out of the log."},
	}
}
