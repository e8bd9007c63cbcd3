package server

import (
	"fmt"
	"time"

	"github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/persistence"
)

// status is Redis's word for an outcome.
func status(failed bool) string {
	if failed {
		return "err"
	}
	return "ok"
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}

// infoPersistence shows the journal where Redis shows its append-only file, and
// snapshots where it shows its dump.
func infoPersistence(t *infoText) {
	v, st := &t.srv.saves, &t.figures.stats
	t.line("loading", number(t.srv.loading.Load()))
	t.line("async_loading", 0)
	t.line("rdb_changes_since_last_save", st.LSN-min(st.LSN, v.lastLSN.Load()))
	t.line("rdb_bgsave_in_progress", number(v.running.Load()))
	t.line("rdb_last_save_time", v.last.Load())
	t.line("rdb_last_bgsave_status", status(v.failed.Load()))
	t.line("rdb_last_bgsave_time_sec", v.took.Load())
	t.line("rdb_current_bgsave_time_sec", v.underWay(t.srv.clock.Now().Unix()))
	t.line("rdb_saves", v.saves.Load())
	t.line("rdb_last_cow_size", 0)
	t.line("rdb_last_load_keys_expired", 0)
	t.line("rdb_last_load_keys_loaded", 0)
	t.line("aof_enabled", number(!t.srv.opts.InMemory))
	t.line("aof_rewrite_in_progress", number(t.srv.admin.rewriting.Load()))
	t.line("aof_rewrite_scheduled", 0)
	t.line("aof_last_rewrite_time_sec", -1)
	t.line("aof_current_rewrite_time_sec", -1)
	t.line("aof_last_bgrewrite_status", "ok")
	t.line("aof_last_cow_size", 0)
	t.line("module_fork_in_progress", 0)
	t.line("module_fork_last_cow_size", 0)
	t.line("aof_last_write_status", status(t.srv.store.WriteError() != nil))
	t.line("aof_current_size", st.JournalBytes)
	t.line("aof_buffer_length", st.PendingBytes)
	t.line("vigil_in_memory", number(t.srv.opts.InMemory))
	t.line("vigil_lsn", st.LSN)
	t.line("vigil_lsn_synced", st.Synced)
	t.line("vigil_lsn_trimmed", st.Trimmed)
	t.line("vigil_shards", persistence.ShardCount)
	t.line("vigil_dirty_keys", st.Dirty)
	t.line("vigil_materialised", st.Materialised)
	t.line("vigil_faults", st.Faults)
	t.line("vigil_spilled", st.Spilled)
	t.line("vigil_cold_tables", st.ColdTables)
	t.line("vigil_disk_bytes", st.DiskBytes)
	t.line("vigil_compaction_debt_bytes", st.CompactionDebt)
	t.line("vigil_block_cache_hits", st.CacheHits)
	t.line("vigil_block_cache_misses", st.CacheMisses)
	t.line("vigil_wal_bytes", st.WALBytes)
	t.line("vigil_flushed_bytes", st.FlushedBytes)
	t.line("vigil_compacted_bytes", st.CompactedBytes)
	t.line("vigil_read_amplification", st.ReadAmplification)
	t.line("vigil_compactions", st.Compactions)
	for i, l := range st.Levels {
		t.line(fmt.Sprintf("vigil_level_%d", i), fmt.Sprintf("tables=%d,bytes=%d", l.Tables, l.Bytes))
	}
	if t.srv.loading.Load() {
		infoLoading(t)
	}
}

func infoStats(t *infoText) {
	st, p := &t.srv.stats, &t.srv.broker
	t.line("total_connections_received", st.connections.Load())
	t.line("total_commands_processed", st.processed())
	t.line("instantaneous_ops_per_sec", t.srv.opsPerSecond.Load())
	t.line("total_net_input_bytes", st.inputBytes.Load())
	t.line("total_net_output_bytes", st.outputBytes.Load())
	t.line("total_net_repl_input_bytes", 0)
	t.line("total_net_repl_output_bytes", 0)
	t.line("total_reads_processed", st.reads.Load())
	t.line("total_writes_processed", st.writes.Load())
	t.line("io_threaded_reads_processed", 0)
	t.line("io_threaded_writes_processed", 0)
	t.line("rejected_connections", st.rejectedClients.Load())
	t.line("sync_full", 0)
	t.line("sync_partial_ok", 0)
	t.line("sync_partial_err", 0)
	t.line("expired_keys", st.expired.Load())
	t.line("evicted_keys", st.evicted.Load())
	t.line("evicted_clients", st.evictedClients.Load())
	t.line("keyspace_hits", st.hits.Load())
	t.line("keyspace_misses", st.misses.Load())
	t.line("pubsub_channels", p.topicCount(pubsub.Channel))
	t.line("pubsub_patterns", p.topicCount(pubsub.Pattern))
	t.line("pubsubshard_channels", p.topicCount(pubsub.ShardChannel))
	t.line("latest_fork_usec", 0)
	t.line("total_forks", 0)
	t.line("migrate_cached_sockets", t.srv.links.size())
	t.line("slave_expires_tracked_keys", 0)
	t.line("tracking_total_keys", t.srv.tracking.keys.Load())
	t.line("tracking_total_items", t.srv.tracking.items.Load())
	t.line("tracking_total_prefixes", t.srv.tracking.asked.Load())
	t.line("active_defrag_hits", 0)
	t.line("active_defrag_misses", 0)
	t.line("active_defrag_key_hits", 0)
	t.line("active_defrag_key_misses", 0)
	t.line("dump_payload_sanitizations", 0)
	t.line("unexpected_error_replies", 0)
	t.line("total_error_replies", st.errorReplies.Load())
	for _, x := range refusalFields {
		t.line(x.name, t.srv.refusals.Count(x.reason))
	}
	t.line("client_query_buffer_limit_disconnections", st.queryLimitDrops.Load())
	t.line("client_output_buffer_limit_disconnections", st.outputLimitDrops.Load())
}

// topicCount is the number of topics of a kind that have subscribers.
func (p *broker) topicCount(kind pubsub.Kind) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[kind])
}

func infoCPU(t *infoText) {
	user, system := cpuTimes()
	line := func(name string, d time.Duration) { t.line(name, fmt.Sprintf("%.6f", d.Seconds())) }
	line("used_cpu_sys", system)
	line("used_cpu_user", user)
	line("used_cpu_sys_children", 0)
	line("used_cpu_user_children", 0)
}

func infoCommandStats(t *infoText) {
	st := &t.srv.stats
	for _, c := range st.table.All() {
		n := &st.commands[c.ID()]
		calls, rejected, failed := n.calls.Load(), n.rejected.Load(), n.failed.Load()
		if calls+rejected+failed == 0 {
			continue
		}
		micros := n.nanos.Load() / 1000
		t.line("cmdstat_"+c.FullName(), fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			calls, micros, ratio(micros, calls), rejected, failed))
	}
}

func infoErrorStats(t *infoText) {
	for _, e := range t.srv.stats.errorCounts() {
		t.line("errorstat_"+safeName(e.word), fmt.Sprintf("count=%d", e.n))
	}
}

// safeName keeps a name from breaking the form of INFO.
func safeName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c <= ' ' || c > '~' || c == ':' || c == '=' || c == ',' || c == '#' {
			b[i] = '_'
		}
	}
	return string(b)
}
