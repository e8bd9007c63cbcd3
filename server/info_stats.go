package server

import (
	"fmt"
	"strconv"

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
	v, st, disk := &t.srv.saves, t.store(), &t.srv.slowly().disk
	field(t, "loading", number(t.srv.loading.Load()))
	field(t, "async_loading", 0)
	field(t, "rdb_changes_since_last_save", st.LSN-min(st.LSN, v.lastLSN.Load()))
	field(t, "rdb_bgsave_in_progress", number(v.running.Load()))
	field(t, "rdb_last_save_time", v.last.Load())
	field(t, "rdb_last_bgsave_status", status(v.failed.Load()))
	field(t, "rdb_last_bgsave_time_sec", v.took.Load())
	field(t, "rdb_current_bgsave_time_sec", v.underWay(t.srv.clock.Now().Unix()))
	field(t, "rdb_saves", v.saves.Load())
	field(t, "rdb_last_cow_size", 0)
	field(t, "rdb_last_load_keys_expired", 0)
	field(t, "rdb_last_load_keys_loaded", 0)
	field(t, "aof_enabled", number(!t.srv.opts.InMemory))
	field(t, "aof_rewrite_in_progress", number(t.srv.admin.rewriting.Load()))
	field(t, "aof_rewrite_scheduled", 0)
	field(t, "aof_last_rewrite_time_sec", -1)
	field(t, "aof_current_rewrite_time_sec", -1)
	field(t, "aof_last_bgrewrite_status", "ok")
	field(t, "aof_last_cow_size", 0)
	field(t, "module_fork_in_progress", 0)
	field(t, "module_fork_last_cow_size", 0)
	field(t, "aof_last_write_status", status(t.srv.store.DiskError() != nil))
	field(t, "aof_current_size", st.JournalBytes)
	field(t, "aof_buffer_length", st.PendingBytes)
	field(t, "vigil_in_memory", number(t.srv.opts.InMemory))
	field(t, "vigil_lsn", st.LSN)
	field(t, "vigil_lsn_synced", st.Synced)
	field(t, "vigil_lsn_trimmed", st.Trimmed)
	field(t, "vigil_shards", persistence.ShardCount)
	field(t, "vigil_dirty_keys", st.Dirty)
	field(t, "vigil_materialised", st.Materialised)
	field(t, "vigil_faults", st.Faults)
	field(t, "vigil_spilled", st.Spilled)
	field(t, "vigil_cold_tables", st.ColdTables)
	field(t, "vigil_disk_bytes", disk.Bytes)
	field(t, "vigil_compaction_debt_bytes", disk.CompactionDebt)
	field(t, "vigil_block_cache_hits", disk.CacheHits)
	field(t, "vigil_block_cache_misses", disk.CacheMisses)
	field(t, "vigil_wal_bytes", disk.WALBytes)
	field(t, "vigil_flushed_bytes", disk.FlushedBytes)
	field(t, "vigil_compacted_bytes", disk.CompactedBytes)
	field(t, "vigil_read_amplification", disk.ReadAmplification)
	field(t, "vigil_compactions", disk.Compactions)
	for i, l := range disk.Levels {
		t.b = append(strconv.AppendInt(append(t.b, "vigil_level_"...), int64(i), 10), ":tables="...)
		t.b = append(strconv.AppendInt(t.b, l.Tables, 10), ",bytes="...)
		t.b = append(strconv.AppendUint(t.b, uint64(l.Bytes), 10), "\r\n"...)
	}
	if t.srv.loading.Load() {
		infoLoading(t)
	}
}

func infoStats(t *infoText) {
	st, p := &t.srv.stats, &t.srv.broker
	field(t, "total_connections_received", st.connections.Load())
	field(t, "total_commands_processed", st.processed())
	field(t, "instantaneous_ops_per_sec", t.srv.opsPerSecond.Load())
	field(t, "total_net_input_bytes", st.inputBytes.Load())
	field(t, "total_net_output_bytes", st.outputBytes.Load())
	field(t, "total_net_repl_input_bytes", 0)
	field(t, "total_net_repl_output_bytes", 0)
	field(t, "total_reads_processed", st.reads.Load())
	field(t, "total_writes_processed", st.writes.Load())
	field(t, "io_threaded_reads_processed", 0)
	field(t, "io_threaded_writes_processed", 0)
	field(t, "rejected_connections", st.rejectedClients.Load())
	field(t, "sync_full", 0)
	field(t, "sync_partial_ok", 0)
	field(t, "sync_partial_err", 0)
	field(t, "expired_keys", st.expired.Load())
	field(t, "evicted_keys", st.evicted.Load())
	field(t, "evicted_clients", st.evictedClients.Load())
	field(t, "keyspace_hits", st.hits.Load())
	field(t, "keyspace_misses", st.misses.Load())
	field(t, "pubsub_channels", p.topicCount(pubsub.Channel))
	field(t, "pubsub_patterns", p.topicCount(pubsub.Pattern))
	field(t, "pubsubshard_channels", p.topicCount(pubsub.ShardChannel))
	field(t, "latest_fork_usec", 0)
	field(t, "total_forks", 0)
	field(t, "migrate_cached_sockets", t.srv.links.size())
	field(t, "slave_expires_tracked_keys", 0)
	field(t, "tracking_total_keys", t.srv.tracking.keys.Load())
	field(t, "tracking_total_items", t.srv.tracking.items.Load())
	field(t, "tracking_total_prefixes", t.srv.tracking.asked.Load())
	field(t, "active_defrag_hits", 0)
	field(t, "active_defrag_misses", 0)
	field(t, "active_defrag_key_hits", 0)
	field(t, "active_defrag_key_misses", 0)
	field(t, "dump_payload_sanitizations", 0)
	field(t, "unexpected_error_replies", 0)
	field(t, "total_error_replies", st.errorReplies.Load())
	for _, x := range refusalFields {
		field(t, x.name, t.srv.refusals.Count(x.reason))
	}
	field(t, "client_query_buffer_limit_disconnections", st.queryLimitDrops.Load())
	field(t, "client_output_buffer_limit_disconnections", st.outputLimitDrops.Load())
	if g := t.srv.opts.Group; g != nil {
		sent, dropped, received := g.Published()
		field(t, "vigil_group_messages_sent", sent)
		field(t, "vigil_group_messages_received", received)
		field(t, "vigil_group_messages_dropped", dropped)
		field(t, "vigil_group_messages_given_up", t.srv.herald.dropped.Load())
	}
}

// topicCount is the number of topics of a kind that have subscribers.
func (p *broker) topicCount(kind pubsub.Kind) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[kind])
}

func infoCPU(t *infoText) {
	user, system := cpuTimes()
	t.decimal("used_cpu_sys", system.Seconds(), 6, "")
	t.decimal("used_cpu_user", user.Seconds(), 6, "")
	t.decimal("used_cpu_sys_children", 0, 6, "")
	t.decimal("used_cpu_user_children", 0, 6, "")
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
		field(t, "cmdstat_"+c.FullName(), fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			calls, micros, ratio(micros, calls), rejected, failed))
	}
}

func infoErrorStats(t *infoText) {
	for _, e := range t.srv.stats.errorCounts() {
		field(t, "errorstat_"+safeName(e.word), fmt.Sprintf("count=%d", e.n))
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
