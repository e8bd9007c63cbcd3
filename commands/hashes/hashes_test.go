package hashes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/keys"
)

func TestFieldTTLRoundsUp(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Want(":1\r\n", "HSET", "h", "f", "v")
	for millis, secs := range map[int]int{1: 1, 999: 1, 1000: 1, 1001: 2} {
		r.Want("*1\r\n:1\r\n", "HPEXPIRE", "h", fmt.Sprint(millis), "FIELDS", "1", "f")
		r.Want(fmt.Sprintf("*1\r\n:%d\r\n", secs), "HTTL", "h", "FIELDS", "1", "f")
	}
}

// A hash whose last field expired is gone for commands that read it, and a command
// that writes makes a new one, without the expiry of the old.
func TestHashGoesWithItsLastExpiredField(t *testing.T) {
	r := commandtest.New(t, keys.Group(), Group())
	r.Classes = commands.EventAll
	old := func() {
		r.Call("HSET", "h", "f", "v")
		r.Call("EXPIRE", "h", "1000")
		r.Want("*1\r\n:1\r\n", "HPEXPIRE", "h", "5", "FIELDS", "1", "f")
		r.Ctx.Now += 5
		r.Events = nil
	}
	old()
	r.Want("$-1\r\n", "HGET", "h", "f")
	r.WantEvents("hexpired h", "del h")
	r.Want(":0\r\n", "EXISTS", "h")

	old()
	r.Want(":7\r\n", "HINCRBY", "h", "f", "7")
	r.WantEvents("hexpired h", "del h", "hincrby h")
	r.Want(":-1\r\n", "TTL", "h")
	r.Want("*1\r\n:-1\r\n", "HTTL", "h", "FIELDS", "1", "f")
}

func TestHashEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
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
		r.Call(x.call...)
		r.WantEvents(x.events...)
	}
}

// However many fields a hash has, a positive count answers different ones and
// a negative one as many as it says.
func TestHRandFieldAnswersAsManyAsAsked(t *testing.T) {
	r := commandtest.New(t, Group())
	set := []string{"HSET", "h"}
	for i := range 300 {
		set = append(set, fmt.Sprint("field", i), "v")
	}
	r.Call(set...)
	for count, want := range map[int]int{1: 1, 10: 10, 299: 299, 300: 300, 9999: 300, -1: 1, -50: 50, -400: 400} {
		reply := r.Call("HRANDFIELD", "h", fmt.Sprint(count))
		seen := map[string]bool{}
		fields := commandtest.SplitBulks(reply)
		for _, f := range fields {
			seen[f] = true
		}
		if len(fields) != want || count > 0 && len(seen) != want {
			t.Errorf("HRANDFIELD h %d: %d fields, %d different", count, len(fields), len(seen))
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for _, call := range [][][]byte{commandtest.Argv("HSET", "h", "a", "some value"), commandtest.Argv("HGET", "h", "b"),
		commandtest.Argv("HINCRBY", "h", "n", "1"), commandtest.Argv("HGETALL", "h")} {
		b.Run(string(call[0]), func(b *testing.B) {
			r := commandtest.New(b, Group())
			r.Call("HSET", "h", "a", "1", "b", "2", "c", "3")
			b.ReportAllocs()
			for b.Loop() {
				r.Do(call)
			}
		})
	}
}

func TestManyDrawsAreWrittenOffTheLocks(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("HSET", "h", "a", "1", "b", "2", "c", "3")
	for _, inMulti := range []bool{false, true} {
		r.Ctx.InMulti = inMulti
		reply := r.Call("HRANDFIELD", "h", "-10000", "WITHVALUES")
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
		if (r.UnderLocks == 0) == inMulti {
			t.Errorf("in MULTI %v: %d bytes were written under the locks", inMulti, r.UnderLocks)
		}
	}
	r.Ctx.InMulti = false
	if r.Want("*2\r\n$1\r\nb\r\n$1\r\nb\r\n", "HRANDFIELD", "h", "-2"); r.UnderLocks == 0 {
		t.Error("two draws copied the hash")
	}
}
