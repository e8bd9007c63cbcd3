package server

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// notInInfo are the fields of Redis that INFO does not have, and why.
var notInInfo = map[string]string{
	"Server gcc_version":   "vigil is not made by gcc: go_version",
	"Server atomicvar_api": "vigil is not made by gcc: go_version",
	"Server listener0":     "the server of a test opens no port that the configuration names",
	"Modules module":       "there are no modules",
}

func TestInfoHasTheFieldsOfRedisInTheirSections(t *testing.T) {
	text, err := os.ReadFile("testdata/info_fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, onDisk(t.TempDir()))
	r.loopback()
	info, err := strconv.Unquote(r.dial().do("INFO", "everything"))
	if err != nil {
		t.Fatal(err)
	}
	have, section := map[string]bool{}, ""
	for line := range strings.SplitSeq(info, "\r\n") {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			section = title
		} else if name, _, ok := strings.Cut(line, ":"); ok {
			have[section+" "+name] = true
		}
	}
	wanted := 0
	for name := range strings.Lines(string(text)) {
		if name = strings.TrimSpace(name); name == "" || name[0] == '#' {
			continue
		}
		wanted++
		switch why := notInInfo[name]; {
		case have[name] && why != "":
			t.Errorf("%s is there, though %s", name, why)
		case !have[name] && why == "":
			t.Errorf("INFO lacks %s", name)
		}
	}
	if wanted < 200 {
		t.Errorf("testdata/info_fields.txt has %d fields", wanted)
	}
	// Tools take a server with one of these for another kind.
	for name := range have {
		switch strings.Fields(name)[1] {
		case "valkey_version", "dragonfly_version", "server_name", "server_mode":
			t.Errorf("INFO has %s", name)
		}
	}
}

func TestInfoShowsPauses(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	for _, x := range []struct{ call, reason, actions, left string }{
		{"PING", "none", "none", "0"},
		{"CLIENT PAUSE 5000 WRITE", "client_pause", "write", "5000"},
		{"CLIENT UNPAUSE", "none", "none", "0"},
	} {
		c.do(strings.Fields(x.call)...)
		got := c.do("INFO", "clients")
		want := "paused_reason:" + x.reason + `\r\npaused_actions:` + x.actions + `\r\npaused_timeout_milliseconds:` + x.left + `\r\n`
		if !strings.Contains(got, want) {
			t.Errorf("after %s: want %s in %s", x.call, want, got)
		}
	}
}

func TestInfoCountsWhatExpiresAndIsEvicted(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	shown := func(name string) float64 {
		t.Helper()
		n, ok := infoNumbers(t, c.do("INFO", "everything"))[name]
		if !ok {
			t.Fatalf("INFO lacks %s", name)
		}
		return n
	}
	want := func(name string, n float64) {
		t.Helper()
		if got := shown(name); got != n {
			t.Errorf("%s is %v, want %v", name, got, n)
		}
	}
	c.want("HSET h a 1 b 2 c 3", "(int) 3")
	c.want("HPEXPIRE h 10 FIELDS 2 a b", "[(int) 1 (int) 1]")
	r.clock.stall(11_000_000)
	c.want("HGET h a", "(nil)") // which finds both
	want("expired_subkeys", 2)
	c.want("HPEXPIRE h 10 FIELDS 1 c", "[(int) 1]")
	r.clock.advance(cronPeriod) // the cron finds it
	want("expired_subkeys", 3)
	want("expired_fields", 3)
	want("expired_stale_perc", 0)
	for i := range 100 {
		c.want("SET k"+strconv.Itoa(i)+" v PX 30", "OK")
	}
	r.clock.advance(cronPeriod)
	want("expired_keys", 100)
	if got := shown("expired_stale_perc"); got < 4 || got > 5 { // all of one round, with a weight of 0.05
		t.Errorf("expired_stale_perc is %v", got)
	}
	for i := range 510 {
		c.do("EVAL", "return "+strconv.Itoa(i), "0")
	}
	want("evicted_scripts", 10)

	want("blessed_keys", 0)
	c.want("MSET k1 v k2 v k3 v", "OK")
	for _, call := range []string{"BLESS SET k1 NO-EVICT", "BLESS SET k2 NO-EVICT", "BLESS SET k3 NO-EVICT", "BLESS CLEAR k2 NO-EVICT", "DEL k3"} {
		c.want(call, "(int) 1")
	}
	want("blessed_keys", 1)

	c.want("CONFIG SET maxmemory-policy noeviction", "OK")
	c.want("SET large "+strings.Repeat("x", 2000), "OK")
	r.clock.advance(cronPeriod - 11_000_000) // to the end of a round again
	want("current_eviction_exceeded_time", 0)
	c.want("CONFIG SET maxmemory 1", "OK")
	r.clock.advance(11 * cronPeriod)
	want("current_eviction_exceeded_time", 1000)
	want("total_eviction_exceeded_time", 1000)
	c.want("CONFIG SET maxmemory 0", "OK")
	r.clock.advance(10 * cronPeriod)
	want("current_eviction_exceeded_time", 0)
	want("total_eviction_exceeded_time", 1100)
	c.want("CONFIG RESETSTAT", "OK")
	for _, name := range []string{"expired_subkeys", "expired_fields", "expired_stale_perc", "evicted_scripts", "total_eviction_exceeded_time"} {
		want(name, 0)
	}
}

func TestInfoCountsSlowCommands(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("CONFIG SET slowlog-log-slower-than -1", "OK")
	c.want("PING", "PONG")
	if got := c.do("INFO", "commandstats"); strings.Contains(got, "slowlog") {
		t.Errorf("got %s", got)
	}
	c.want("CONFIG SET slowlog-log-slower-than 0", "OK")
	c.want("CONFIG RESETSTAT", "OK") // which is slow, too
	c.want("PING", "PONG")
	c.want("PING", "PONG")
	if got := c.do("INFO", "commandstats"); !strings.Contains(got, `cmdstat_ping:calls=2,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0,slowlog_count=2,slowlog_time_ms_sum=0,slowlog_time_ms_max=0\r\n`) {
		t.Errorf("got %s", got)
	}
	r.srv.addSlow(r.session(c), r.srv.table.Find("ping"), nil, r.clock.Now(), 1_700_000)
	r.srv.addSlow(r.session(c), r.srv.table.Find("ping"), nil, r.clock.Now(), 2_500_000)
	if got := c.do("INFO", "commandstats"); !strings.Contains(got, `slowlog_count=4,slowlog_time_ms_sum=4,slowlog_time_ms_max=2\r\n`) {
		t.Errorf("got %s", got)
	}
}

// Each round of a loop counts, and what commands took is a part of it.
func TestInfoCountsTheRoundsOfLoops(t *testing.T) {
	r := newRig(t)
	c := r.dialTCP(r.loopback())
	c.want("CONFIG RESETSTAT", "OK")
	for range 20 {
		c.want("PING", "PONG")
	}
	n := infoNumbers(t, c.do("INFO", "everything"))
	if n["eventloop_cycles"] < 20 || n["eventloop_cycles"] > 400 {
		t.Errorf("eventloop_cycles is %v for 21 calls, one after the other", n["eventloop_cycles"])
	}
	if n["eventloop_duration_sum"] <= 0 {
		t.Errorf("eventloop_duration_sum is %v", n["eventloop_duration_sum"])
	}
	if n["io_thread_0.clients"] != 1 || n["io_thread_0.reads"] < 20 || n["io_thread_0.writes"] < 20 {
		t.Errorf("io_thread_0 is %v, %v, %v", n["io_thread_0.clients"], n["io_thread_0.reads"], n["io_thread_0.writes"])
	}
}
