package server

import (
	"fmt"
	"time"

	"github.com/vigildb/vigil/server/info"
	"github.com/vigildb/vigil/server/pubsub"
)

// infoPersistence shows the journal where Redis shows its append-only file, and
// snapshots where it shows its dump.
func infoPersistence(t *info.Text, s *session) {
	v, st := s.srv.snapshots.Status(), t.Stats(&s.srv.figures, s.locked)
	info.Field(t, "loading", info.Number(s.srv.loading.Load()))
	info.Field(t, "async_loading", 0)
	info.Field(t, "current_cow_peak", 0)
	info.Field(t, "current_cow_size", 0)
	info.Field(t, "current_cow_size_age", 0)
	t.Decimal("current_fork_perc", 0, 2, "")
	info.Field(t, "current_save_keys_processed", 0)
	info.Field(t, "current_save_keys_total", 0)
	info.Field(t, "rdb_changes_since_last_save", st.LSN-min(st.LSN, v.LSN))
	info.Field(t, "rdb_bgsave_in_progress", info.Number(v.Running))
	info.Field(t, "rdb_last_save_time", v.Last)
	info.Field(t, "rdb_last_bgsave_status", info.Status(v.Failed))
	info.Field(t, "rdb_last_bgsave_time_sec", v.Took)
	info.Field(t, "rdb_current_bgsave_time_sec", v.UnderWay)
	info.Field(t, "rdb_saves", v.Made)
	info.Field(t, "rdb_last_cow_size", 0)
	info.Field(t, "rdb_last_load_keys_expired", 0)
	info.Field(t, "rdb_last_load_keys_loaded", 0)
	info.Field(t, "aof_enabled", info.Number(!s.srv.opts.InMemory))
	s.srv.rewrites.info(t, s.srv.clock.Now())
	info.Field(t, "aof_last_cow_size", 0)
	info.Field(t, "module_fork_in_progress", 0)
	info.Field(t, "module_fork_last_cow_size", 0)
	info.Field(t, "aof_last_write_status", info.Status(s.srv.store.DiskError() != nil))
	info.Field(t, "aof_current_size", st.JournalBytes)
	info.Field(t, "aof_base_size", 0)
	info.Field(t, "aof_pending_rewrite", 0)
	info.Field(t, "aof_buffer_length", st.PendingBytes)
	info.Field(t, "aof_pending_bio_fsync", 0)
	info.Field(t, "aof_delayed_fsync", 0)
	info.Engine(t, st, &s.srv.figures.Slowly().Disk, s.srv.opts.InMemory, s.srv.store.Space)
	infoBackups(t, s)
	if s.srv.loading.Load() {
		infoLoading(t, s)
	}
}

// infoThreads shows all that serves clients as one thread.
func infoThreads(t *info.Text, s *session) {
	st := &s.srv.stats
	info.Field(t, "io_thread_0", fmt.Sprintf("clients=%d,reads=%d,writes=%d", s.srv.clients.count(), st.reads.Load(), st.writes.Load()))
}

func infoStats(t *info.Text, s *session) {
	st, p, rates := &s.srv.stats, &s.srv.broker, s.srv.rates.shown()
	calls, took := st.ran()
	info.Field(t, "total_connections_received", st.connections.Load())
	info.Field(t, "total_commands_processed", calls)
	info.Field(t, "instantaneous_ops_per_sec", int64(rates.calls))
	info.Field(t, "total_net_input_bytes", st.inputBytes.Load())
	info.Field(t, "total_net_output_bytes", st.outputBytes.Load())
	info.Field(t, "total_net_repl_input_bytes", 0)
	info.Field(t, "total_net_repl_output_bytes", 0)
	t.Decimal("instantaneous_input_kbps", rates.input/1024, 2, "")
	t.Decimal("instantaneous_output_kbps", rates.output/1024, 2, "")
	t.Decimal("instantaneous_input_repl_kbps", 0, 2, "")
	t.Decimal("instantaneous_output_repl_kbps", 0, 2, "")
	info.Field(t, "rejected_connections", st.rejectedClients.Load())
	syncs := s.srv.source.Report().Counts
	info.Field(t, "sync_full", syncs.Full)
	info.Field(t, "sync_partial_ok", syncs.Partial)
	info.Field(t, "sync_partial_err", syncs.Refused)
	infoRemoved(t, s)
	info.Field(t, "keyspace_hits", st.hits.Load())
	info.Field(t, "keyspace_misses", st.misses.Load())
	info.Field(t, "pubsub_channels", p.Topics(pubsub.Channel))
	info.Field(t, "pubsub_patterns", p.Topics(pubsub.Pattern))
	info.Field(t, "pubsubshard_channels", p.Topics(pubsub.ShardChannel))
	info.Field(t, "latest_fork_usec", 0)
	info.Field(t, "total_forks", 0)
	info.Field(t, "migrate_cached_sockets", s.srv.links.size())
	info.Field(t, "slave_expires_tracked_keys", 0)
	for _, name := range []string{"active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
		"total_active_defrag_time", "current_active_defrag_time"} {
		info.Field(t, name, 0)
	}
	tracked := s.srv.tracking.Counts()
	info.Field(t, "tracking_total_keys", tracked.Keys)
	info.Field(t, "tracking_total_items", tracked.Items)
	info.Field(t, "tracking_total_prefixes", tracked.Prefixes)
	info.Field(t, "unexpected_error_replies", 0)
	info.Field(t, "total_error_replies", st.errorReplies.Load())
	info.Field(t, "dump_payload_sanitizations", 0)
	infoTurns(t, s, took, &rates)
	for _, x := range refusalFields {
		info.Field(t, x.name, s.srv.users.refusals.Count(x.reason))
	}
	info.Field(t, "slowlog_commands_count", st.slow.count.Load())
	info.Field(t, "slowlog_commands_time_ms_sum", st.slow.micros.Load()/1000)
	info.Field(t, "slowlog_commands_time_ms_max", st.slow.longest.Load()/1000)
	if g := s.srv.opts.Group; g != nil {
		sent, dropped, received := g.Published()
		info.Field(t, "vigil_group_messages_sent", sent)
		info.Field(t, "vigil_group_messages_received", received)
		info.Field(t, "vigil_group_messages_dropped", dropped)
		info.Field(t, "vigil_group_messages_given_up", s.srv.fanout.Dropped())
	}
}

// infoTurns shows what serving clients took; commands took that long of it.
func infoTurns(t *info.Text, s *session, commands time.Duration, rates *shownRates) {
	st, done := &s.srv.stats, s.srv.loops.Cycles()
	info.Field(t, "total_reads_processed", st.reads.Load())
	info.Field(t, "total_writes_processed", st.writes.Load())
	info.Field(t, "io_threaded_reads_processed", 0)
	info.Field(t, "io_threaded_writes_processed", 0)
	info.Field(t, "client_query_buffer_limit_disconnections", st.queryLimitDrops.Load())
	info.Field(t, "client_output_buffer_limit_disconnections", st.outputLimitDrops.Load())
	info.Field(t, "reply_buffer_shrinks", 0)
	info.Field(t, "reply_buffer_expands", 0)
	info.Field(t, "eventloop_cycles", st.cycles.since(done.Count))
	info.Field(t, "eventloop_duration_sum", st.busy.since(int64(done.Busy))/1000)
	info.Field(t, "eventloop_duration_cmd_sum", commands.Microseconds())
	info.Field(t, "instantaneous_eventloop_cycles_per_sec", int64(rates.cycles))
	info.Field(t, "instantaneous_eventloop_duration_usec", int64(rates.duration))
}

// infoRemoved shows what went because its time had come, or to make room.
func infoRemoved(t *info.Text, s *session) {
	st, store, u := &s.srv.stats, s.srv.store.Counters(), s.srv.upkeep.shown(s.srv.clock.Now())
	fields := st.expiredFields.since(store.ExpiredFields)
	info.Field(t, "expired_subkeys", fields) // as Redis names it
	info.Field(t, "expired_fields", fields)  // and Valkey
	info.Field(t, "expired_keys", st.expired.Load())
	t.Decimal("expired_stale_perc", u.stale, 2, "")
	info.Field(t, "expired_time_cap_reached_count", st.expiryCapped.since(store.ExpiryCapped))
	info.Field(t, "expire_cycle_cpu_milliseconds", u.expiring.Milliseconds())
	info.Field(t, "evicted_keys", st.evicted.Load())
	info.Field(t, "blessed_keys", int64(t.Stats(&s.srv.figures, s.locked).Blessed))
	info.Field(t, "evicted_clients", st.evictedClients.Load())
	info.Field(t, "evicted_scripts", st.evictedScripts.since(s.srv.scripts.engine.Evicted()))
	info.Field(t, "total_eviction_exceeded_time", u.exceeded.Milliseconds())
	info.Field(t, "current_eviction_exceeded_time", u.current.Milliseconds())
}

func infoCPU(t *info.Text, s *session) {
	user, system := cpuTimes()
	t.Decimal("used_cpu_sys", system.Seconds(), 6, "")
	t.Decimal("used_cpu_user", user.Seconds(), 6, "")
	t.Decimal("used_cpu_sys_children", 0, 6, "")
	t.Decimal("used_cpu_user_children", 0, 6, "")
	// The threads that serve clients also do other work, in turns: all of it counts.
	t.Decimal("used_cpu_sys_main_thread", system.Seconds(), 6, "")
	t.Decimal("used_cpu_user_main_thread", user.Seconds(), 6, "")
}

func infoCommandStats(t *info.Text, s *session) {
	st := &s.srv.stats
	for _, c := range st.table.All() {
		n := &st.commands[c.ID()]
		calls, rejected, failed := n.calls.Load(), n.rejected.Load(), n.failed.Load()
		if calls+rejected+failed == 0 {
			continue
		}
		micros := n.nanos.Load() / 1000
		line := fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d", calls, micros, info.Ratio(micros, calls), rejected, failed)
		if slow := n.slow.count.Load(); slow > 0 {
			line += fmt.Sprintf(",slowlog_count=%d,slowlog_time_ms_sum=%d,slowlog_time_ms_max=%d", slow, n.slow.micros.Load()/1000, n.slow.longest.Load()/1000)
		}
		info.Field(t, "cmdstat_"+c.FullName(), line)
	}
}

func infoErrorStats(t *info.Text, s *session) {
	for _, e := range s.srv.stats.errorCounts() {
		info.Field(t, "errorstat_"+info.SafeName(e.word), fmt.Sprintf("count=%d", e.n))
	}
}
