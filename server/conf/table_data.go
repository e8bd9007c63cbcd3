package conf

import (
	"math"
	"time"

	"github.com/vigildb/vigil/commands"
)

func memoryRows() []directive {
	return []directive{
		{name: "maxmemory", kind: memory(0, math.MaxInt64), def: "0",
			doc: "Memory for data; 0 for no limit.",
			set: func(s *Settings, v value) { s.MaxMemory = v.n }},
		{name: "maxmemory-policy", kind: oneOf("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction", "spill"), def: "spill",
			doc: "What happens at maxmemory: `spill` moves cold keys to disk, the others are those of Redis.",
			set: func(s *Settings, v value) { s.MaxMemoryPolicy = Policy(v.n) }},
		{name: "maxmemory-samples", kind: integer(1, 64), def: "5",
			doc: "Keys to compare when looking for one to evict.",
			set: func(s *Settings, v value) { s.MaxMemorySamples = int(v.n) }},
		{name: "lfu-log-factor", kind: integer(0, math.MaxInt32), def: "10", flags: inert,
			doc: "How slowly the access counter of LFU saturates.",
			set: func(s *Settings, v value) { s.LFULogFactor = int(v.n) }},
		{name: "lfu-decay-time", kind: integer(0, math.MaxInt32), def: "1", flags: inert,
			doc: "Minutes after which the access counter of LFU goes down by one.",
			set: func(s *Settings, v value) { s.LFUDecayTime = int(v.n) }},
		{name: "active-expire-effort", kind: integer(1, 10), def: "1", flags: inert,
			doc: "How hard to look for expired keys.",
			set: func(s *Settings, v value) { s.ActiveExpireEffort = int(v.n) }},
		{name: "lazyfree-lazy-eviction", kind: yesNo(), def: "no", flags: inert,
			doc: "Free evicted values in the background.",
			set: func(s *Settings, v value) { s.LazyEviction = v.n == 1 }},
		{name: "lazyfree-lazy-expire", kind: yesNo(), def: "no", flags: inert,
			doc: "Free expired values in the background.",
			set: func(s *Settings, v value) { s.LazyExpire = v.n == 1 }},
		{name: "lazyfree-lazy-server-del", kind: yesNo(), def: "no", flags: inert,
			doc: "Free overwritten values in the background.",
			set: func(s *Settings, v value) { s.LazyServerDel = v.n == 1 }},
		{name: "lazyfree-lazy-user-del", kind: yesNo(), def: "no", flags: inert,
			doc: "Make DEL work like UNLINK.",
			set: func(s *Settings, v value) { s.LazyUserDel = v.n == 1 }},
		{name: "lazyfree-lazy-user-flush", kind: yesNo(), def: "no", flags: inert,
			doc: "Make FLUSHALL and FLUSHDB asynchronous unless told otherwise.",
			set: func(s *Settings, v value) { s.LazyUserFlush = v.n == 1 }},
	}
}

func encodingsRows() []directive {
	return []directive{
		{name: "hash-max-listpack-entries", alias: "hash-max-ziplist-entries", kind: integer(0, math.MaxInt64), def: "512",
			doc: "Fields up to which a hash is compact.",
			set: func(s *Settings, v value) { s.HashMaxListpackEntries = v.n }},
		{name: "hash-max-listpack-value", alias: "hash-max-ziplist-value", kind: memory(0, math.MaxInt64), def: "64",
			doc: "Bytes of a field or value up to which a hash is compact.",
			set: func(s *Settings, v value) { s.HashMaxListpackValue = v.n }},
		{name: "list-max-listpack-size", alias: "list-max-ziplist-size", kind: integer(math.MinInt32, math.MaxInt32), def: "-2",
			doc: "Elements in a node of a list, or -1 to -5 for 4, 8, 16, 32 or 64 KiB.",
			set: func(s *Settings, v value) { s.ListMaxListpackSize = int(v.n) }},
		{name: "list-compress-depth", kind: integer(0, math.MaxInt32), def: "0", flags: inert,
			doc: "Nodes at both ends of a list that are never compressed.",
			set: func(s *Settings, v value) { s.ListCompressDepth = int(v.n) }},
		{name: "set-max-intset-entries", kind: integer(0, math.MaxInt64), def: "512", flags: inert,
			doc: "Integers up to which a set is an array of them.",
			set: func(s *Settings, v value) { s.SetMaxIntsetEntries = v.n }},
		{name: "set-max-listpack-entries", kind: integer(0, math.MaxInt64), def: "128", flags: inert,
			doc: "Members up to which a set is compact.",
			set: func(s *Settings, v value) { s.SetMaxListpackEntries = v.n }},
		{name: "set-max-listpack-value", kind: integer(0, math.MaxInt64), def: "64", flags: inert,
			doc: "Bytes of a member up to which a set is compact.",
			set: func(s *Settings, v value) { s.SetMaxListpackValue = v.n }},
		{name: "zset-max-listpack-entries", alias: "zset-max-ziplist-entries", kind: integer(0, math.MaxInt64), def: "128", flags: inert,
			doc: "Members up to which a sorted set is compact.",
			set: func(s *Settings, v value) { s.ZSetMaxListpackEntries = v.n }},
		{name: "zset-max-listpack-value", alias: "zset-max-ziplist-value", kind: memory(0, math.MaxInt64), def: "64", flags: inert,
			doc: "Bytes of a member up to which a sorted set is compact.",
			set: func(s *Settings, v value) { s.ZSetMaxListpackValue = v.n }},
		{name: "stream-node-max-bytes", kind: memory(0, math.MaxInt64), def: "4096", flags: inert,
			doc: "Bytes in a node of a stream.",
			set: func(s *Settings, v value) { s.StreamNodeMaxBytes = v.n }},
		{name: "stream-node-max-entries", kind: integer(0, math.MaxInt64), def: "100", flags: inert,
			doc: "Entries in a node of a stream.",
			set: func(s *Settings, v value) { s.StreamNodeMaxEntries = v.n }},
		{name: "hll-sparse-max-bytes", kind: memory(0, math.MaxInt64), def: "3000",
			doc: "Bytes up to which a HyperLogLog is sparse.",
			set: func(s *Settings, v value) { s.HLLSparseMaxBytes = v.n }},
	}
}

func watchingRows() []directive {
	return []directive{
		{name: "slowlog-log-slower-than", kind: integer(-1, math.MaxInt64), def: "10000",
			doc: "Microseconds from which a command is logged as slow; negative for never.",
			set: func(s *Settings, v value) { s.SlowlogLogSlowerThan = v.n }},
		{name: "slowlog-max-len", kind: integer(0, math.MaxInt64), def: "128",
			doc: "Entries that SLOWLOG keeps.",
			set: func(s *Settings, v value) { s.SlowlogMaxLen = v.n }},
		{name: "latency-monitor-threshold", kind: integer(0, math.MaxInt64), def: "0", flags: inert,
			doc: "Milliseconds from which LATENCY records an event; 0 for never.",
			set: func(s *Settings, v value) { s.LatencyMonitorThreshold = v.n }},
		{name: "latency-tracking", kind: yesNo(), def: "yes", flags: inert,
			doc: "Keep a latency histogram for each command.",
			set: func(s *Settings, v value) { s.LatencyTracking = v.n == 1 }},
		{name: "latency-tracking-info-percentiles", kind: percentiles(), def: "50 99 99.9", flags: inert,
			doc: "Percentiles that INFO latencystats shows.",
			set: func(s *Settings, v value) { s.LatencyPercentiles = v.floats }},
		{name: "notify-keyspace-events", kind: eventFlags(), def: "",
			doc: "Keyspace events to publish.",
			set: func(s *Settings, v value) { s.NotifyKeyspaceEvents = commands.EventClass(v.n) }},
		{name: "tracking-table-max-keys", kind: integer(0, math.MaxInt64), def: "1000000", flags: inert,
			doc: "Keys that the server remembers for client side caching.",
			set: func(s *Settings, v value) { s.TrackingTableMaxKeys = v.n }},
		{name: "busy-reply-threshold", alias: "lua-time-limit", kind: integer(0, math.MaxInt64), def: "5000", flags: inert,
			doc: "Milliseconds after which a running script makes other clients see BUSY; 0 for never.",
			set: func(s *Settings, v value) { s.BusyReplyThreshold = time.Duration(v.n) * time.Millisecond }},
		{name: "hide-user-data-from-log", kind: yesNo(), def: "no", flags: inert,
			doc: "Keep keys and values out of the log.",
			set: func(s *Settings, v value) { s.HideUserDataFromLog = v.n == 1 }},
	}
}
