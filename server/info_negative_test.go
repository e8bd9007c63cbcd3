package server

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// infoNumbers are the numbers of INFO everything: name:1, and name:part=1,part=2 as name.part.
func infoNumbers(t *testing.T, text string) map[string]float64 {
	t.Helper()
	text, err := strconv.Unquote(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	numbers := map[string]float64{}
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		for part := range strings.SplitSeq(value, ",") {
			key, number, ok := strings.Cut(part, "=")
			if !ok {
				key, number = "", part
			}
			if n, err := strconv.ParseFloat(strings.TrimSuffix(number, "%"), 64); err == nil {
				numbers[strings.TrimSuffix(name+"."+key, ".")] = n
			}
		}
	}
	if len(numbers) < 150 {
		t.Fatalf("%d numbers in %s", len(numbers), text)
	}
	return numbers
}

// unknownIsMinusOne are the fields that Redis shows as -1 while there is no value.
var unknownIsMinusOne = map[string]bool{"second_repl_offset": true, "rdb_last_bgsave_time_sec": true, "rdb_current_bgsave_time_sec": true,
	"aof_last_rewrite_time_sec": true, "aof_current_rewrite_time_sec": true,
	"vigil_backup_last_age_sec": true, "vigil_backup_last_time_sec": true, "vigil_backup_restorable_age_sec": true}

func TestNoNumberOfInfoIsNegative(t *testing.T) {
	r := newRig(t, onDisk(t.TempDir()))
	c := r.dial()
	check := func(when, text string) {
		t.Helper()
		for name, n := range infoNumbers(t, text) {
			if n < 0 && !(n == -1 && unknownIsMinusOne[name]) {
				t.Errorf("%s: %s is %v", when, name, n)
			}
		}
	}
	work := func() {
		for i := range 50 {
			c.do("SET", fmt.Sprint("k", i%7), strings.Repeat("v", 6000), "PX", "150")
			c.do("GET", fmt.Sprint("k", i))
			c.do("EVAL", "return "+strconv.Itoa(i), "0")
		}
		c.do("HSET", "h", "f", "v")
		c.do("HPEXPIRE", "h", "10", "FIELDS", "1", "f")
		c.do("DEL", "k1", "k2")
		c.do("RPUSH", "l", strings.Repeat("x", 9000))
		c.do("UNLINK", "l")
		r.clock.advance(time.Second)
	}
	c.want("CONFIG SET slowlog-log-slower-than 0", "OK")
	work()
	check("after some work", c.do("INFO", "everything"))
	for i := range 3 {
		c.want("CONFIG RESETSTAT", "OK")
		check(fmt.Sprint("after reset ", i), c.do("INFO", "everything"))
		r.clock.advance(250 * time.Millisecond)
		check(fmt.Sprint("two rounds after reset ", i), c.do("INFO", "everything"))
		r.clock.advance(3 * time.Second)
		check(fmt.Sprint("seconds after reset ", i), c.do("INFO", "everything"))
		work()
		c.do("CONFIG", "RESETSTAT")
		c.do("CONFIG", "RESETSTAT")
	}
	work()
	c.do("MULTI")
	c.do("SET", "k", "v")
	c.do("CONFIG", "RESETSTAT")
	c.do("INFO", "everything")
	got := c.do("EXEC")
	check("in the transaction of a reset", regexp.MustCompile(`"# Server.*"`).FindString(got))
	c.do("BGREWRITEAOF")
	c.do("BGSAVE")
	r.clock.stall(-time.Hour)
	check("an hour back", c.do("INFO", "everything"))
	work()
	check("an hour back, and some work", c.do("INFO", "everything"))
	c.want("CONFIG RESETSTAT", "OK")
	r.clock.stall(-time.Hour)
	check("another hour back", c.do("INFO", "everything"))
	r.clock.stall(24 * time.Hour)
	check("a day on", c.do("INFO", "everything"))
}

// Of several numbers that INFO shows of the last seconds, one counter begins anew.
func TestRatesBeginAnewWithTheCounters(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	rate := func(name string) float64 { return infoNumbers(t, c.do("INFO", "everything"))[name] }
	for range 20 {
		for range 40 {
			c.do("ECHO", strings.Repeat("x", 1000))
		}
		r.clock.advance(cronPeriod)
	}
	// 400 calls and 400 KB a second, with INFO's own.
	if got := rate("instantaneous_ops_per_sec"); got < 390 || got > 420 {
		t.Errorf("%v calls a second, want 400", got)
	}
	for _, name := range []string{"instantaneous_input_kbps", "instantaneous_output_kbps"} {
		if got := rate(name); got < 390 || got > 420 {
			t.Errorf("%s is %v, want 400", name, got)
		}
	}
	if got := rate("instantaneous_eventloop_cycles_per_sec"); got < 390 {
		t.Errorf("%v cycles a second, want 400", got)
	}
	c.want("CONFIG RESETSTAT", "OK")
	for _, name := range []string{"instantaneous_ops_per_sec", "instantaneous_input_kbps", "instantaneous_output_kbps"} {
		if got := rate(name); got != 0 {
			t.Errorf("after CONFIG RESETSTAT: %s is %v", name, got)
		}
	}
	r.clock.advance(2 * cronPeriod)
	if got := rate("instantaneous_ops_per_sec"); got > 100 {
		t.Errorf("after CONFIG RESETSTAT and two rounds: %v calls a second", got)
	}
}
