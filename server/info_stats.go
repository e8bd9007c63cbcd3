package server

import (
	"fmt"
	"strconv"
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
	v, st := &t.srv.saves, t.store()
	field(t, "loading", number(t.srv.loading.Load()))
	field(t, "async_loading", 0)
	field(t, "current_cow_peak", 0)
	field(t, "current_cow_size", 0)
	field(t, "current_cow_size_age", 0)
	t.decimal("current_fork_perc", 0, 2, "")
	field(t, "current_save_keys_processed", 0)
	field(t, "current_save_keys_total", 0)
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
	t.srv.admin.rewrites.info(t)
	field(t, "aof_last_cow_size", 0)
	field(t, "module_fork_in_progress", 0)
	field(t, "module_fork_last_cow_size", 0)
	field(t, "aof_last_write_status", status(t.srv.store.DiskError() != nil))
	field(t, "aof_current_size", st.JournalBytes)
	field(t, "aof_base_size", 0)
	field(t, "aof_pending_rewrite", 0)
	field(t, "aof_buffer_length", st.PendingBytes)
	field(t, "aof_pending_bio_fsync", 0)
	field(t, "aof_delayed_fsync", 0)
	infoStore(t)
	infoBackups(t)
	if t.srv.loading.Load() {
		infoLoading(t)
	}
}

// infoStore shows the journal, the file system and Pebble.
func infoStore(t *infoText) {
	st, disk := t.store(), &t.srv.slowly().disk
	field(t, "vigil_in_memory", number(t.srv.opts.InMemory))
	field(t, "vigil_lsn", st.LSN)
	field(t, "vigil_lsn_synced", st.Synced)
	field(t, "vigil_lsn_trimmed", st.Trimmed)
	field(t, "vigil_journal_bound", st.JournalBound)
	field(t, "vigil_shards", persistence.ShardCount)
	field(t, "vigil_dirty_keys", st.Dirty)
	field(t, "vigil_materialised", st.Materialised)
	field(t, "vigil_faults", st.Faults)
	field(t, "vigil_spilled", st.Spilled)
	field(t, "vigil_cold_tables", st.ColdTables)
	free, total := t.srv.store.Space()
	field(t, "disk_free_bytes", free)
	field(t, "disk_total_bytes", total)
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
}

// infoThreads shows all that serves clients as one thread.
func infoThreads(t *infoText) {
	st := &t.srv.stats
	field(t, "io_thread_0", fmt.Sprintf("clients=%d,reads=%d,writes=%d", t.srv.clients.count(), st.reads.Load(), st.writes.Load()))
}

func infoStats(t *infoText) {
	st, p, rates := &t.srv.stats, &t.srv.broker, t.srv.rates.shown()
	calls, took := st.ran()
	field(t, "total_connections_received", st.connections.Load())
	field(t, "total_commands_processed", calls)
	field(t, "instantaneous_ops_per_sec", int64(rates.calls))
	field(t, "total_net_input_bytes", st.inputBytes.Load())
	field(t, "total_net_output_bytes", st.outputBytes.Load())
	field(t, "total_net_repl_input_bytes", 0)
	field(t, "total_net_repl_output_bytes", 0)
	t.decimal("instantaneous_input_kbps", rates.input/1024, 2, "")
	t.decimal("instantaneous_output_kbps", rates.output/1024, 2, "")
	t.decimal("instantaneous_input_repl_kbps", 0, 2, "")
	t.decimal("instantaneous_output_repl_kbps", 0, 2, "")
	field(t, "rejected_connections", st.rejectedClients.Load())
	syncs := t.srv.source.Report().Counts
	field(t, "sync_full", syncs.Full)
	field(t, "sync_partial_ok", syncs.Partial)
	field(t, "sync_partial_err", syncs.Refused)
	infoRemoved(t)
	field(t, "keyspace_hits", st.hits.Load())
	field(t, "keyspace_misses", st.misses.Load())
	field(t, "pubsub_channels", p.topicCount(pubsub.Channel))
	field(t, "pubsub_patterns", p.topicCount(pubsub.Pattern))
	field(t, "pubsubshard_channels", p.topicCount(pubsub.ShardChannel))
	field(t, "latest_fork_usec", 0)
	field(t, "total_forks", 0)
	field(t, "migrate_cached_sockets", t.srv.links.size())
	field(t, "slave_expires_tracked_keys", 0)
	for _, name := range []string{"active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
		"total_active_defrag_time", "current_active_defrag_time"} {
		field(t, name, 0)
	}
	field(t, "tracking_total_keys", t.srv.tracking.keys.Load())
	field(t, "tracking_total_items", t.srv.tracking.items.Load())
	field(t, "tracking_total_prefixes", t.srv.tracking.asked.Load())
	field(t, "unexpected_error_replies", 0)
	field(t, "total_error_replies", st.errorReplies.Load())
	field(t, "dump_payload_sanitizations", 0)
	infoTurns(t, took, &rates)
	for _, x := range refusalFields {
		field(t, x.name, t.srv.refusals.Count(x.reason))
	}
	field(t, "slowlog_commands_count", st.slow.count.Load())
	field(t, "slowlog_commands_time_ms_sum", st.slow.micros.Load()/1000)
	field(t, "slowlog_commands_time_ms_max", st.slow.longest.Load()/1000)
	if g := t.srv.opts.Group; g != nil {
		sent, dropped, received := g.Published()
		field(t, "vigil_group_messages_sent", sent)
		field(t, "vigil_group_messages_received", received)
		field(t, "vigil_group_messages_dropped", dropped)
		field(t, "vigil_group_messages_given_up", t.srv.herald.dropped.Load())
	}
}

// infoTurns shows what serving clients took; commands took that long of it.
func infoTurns(t *infoText, commands time.Duration, rates *shownRates) {
	st, done := &t.srv.stats, t.srv.loops.Cycles()
	field(t, "total_reads_processed", st.reads.Load())
	field(t, "total_writes_processed", st.writes.Load())
	field(t, "io_threaded_reads_processed", 0)
	field(t, "io_threaded_writes_processed", 0)
	field(t, "client_query_buffer_limit_disconnections", st.queryLimitDrops.Load())
	field(t, "client_output_buffer_limit_disconnections", st.outputLimitDrops.Load())
	field(t, "reply_buffer_shrinks", 0)
	field(t, "reply_buffer_expands", 0)
	field(t, "eventloop_cycles", st.cycles.since(done.Count))
	field(t, "eventloop_duration_sum", st.busy.since(int64(done.Busy))/1000)
	field(t, "eventloop_duration_cmd_sum", commands.Microseconds())
	field(t, "instantaneous_eventloop_cycles_per_sec", int64(rates.cycles))
	field(t, "instantaneous_eventloop_duration_usec", int64(rates.duration))
}

// infoRemoved shows what went because its time had come, or to make room.
func infoRemoved(t *infoText) {
	st, store, u := &t.srv.stats, t.srv.store.Counters(), t.srv.upkeep.shown(t.srv.clock.Now())
	fields := st.expiredFields.since(store.ExpiredFields)
	field(t, "expired_subkeys", fields) // as Redis names it
	field(t, "expired_fields", fields)  // and Valkey
	field(t, "expired_keys", st.expired.Load())
	t.decimal("expired_stale_perc", u.stale, 2, "")
	field(t, "expired_time_cap_reached_count", st.expiryCapped.since(store.ExpiryCapped))
	field(t, "expire_cycle_cpu_milliseconds", u.expiring.Milliseconds())
	field(t, "evicted_keys", st.evicted.Load())
	field(t, "evicted_clients", st.evictedClients.Load())
	field(t, "evicted_scripts", st.evictedScripts.since(t.srv.scripts.engine.Evicted()))
	field(t, "total_eviction_exceeded_time", u.exceeded.Milliseconds())
	field(t, "current_eviction_exceeded_time", u.current.Milliseconds())
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
	// The threads that serve clients also do other work, in turns: all of it counts.
	t.decimal("used_cpu_sys_main_thread", system.Seconds(), 6, "")
	t.decimal("used_cpu_user_main_thread", user.Seconds(), 6, "")
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
		line := fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d", calls, micros, ratio(micros, calls), rejected, failed)
		if slow := n.slow.count.Load(); slow > 0 {
			line += fmt.Sprintf(",slowlog_count=%d,slowlog_time_ms_sum=%d,slowlog_time_ms_max=%d", slow, n.slow.micros.Load()/1000, n.slow.longest.Load()/1000)
		}
		field(t, "cmdstat_"+c.FullName(), line)
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
