package window

// infoMetric is a field of INFO as a metric.
type infoMetric struct {
	field, name, help string
	kind              kind
	scale             float64 // what the field is multiplied with; 0: 1
}

type kind uint8

const (
	gauge kind = iota
	counter
)

// redisRows have the names and types of redis_exporter, so that its dashboards
// and alerts work here; testdata/exporter.txt lists them, and a test compares. Some
// of the names are not what Prometheus advises. Figures of what vigil does not have
// are 0 where dashboards ask for them.
func redisRows() []infoMetric {
	return []infoMetric{
		{field: "uptime_in_seconds", name: "redis_uptime_in_seconds", help: "Seconds since the server started."},
		{field: "process_id", name: "redis_process_id", help: "ID of the process."},
		{field: "io_threads_active", name: "redis_io_threads_active", help: "Whether I/O threads are active."},
		{field: "hz", name: "redis_hz", help: "Rounds of background work per second."},
		{field: "configured_hz", name: "redis_configured_hz", help: "Rounds of background work per second, as configured."},

		{field: "connected_clients", name: "redis_connected_clients", help: "Connected clients, including the window's own."},
		{field: "blocked_clients", name: "redis_blocked_clients", help: "Clients waiting in a blocking command or a pause."},
		{field: "maxclients", name: "redis_max_clients", help: "Maximum number of connected clients."},
		{field: "tracking_clients", name: "redis_tracking_clients", help: "Clients with client-side caching."},
		{field: "clients_in_timeout_table", name: "redis_clients_in_timeout_table", help: "Waits with a timeout."},
		{field: "pubsub_clients", name: "redis_pubsub_clients", help: "Clients that are subscribed."},
		{field: "watching_clients", name: "redis_watching_clients", help: "Clients that watch keys."},
		{field: "total_watched_keys", name: "redis_total_watched_keys", help: "Keys that are watched."},
		{field: "total_blocking_keys", name: "redis_total_blocking_keys", help: "Keys that clients wait for."},
		{field: "client_recent_max_output_buffer", name: "redis_client_recent_max_output_buffer_bytes", help: "Largest output waiting for a client."},
		{field: "client_recent_max_input_buffer", name: "redis_client_recent_max_input_buffer_bytes", help: "Largest input buffer of a client."},

		{field: "allocator_active", name: "redis_allocator_active_bytes", help: "Go heap in use, by whole spans."},
		{field: "allocator_allocated", name: "redis_allocator_allocated_bytes", help: "Go heap allocated."},
		{field: "allocator_resident", name: "redis_allocator_resident_bytes", help: "Go heap obtained from the system."},
		{field: "allocator_frag_ratio", name: "redis_allocator_frag_ratio", help: "Go heap in use divided by allocated bytes."},
		{field: "allocator_frag_bytes", name: "redis_allocator_frag_bytes", help: "Go heap in use and not allocated."},
		{field: "used_memory", name: "redis_memory_used_bytes", help: "Keys and values in memory, which maxmemory limits."},
		{field: "used_memory_rss", name: "redis_memory_used_rss_bytes", help: "Memory of the process."},
		{field: "used_memory_peak", name: "redis_memory_used_peak_bytes", help: "Peak memory of keys and values."},
		{field: "used_memory_lua", name: "redis_memory_used_lua_bytes", help: "Memory of the Lua of Redis: none."},
		{field: "used_memory_scripts", name: "redis_memory_used_scripts_bytes", help: "Sources of scripts that are kept and of libraries of functions, in bytes."},
		{field: "used_memory_overhead", name: "redis_memory_used_overhead_bytes", help: "Memory of clients."},
		{field: "used_memory_startup", name: "redis_memory_used_startup_bytes", help: "Memory of an empty server: not counted."},
		{field: "used_memory_dataset", name: "redis_memory_used_dataset_bytes", help: "Keys and values in memory."},
		{field: "number_of_cached_scripts", name: "redis_number_of_cached_scripts", help: "Scripts that are kept."},
		{field: "number_of_functions", name: "redis_number_of_functions", help: "Functions."},
		{field: "number_of_libraries", name: "redis_number_of_libraries", help: "Libraries of functions."},
		{field: "maxmemory", name: "redis_memory_max_bytes", help: "The directive maxmemory; 0 is no limit."},
		{field: "total_system_memory", name: "redis_total_system_memory_bytes", help: "Memory of the machine."},
		{field: "mem_fragmentation_ratio", name: "redis_mem_fragmentation_ratio", help: "Memory of the process divided by the memory of keys and values."},
		{field: "mem_fragmentation_bytes", name: "redis_mem_fragmentation_bytes", help: "Memory of the process beyond keys and values."},
		{field: "mem_clients_slaves", name: "redis_mem_clients_slaves", help: "Memory of replicas: none."},
		{field: "mem_clients_normal", name: "redis_mem_clients_normal", help: "Memory of clients."},
		{field: "mem_cluster_links", name: "redis_mem_cluster_links_bytes", help: "Memory of cluster links: none."},
		{field: "mem_aof_buffer", name: "redis_mem_aof_buffer_bytes", help: "Journal that is not handed to Pebble yet."},
		{field: "mem_replication_backlog", name: "redis_mem_replication_backlog_bytes", help: "Replication backlog: none."},
		{field: "mem_not_counted_for_evict", name: "redis_mem_not_counted_for_eviction_bytes", help: "Memory that maxmemory does not count: none."},
		{field: "mem_total_replication_buffers", name: "redis_mem_total_replication_buffers_bytes", help: "Replication buffers: none."},
		{field: "lazyfree_pending_objects", name: "redis_lazyfree_pending_objects", help: "Values to be freed later: none."},
		{field: "lazyfreed_objects", name: "redis_lazyfreed_objects", help: "Large values that were deleted and whose memory the garbage collector frees."},
		{field: "active_defrag_running", name: "redis_active_defrag_running", help: "Whether memory is defragmented: never."},
		{field: "migrate_cached_sockets", name: "redis_migrate_cached_sockets_total", help: "Connections kept for MIGRATE."},

		{field: "loading", name: "redis_loading_dump_file", help: "Whether data are loaded."},
		{field: "async_loading", name: "redis_async_loading", help: "Whether data are loaded beside commands: never."},
		{field: "rdb_changes_since_last_save", name: "redis_rdb_changes_since_last_save", help: "Records since the last snapshot."},
		{field: "rdb_bgsave_in_progress", name: "redis_rdb_bgsave_in_progress", help: "Whether a snapshot is made."},
		{field: "rdb_last_save_time", name: "redis_rdb_last_save_timestamp_seconds", help: "Time of the last snapshot, or of the start."},
		{field: "rdb_last_bgsave_status", name: "redis_rdb_last_bgsave_status", help: "1 if the last snapshot succeeded."},
		{field: "rdb_last_bgsave_time_sec", name: "redis_rdb_last_bgsave_duration_sec", help: "Seconds that the last snapshot took; -1 before the first."},
		{field: "rdb_current_bgsave_time_sec", name: "redis_rdb_current_bgsave_duration_sec", help: "Seconds since the snapshot under way began; -1 without one."},
		{field: "aof_enabled", name: "redis_aof_enabled", help: "Whether there is a journal."},
		{field: "aof_rewrite_in_progress", name: "redis_aof_rewrite_in_progress", help: "Whether all keys are being stored under their own names."},
		{field: "aof_rewrite_scheduled", name: "redis_aof_rewrite_scheduled", help: "Whether that is to follow: never."},
		{field: "aof_last_bgrewrite_status", name: "redis_aof_last_bgrewrite_status", help: "1 if the last BGREWRITEAOF succeeded."},
		{field: "aof_last_write_status", name: "redis_aof_last_write_status", help: "1 if the disk takes writes."},
		{field: "aof_current_size", name: "redis_aof_current_size_bytes", help: "Journal that a restart would replay."},
		{field: "aof_buffer_length", name: "redis_aof_buffer_length", help: "Journal that is not handed to Pebble yet, in bytes."},

		{field: "pubsub_channels", name: "redis_pubsub_channels", help: "Channels with subscribers."},
		{field: "pubsub_patterns", name: "redis_pubsub_patterns", help: "Patterns with subscribers."},
		{field: "pubsubshard_channels", name: "redis_pubsubshard_channels", help: "Shard channels with subscribers."},
		{field: "latest_fork_usec", name: "redis_latest_fork_seconds", help: "Time of the last fork: there is none.", scale: 1e-6},
		{field: "tracking_total_keys", name: "redis_tracking_total_keys", help: "Keys of client-side caching."},
		{field: "tracking_total_items", name: "redis_tracking_total_items", help: "Clients of the keys of client-side caching."},
		{field: "tracking_total_prefixes", name: "redis_tracking_total_prefixes", help: "Prefixes of client-side caching."},
		{field: "slave_expires_tracked_keys", name: "redis_slave_expires_tracked_keys", help: "Expiries of a writable replica: none."},

		{field: "connected_slaves", name: "redis_connected_slaves", help: "Replicas: none."},
		{field: "repl_backlog_size", name: "redis_replication_backlog_bytes", help: "Size of the replication backlog: none."},
		{field: "repl_backlog_active", name: "redis_repl_backlog_is_active", help: "Whether there is a replication backlog."},
		{field: "repl_backlog_first_byte_offset", name: "redis_repl_backlog_first_byte_offset", help: "Offset of the replication backlog."},
		{field: "repl_backlog_histlen", name: "redis_repl_backlog_history_bytes", help: "Bytes in the replication backlog."},
		{field: "master_repl_offset", name: "redis_master_repl_offset", help: "Offset of replication."},
		{field: "second_repl_offset", name: "redis_second_repl_offset", help: "Offset of an earlier replication."},
		{field: "sync_full", name: "redis_replica_resyncs_full", help: "Full resynchronisations of replicas: none."},
		{field: "sync_partial_ok", name: "redis_replica_partial_resync_accepted", help: "Partial resynchronisations accepted: none."},
		{field: "sync_partial_err", name: "redis_replica_partial_resync_denied", help: "Partial resynchronisations denied: none."},
		{field: "cluster_enabled", name: "redis_cluster_enabled", help: "Whether this is a cluster: never."},
		{field: "cluster_connections", name: "redis_cluster_connections", help: "Connections of the cluster bus: none."},

		{field: "total_connections_received", name: "redis_connections_received_total", help: "Clients let in.", kind: counter},
		{field: "total_commands_processed", name: "redis_commands_processed_total", help: "Commands that ran.", kind: counter},
		{field: "rejected_connections", name: "redis_rejected_connections_total", help: "Clients not let in.", kind: counter},
		{field: "total_net_input_bytes", name: "redis_net_input_bytes_total", help: "Bytes received from clients.", kind: counter},
		{field: "total_net_output_bytes", name: "redis_net_output_bytes_total", help: "Bytes sent to clients.", kind: counter},
		{field: "expired_keys", name: "redis_expired_keys_total", help: "Keys whose time was over.", kind: counter},
		{field: "evicted_keys", name: "redis_evicted_keys_total", help: "Keys deleted to make room.", kind: counter},
		{field: "evicted_clients", name: "redis_evicted_clients_total", help: "Clients disconnected by maxmemory-clients.", kind: counter},
		{field: "keyspace_hits", name: "redis_keyspace_hits_total", help: "Lookups that found their key.", kind: counter},
		{field: "keyspace_misses", name: "redis_keyspace_misses_total", help: "Lookups that did not.", kind: counter},
		{field: "used_cpu_sys", name: "redis_cpu_sys_seconds_total", help: "Processor time in the system.", kind: counter},
		{field: "used_cpu_user", name: "redis_cpu_user_seconds_total", help: "Processor time in the process.", kind: counter},
		{field: "used_cpu_sys_children", name: "redis_cpu_sys_children_seconds_total", help: "Of children, in the system: none.", kind: counter},
		{field: "used_cpu_user_children", name: "redis_cpu_user_children_seconds_total", help: "Of children: none.", kind: counter},
		{field: "unexpected_error_replies", name: "redis_unexpected_error_replies", help: "Errors in talking to a master: none.", kind: counter},
		{field: "total_error_replies", name: "redis_total_error_replies", help: "Error replies.", kind: counter},
		{field: "client_query_buffer_limit_disconnections", name: "redis_client_query_buffer_limit_disconnections_total", help: "Clients that sent too much at once.", kind: counter},
		{field: "client_output_buffer_limit_disconnections", name: "redis_client_output_buffer_limit_disconnections_total", help: "Clients that read too slowly.", kind: counter},
	}
}

// vigilRows are what Redis does not have.
func vigilRows() []infoMetric {
	return []infoMetric{
		{field: "vigil_lsn", name: "vigil_journal_lsn", help: "Number of the newest record of the journal."},
		{field: "vigil_lsn_synced", name: "vigil_journal_synced_lsn", help: "Number of the newest record that is on the device."},
		{field: "vigil_lsn_trimmed", name: "vigil_journal_trimmed_lsn", help: "Number of the newest record that was cut off, as its keys are stored."},
		{field: "aof_current_size", name: "vigil_journal_bytes", help: "Journal that a restart would replay."},
		{field: "aof_buffer_length", name: "vigil_journal_pending_bytes", help: "Journal that is not handed to Pebble yet."},
		{field: "vigil_shards", name: "vigil_shards", help: "Parts, each with a lock, that keys are divided into."},
		{field: "vigil_dirty_keys", name: "vigil_dirty_keys", help: "Keys that are to be written under their own names."},
		{field: "vigil_cold_tables", name: "vigil_cold_tables", help: "Tables of shards that have keys on disk only."},
		{field: "vigil_disk_bytes", name: "vigil_disk_bytes", help: "Files of the store."},
		{field: "vigil_compaction_debt_bytes", name: "vigil_compaction_debt_bytes", help: "What Pebble has yet to compact."},
		{field: "vigil_read_amplification", name: "vigil_read_amplification", help: "Tables of Pebble that a lookup may have to ask."},
		{field: "vigil_memtable_bytes", name: "vigil_memtable_bytes", help: "Pebble's tables in memory."},
		{field: "vigil_in_memory", name: "vigil_in_memory", help: "Whether nothing is kept on disk."},

		{field: "vigil_materialised", name: "vigil_materialised_values_total", help: "Values written under their own names.", kind: counter},
		{field: "vigil_faults", name: "vigil_disk_reads_total", help: "Keys read from disk because a command wanted them.", kind: counter},
		{field: "vigil_spilled", name: "vigil_spilled_values_total", help: "Values dropped from memory to make room, as the disk has them.", kind: counter},
		{field: "vigil_block_cache_hits", name: "vigil_block_cache_hits_total", help: "Blocks found in Pebble's cache.", kind: counter},
		{field: "vigil_block_cache_misses", name: "vigil_block_cache_misses_total", help: "Blocks read from disk.", kind: counter},
		{field: "vigil_wal_bytes", name: "vigil_wal_written_bytes_total", help: "Bytes written to Pebble's log.", kind: counter},
		{field: "vigil_flushed_bytes", name: "vigil_flushed_bytes_total", help: "Bytes that Pebble flushed to tables.", kind: counter},
		{field: "vigil_compacted_bytes", name: "vigil_compacted_bytes_total", help: "Bytes that compactions wrote.", kind: counter},
		{field: "vigil_compactions", name: "vigil_compactions_total", help: "Compactions of Pebble.", kind: counter},
		{field: "vigil_gc_cycles", name: "vigil_gc_cycles_total", help: "Collections of garbage.", kind: counter},
		{field: "vigil_gc_cpu_seconds", name: "vigil_gc_cpu_seconds_total", help: "Processor time of the collector, as the Go runtime estimates it.", kind: counter},
	}
}
