package server

import (
	"strings"
	"testing"
)

// Fields that redis_exporter reads, beside those that other tests look at.
func TestInfoHasTheFieldsOfExporters(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("PING", "PONG")
	text := c.do("INFO", "everything")
	for _, name := range []string{"total_reads_processed", "total_writes_processed", "io_threaded_reads_processed",
		"allocator_rss_ratio", "allocator_rss_bytes", "rss_overhead_ratio", "rss_overhead_bytes", "active_defrag_hits", "active_defrag_misses",
		"active_defrag_key_hits", "active_defrag_key_misses", "aof_last_rewrite_time_sec", "aof_current_rewrite_time_sec",
		"aof_last_cow_size", "rdb_last_cow_size", "rdb_saves", "module_fork_in_progress", "latency_percentiles_usec_ping"} {
		if !strings.Contains(text, `\n`+name+":") && !strings.Contains(text, "\n"+name+":") {
			t.Errorf("INFO lacks %s", name)
		}
	}
	if st := &r.srv.stats; st.reads.Load() < 2 || st.writes.Load() < 1 {
		t.Errorf("%d reads, %d writes", st.reads.Load(), st.writes.Load())
	}
}
