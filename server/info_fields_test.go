package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/server/info"
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

// Scripts can make up any number of kinds of errors.
func TestCountsOfErrorsEndWhenThereAreTooManyKinds(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	make := func(i int) {
		c.want(fmt.Sprintf("EVAL return{err=ARGV[1]} 0 E%d", i), fmt.Sprintf("(error) E%d", i))
	}
	for i := range maxErrorKinds {
		make(i)
	}
	make(0)
	if got := c.do("INFO", "errorstats"); !strings.Contains(got, "errorstat_E0:count=2") || strings.Contains(got, errorsClosed) {
		t.Fatalf("got %s", got)
	}
	make(maxErrorKinds)
	make(1)
	want := fmt.Sprintf("%q", "# Errorstats\r\nerrorstat_"+errorsClosed+":count=1\r\n")
	if got := c.do("INFO", "errorstats"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !r.log.has("Errorstats stopped adding new errors") || !r.log.has("Current errors code list: E0, E1, E10") {
		t.Errorf("log: %q", r.log.all())
	}
	c.want("CONFIG RESETSTAT", "OK")
	make(7)
	if got := c.do("INFO", "errorstats"); !strings.Contains(got, "errorstat_E7:count=1") || strings.Contains(got, errorsClosed) {
		t.Errorf("after CONFIG RESETSTAT: got %s", got)
	}
}

func TestInfoCountsKeysWhoseRemovalClientsWaitFor(t *testing.T) {
	r := newRig(t)
	c, list, a, b := r.dial(), r.dial(), r.dial(), r.dial()
	c.want("XGROUP CREATE s g $ MKSTREAM", "OK")
	check := func(keys, removed int) {
		t.Helper()
		got := c.do("INFO", "clients")
		for _, want := range []string{fmt.Sprintf("total_blocking_keys:%d\\r", keys), fmt.Sprintf("total_blocking_keys_on_nokey:%d\\r", removed)} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	check(0, 0)
	list.send("BLPOP", "q", "other", "0")
	a.send("XREADGROUP", "GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", ">")
	b.send("XREADGROUP", "GROUP", "g", "b", "BLOCK", "0", "STREAMS", "s", ">")
	r.blocked(3)
	check(3, 1)
	c.want("DEL s", "(int) 1")
	r.blocked(1)
	check(2, 0)
}

func TestInfoCountsLargeValuesThatAreLeftToTheCollector(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	large := []string{"RPUSH", "l"}
	for i := range 2000 {
		large = append(large, fmt.Sprint("element ", i))
	}
	freed := func(want int) {
		t.Helper()
		if got := c.do("INFO", "memory"); !strings.Contains(got, fmt.Sprintf(`lazyfreed_objects:%d\r\n`, want)) {
			t.Errorf("want %d in %s", want, got)
		}
	}
	c.do(large...)
	c.want("UNLINK l", "(int) 1")
	freed(1)
	c.want("CONFIG RESETSTAT", "OK")
	freed(0)
	c.want("RPUSH l a", "(int) 1")
	c.want("DEL l", "(int) 1")
	freed(0)
}

// Clients with subscriptions and with watched keys are counted at each INFO, the largest buffers now and then.
func TestInfoLooksAtClients(t *testing.T) {
	r := newRig(t)
	c, sub, watch, large := r.dial(), r.dial(), r.dial(), r.dial()
	clients := func(fields ...string) {
		t.Helper()
		got := c.do("INFO", "clients")
		for _, want := range fields {
			if !strings.Contains(got, want+`\r\n`) {
				t.Errorf("want %s in %s", want, got)
			}
		}
	}
	clients("pubsub_clients:0", "watching_clients:0")
	watch.want("WATCH k", "OK")
	clients("pubsub_clients:0", "watching_clients:1")
	watch.want("UNWATCH", "OK")
	sub.want("SUBSCRIBE a", `["subscribe" "a" (int) 1]`)
	clients("pubsub_clients:1", "watching_clients:0")
	sub.want("UNSUBSCRIBE a", `["unsubscribe" "a" (int) 0]`)
	clients("pubsub_clients:0")
	large.raw("*2\r\n$4\r\nECHO\r\n$100000\r\n" + strings.Repeat("x", 90_000))
	r.until("what has come of a call counts", func() bool {
		r.clock.advance(info.SlowAge)
		_, text, _ := strings.Cut(c.do("INFO", "clients"), "client_recent_max_input_buffer:")
		n := 0
		fmt.Sscan(text[:strings.Index(text, `\r`)], &n)
		return n >= 90_000
	})
}
