package conf

import (
	"math"

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
		{name: "lfu-log-factor", kind: integer(0, math.MaxInt32), def: "10", effect: inert,
			doc: "How slowly the access counter of LFU saturates."},
		{name: "lfu-decay-time", kind: integer(0, math.MaxInt32), def: "1", effect: inert,
			doc: "Minutes after which the access counter of LFU goes down by one."},
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
			doc: "Make FLUSHALL and FLUSHDB asynchronous unless told otherwise."},
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
		{name: "list-compress-depth", kind: integer(0, math.MaxInt32), def: "0", effect: inert,
			doc: "Nodes at both ends of a list that are never compressed."},
		{name: "set-max-intset-entries", kind: integer(0, math.MaxInt64), def: "512", effect: inert,
			doc: "Integers up to which a set is an array of them."},
		{name: "set-max-listpack-entries", kind: integer(0, math.MaxInt64), def: "128", effect: inert,
			doc: "Members up to which a set is compact."},
		{name: "set-max-listpack-value", kind: integer(0, math.MaxInt64), def: "64", effect: inert,
			doc: "Bytes of a member up to which a set is compact."},
		{name: "zset-max-listpack-entries", alias: "zset-max-ziplist-entries", kind: integer(0, math.MaxInt64), def: "128", effect: inert,
			doc: "Members up to which a sorted set is compact."},
		{name: "zset-max-listpack-value", alias: "zset-max-ziplist-value", kind: memory(0, math.MaxInt64), def: "64", effect: inert,
			doc: "Bytes of a member up to which a sorted set is compact."},
		{name: "stream-node-max-bytes", kind: memory(0, math.MaxInt64), def: "4096", effect: inert,
			doc: "Bytes in a node of a stream."},
		{name: "stream-node-max-entries", kind: integer(0, math.MaxInt64), def: "100", effect: inert,
			doc: "Entries in a node of a stream."},
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
		{name: "latency-monitor-threshold", kind: integer(0, math.MaxInt64), def: "0", effect: inert,
			doc: "Milliseconds from which LATENCY records an event; 0 for never."},
		{name: "latency-tracking", kind: yesNo(), def: "yes", effect: inert,
			doc: "Keep a latency histogram for each command."},
		{name: "latency-tracking-info-percentiles", kind: percentiles(), def: "50 99 99.9", effect: inert,
			doc: "Percentiles that INFO latencystats shows."},
		{name: "notify-keyspace-events", kind: eventFlags(), def: "",
			doc: "Keyspace events to publish.",
			set: func(s *Settings, v value) { s.NotifyKeyspaceEvents = commands.EventClass(v.n) }},
		{name: "tracking-table-max-keys", kind: integer(0, math.MaxInt64), def: "1000000", effect: inert,
			doc: "Keys that the server remembers for client side caching."},
		{name: "busy-reply-threshold", alias: "lua-time-limit", kind: integer(0, math.MaxInt64), def: "5000", effect: inert,
			doc: "Milliseconds after which a running script makes other clients see BUSY; 0 for never."},
		{name: "hide-user-data-from-log", kind: yesNo(), def: "no", effect: absent, instead: "keys may stand in the log, where a value cannot be read: guard the log file",
			doc: "Keep keys and values out of the log."},
	}
}
