package commands

import (
	"fmt"
	"strings"
	"testing"
)

func TestFieldTTLRoundsUp(t *testing.T) {
	r := newRig(t, HashGroup())
	r.want(":1\r\n", "HSET", "h", "f", "v")
	for millis, secs := range map[int]int{1: 1, 999: 1, 1000: 1, 1001: 2} {
		r.want("*1\r\n:1\r\n", "HPEXPIRE", "h", fmt.Sprint(millis), "FIELDS", "1", "f")
		r.want(fmt.Sprintf("*1\r\n:%d\r\n", secs), "HTTL", "h", "FIELDS", "1", "f")
	}
}

// A hash whose last field expired is gone for whoever reads it, and whoever
// writes makes a new one, without the expiry of the old.
func TestHashGoesWithItsLastExpiredField(t *testing.T) {
	r := newRig(t, GenericGroup(), HashGroup())
	r.classes = EventAll
	old := func() {
		r.call("HSET", "h", "f", "v")
		r.call("EXPIRE", "h", "1000")
		r.want("*1\r\n:1\r\n", "HPEXPIRE", "h", "5", "FIELDS", "1", "f")
		r.ctx.Now += 5
		r.events = nil
	}
	old()
	r.want("$-1\r\n", "HGET", "h", "f")
	r.wantEvents("hexpired h", "del h")
	r.want(":0\r\n", "EXISTS", "h")

	old()
	r.want(":7\r\n", "HINCRBY", "h", "f", "7")
	r.wantEvents("hexpired h", "del h", "hincrby h")
	r.want(":-1\r\n", "TTL", "h")
	r.want("*1\r\n:-1\r\n", "HTTL", "h", "FIELDS", "1", "f")
}

func TestHashEventsAreThoseOfRedis(t *testing.T) {
	r := newRig(t, HashGroup())
	r.classes = EventAll | EventNew | EventMissed
	for _, x := range []struct {
		call   []string
		events []string
	}{
		{[]string{"HSET", "h", "a", "1", "b", "2"}, []string{"new h", "hset h"}},
		{[]string{"HMSET", "h", "c", "1"}, []string{"hset h"}},
		{[]string{"HSETNX", "h", "c", "1"}, nil},
		{[]string{"HSETNX", "h", "d", "1"}, []string{"hset h"}},
		{[]string{"HINCRBY", "h", "a", "1"}, []string{"hincrby h"}},
		{[]string{"HINCRBYFLOAT", "h", "a", "1"}, []string{"hincrbyfloat h"}},
		{[]string{"HEXPIRE", "h", "10", "FIELDS", "2", "a", "x"}, []string{"hexpire h"}},
		{[]string{"HEXPIRE", "h", "10", "NX", "FIELDS", "1", "a"}, nil},
		{[]string{"HEXPIRE", "h", "0", "FIELDS", "1", "d"}, []string{"hdel h"}},
		{[]string{"HPERSIST", "h", "FIELDS", "2", "a", "b"}, []string{"hpersist h"}},
		{[]string{"HPERSIST", "h", "FIELDS", "1", "a"}, nil},
		{[]string{"HGETEX", "h", "FIELDS", "1", "a"}, nil},
		{[]string{"HGETEX", "h", "EX", "10", "FIELDS", "1", "a"}, []string{"hexpire h"}},
		{[]string{"HGETEX", "h", "PERSIST", "FIELDS", "1", "a"}, []string{"hpersist h"}},
		{[]string{"HGETEX", "h", "EX", "0", "FIELDS", "1", "a"}, []string{"hdel h"}},
		{[]string{"HSETEX", "h", "EX", "10", "FIELDS", "1", "e", "5"}, []string{"hset h", "hexpire h"}},
		{[]string{"HSETEX", "h", "FNX", "FIELDS", "1", "e", "5"}, nil},
		{[]string{"HGETDEL", "h", "FIELDS", "1", "x"}, nil},
		{[]string{"HGETDEL", "h", "FIELDS", "1", "e"}, []string{"hdel h"}},
		{[]string{"HDEL", "h", "x"}, nil},
		{[]string{"HDEL", "h", "b"}, []string{"hdel h"}},
		{[]string{"HDEL", "h", "c"}, []string{"hdel h", "del h"}},
		{[]string{"HGET", "h", "c"}, []string{"keymiss h"}},
		{[]string{"HSETEX", "h", "FXX", "FIELDS", "1", "e", "5"}, nil},
		{[]string{"HSETEX", "h", "EX", "0", "FIELDS", "1", "e", "5"}, []string{"new h", "hset h", "hdel h", "del h"}},
	} {
		r.call(x.call...)
		r.wantEvents(x.events...)
	}
}

// However many fields a hash has, a positive count answers different ones and
// a negative one as many as it says.
func TestHRandFieldAnswersAsManyAsAsked(t *testing.T) {
	r := newRig(t, HashGroup())
	set := []string{"HSET", "h"}
	for i := range 300 {
		set = append(set, fmt.Sprint("field", i), "v")
	}
	r.call(set...)
	for count, want := range map[int]int{1: 1, 10: 10, 299: 299, 300: 300, 9999: 300, -1: 1, -50: 50, -400: 400} {
		reply := r.call("HRANDFIELD", "h", fmt.Sprint(count))
		seen := map[string]bool{}
		fields := splitBulks(reply)
		for _, f := range fields {
			seen[f] = true
		}
		if len(fields) != want || count > 0 && len(seen) != want {
			t.Errorf("HRANDFIELD h %d: %d fields, %d different", count, len(fields), len(seen))
		}
	}
}

func TestHashHotPathsAllocateNothing(t *testing.T) {
	r := newRig(t, HashGroup())
	r.call("HSET", "h", "a", "1", "b", "2", "n", "0")
	for _, call := range [][][]byte{argv("HSET", "h", "a", "3"), argv("HGET", "h", "b"), argv("HMGET", "h", "a", "x"),
		argv("HINCRBY", "h", "n", "1"), argv("HGETALL", "h"), argv("HEXISTS", "h", "a"), argv("HLEN", "h")} {
		if n := testing.AllocsPerRun(200, func() { r.do(call) }); n > 0 {
			t.Errorf("%s: %v allocations", call[0], n)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for _, call := range [][][]byte{argv("HSET", "h", "a", "some value"), argv("HGET", "h", "b"),
		argv("HINCRBY", "h", "n", "1"), argv("HGETALL", "h")} {
		b.Run(string(call[0]), func(b *testing.B) {
			r := newRig(b, HashGroup())
			r.call("HSET", "h", "a", "1", "b", "2", "c", "3")
			b.ReportAllocs()
			for b.Loop() {
				r.do(call)
			}
		})
	}
}

func TestManyDrawsAreWrittenOffTheLocks(t *testing.T) {
	r := newRig(t, HashGroup())
	r.call("HSET", "h", "a", "1", "b", "2", "c", "3")
	for _, inMulti := range []bool{false, true} {
		r.ctx.InMulti = inMulti
		reply := r.call("HRANDFIELD", "h", "-10000", "WITHVALUES")
		pairs := 0
		for _, p := range []string{"a|1", "b|2", "c|3"} {
			name, value, _ := strings.Cut(p, "|")
			n := strings.Count(reply, fmt.Sprintf("$1\r\n%s\r\n$1\r\n%s\r\n", name, value))
			if n < 2500 {
				t.Errorf("%s was drawn %d times of 10000", name, n)
			}
			pairs += n
		}
		if !strings.HasPrefix(reply, "*20000\r\n") || pairs != 10000 {
			t.Errorf("%d pairs of 10000: %.40q", pairs, reply)
		}
		if (r.underLocks == 0) == inMulti {
			t.Errorf("in MULTI %v: %d bytes were written under the locks", inMulti, r.underLocks)
		}
	}
	r.ctx.InMulti = false
	if r.want("*2\r\n$1\r\nb\r\n$1\r\nb\r\n", "HRANDFIELD", "h", "-2"); r.underLocks == 0 {
		t.Error("two draws copied the hash")
	}
}
