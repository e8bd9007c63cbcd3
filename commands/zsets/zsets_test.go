package zsets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/sets"
	"github.com/vigildb/vigil/commands/text"
)

func TestSortedSetEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   string
		events []string
	}{
		{"ZADD z 1 a 2 b 3 c 4 d 5 e 6 f 7 g", []string{"new z", "zadd z"}},
		{"ZADD z 1 a", nil},
		{"ZADD z XX 2 a", []string{"zadd z"}},
		{"ZADD z INCR 1 a", []string{"zincr z"}},
		{"ZADD z NX INCR 1 a", nil},
		{"ZINCRBY z 1 a", []string{"zincr z"}},
		{"ZADD nosuch XX 1 a", nil},
		{"ZREM z nosuch", nil},
		{"ZREM z a", []string{"zrem z"}},
		{"ZPOPMIN z", []string{"zpopmin z"}},
		{"ZPOPMAX z 1", []string{"zpopmax z"}},
		{"ZPOPMAX z 0", nil},
		{"ZMPOP 2 nosuch z MIN", []string{"zpopmin z"}},
		{"BZPOPMAX z 0", []string{"zpopmax z"}},
		{"ZREMRANGEBYRANK z 9 10", nil},
		{"ZREMRANGEBYRANK z 0 0", []string{"zremrangebyrank z"}},
		{"ZREMRANGEBYSCORE z 0 10", []string{"zremrangebyscore z", "del z"}},
		{"ZADD z 0 a 0 b", []string{"new z", "zadd z"}},
		{"ZREMRANGEBYLEX z [a [a", []string{"zremrangebylex z"}},
		{"ZRANGESTORE to z 0 -1", []string{"new to", "zrangestore to"}},
		{"ZUNIONSTORE to 1 z", []string{"zunionstore to"}},
		{"ZINTERSTORE to 1 z", []string{"zinterstore to"}},
		{"ZDIFFSTORE to 1 z", []string{"zdiffstore to"}},
		{"ZDIFFSTORE to 2 z z", []string{"del to"}},
		{"ZDIFFSTORE to 2 z z", nil},
		{"ZRANGESTORE to z 5 6", nil},
		{"ZUNION 2 z nosuch", []string{"keymiss nosuch"}},
		{"ZRANGE nosuch 0 1", []string{"keymiss nosuch"}},
		{"ZPOPMIN z 5", []string{"zpopmin z", "del z"}},
		{"ZPOPMIN z", nil},
	} {
		if reply := r.Call(strings.Fields(x.call)...); strings.HasPrefix(reply, "-") {
			t.Fatalf("%s: %s", x.call, reply)
		}
		if r.WantEvents(x.events...); t.Failed() {
			t.Fatal(x.call)
		}
	}
}

// A call that waits and is run again does not look at keys that cannot have changed, and
// continues to wait if the others hold no sorted set.
func TestWokenCallLooksOnlyAtLockedKeys(t *testing.T) {
	r := commandtest.New(t, text.Group(), Group())
	r.Want(":1\r\n", "ZADD", "a", "1", "x")
	r.Want("+OK\r\n", "SET", "s", "v")
	r.Unlocked = []string{"a"}
	for _, woken := range []string{"b", "s"} {
		r.Ctx.Woken = []byte(woken)
		r.Want("", "BZPOPMIN", "a", "s", "b", "0")
		if r.Ctx.Parked() == nil {
			t.Errorf("woken for %s: BZPOPMIN does not continue to wait", woken)
		}
	}
	r.Unlocked = nil
	r.Ctx.Woken = []byte("s")
	r.Want("*3\r\n$1\r\na\r\n$1\r\nx\r\n$1\r\n1\r\n", "BZPOPMIN", "s", "a", "0")
	if r.Ctx.Parked() != nil {
		t.Error("BZPOPMIN waits although it was answered")
	}
}

func TestSetsAreCombinedWithSortedSets(t *testing.T) {
	r := commandtest.New(t, sets.Group(), Group())
	r.Call("SADD", "words", "a", "b", "c")
	r.Call("SADD", "ints", "1", "2", "3", "4", "5")
	r.Call("ZADD", "z", "10", "b", "20", "3")
	for _, x := range []struct{ call, want string }{
		{"ZUNION 2 words z WITHSCORES", "a 1 c 1 b 11 3 20"},
		{"ZUNION 2 ints z WEIGHTS 2 1 AGGREGATE MIN WITHSCORES", "1 2 2 2 3 2 4 2 5 2 b 10"},
		{"ZINTER 2 ints z WITHSCORES", "3 21"},
		{"ZINTER 2 words words WITHSCORES", "a 2 b 2 c 2"},
		{"ZDIFF 2 ints z WITHSCORES", "1 1 2 1 4 1 5 1"},
		{"ZDIFF 2 z words WITHSCORES", "3 20"},
	} {
		if got := strings.Join(commandtest.SplitBulks(r.Call(strings.Fields(x.call)...)), " "); got != x.want {
			t.Errorf("%s: got %s, want %s", x.call, got, x.want)
		}
	}
	r.Want(":1\r\n", "ZINTERCARD", "2", "ints", "z")
}

// Nothing is recorded of calls that change nothing.
func TestCallsThatChangeNothingAreNotRecorded(t *testing.T) {
	r := commandtest.New(t, Group())
	r.Call("ZADD", "z", "1", "a", "2", "b")
	before := r.Journal()
	for _, call := range []string{"ZADD z 1 a", "ZADD z NX 5 a", "ZADD z GT 0 a", "ZADD z XX 1 c", "ZINCRBY z 0 a", "ZREM z c",
		"ZADD z INCR nan a", "ZPOPMIN z 0", "ZREMRANGEBYSCORE z 5 6", "ZREMRANGEBYRANK z 5 6", "ZRANGESTORE nosuch nosuch 0 1"} {
		r.Call(strings.Fields(call)...)
	}
	if after := r.Journal(); after != before {
		t.Errorf("%d bytes were recorded", after-before)
	}
}

// A positive count draws different members.
func TestRandomMembersAreAsManyAsAskedFor(t *testing.T) {
	r := commandtest.New(t, Group())
	for i := range 1000 {
		r.Call("ZADD", "z", fmt.Sprint(i), fmt.Sprint("m", i))
	}
	for _, n := range []int{10, 600, 1000, 2000} {
		seen := map[string]bool{}
		for _, m := range commandtest.SplitBulks(r.Call("ZRANDMEMBER", "z", fmt.Sprint(n))) {
			seen[m] = true
		}
		if len(seen) != min(n, 1000) {
			t.Errorf("ZRANDMEMBER z %d: %d different members", n, len(seen))
		}
	}
	if got := commandtest.SplitBulks(r.Call("ZRANDMEMBER", "z", "-5000")); len(got) != 5000 {
		t.Errorf("ZRANDMEMBER z -5000: %d members", len(got))
	}
}

func BenchmarkSortedSet(b *testing.B) {
	for _, x := range []struct {
		name  string
		calls [][][]byte
	}{
		{"add and pop", [][][]byte{commandtest.Argv("ZADD", "z", "3.5", "some member"), commandtest.Argv("ZPOPMAX", "z")}},
		{"increment", [][][]byte{commandtest.Argv("ZINCRBY", "z", "1", "5")}},
		{"range10", [][][]byte{commandtest.Argv("ZRANGE", "z", "0", "9")}},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := commandtest.New(b, Group())
			for i := range 10 {
				r.Call("ZADD", "z", fmt.Sprint(i), fmt.Sprint(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range x.calls {
					r.Do(c)
				}
			}
		})
	}
}
