package streams

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/structures/stream"
)

func rig(t testing.TB) *commandtest.Rig {
	t.Helper()
	r := commandtest.New(t, text.Group(), Group())
	r.Limits.StreamNode.Entries = 100
	return r
}

func TestStreamEventsAreThoseOfRedis(t *testing.T) {
	r := rig(t)
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   string
		events []string
	}{
		{"XADD s 1-1 f v", []string{"new s", "xadd s"}},
		{"XADD s 1-1 f v", nil},
		{"XADD s NOMKSTREAM 2-1 f v", []string{"xadd s"}},
		{"XADD nosuch NOMKSTREAM 2-1 f v", nil},
		{"XADD s MAXLEN 1 3-1 f v", []string{"xadd s", "xtrim s"}},
		{"XADD s MAXLEN ~ 1 4-1 f v", []string{"xadd s"}},
		{"XTRIM s MAXLEN 1", []string{"xtrim s"}},
		{"XTRIM s MAXLEN 1", nil},
		{"XDEL s 4-1 9-9", []string{"xdel s"}},
		{"XDEL s 4-1", nil},
		{"XSETID s 5-1", []string{"xsetid s"}},
		{"XGROUP CREATE s g $", []string{"xgroup-create s"}},
		{"XGROUP CREATE s g $", nil},
		{"XGROUP CREATE t g $ MKSTREAM", []string{"new t", "xgroup-create t"}},
		{"XGROUP SETID s g 0", []string{"xgroup-setid s"}},
		{"XGROUP CREATECONSUMER s g c", []string{"xgroup-createconsumer s"}},
		{"XGROUP CREATECONSUMER s g c", nil},
		{"XADD s 6-1 f v", []string{"xadd s"}},
		{"XREADGROUP GROUP g c STREAMS s >", nil},
		{"XREADGROUP GROUP g d STREAMS s >", []string{"xgroup-createconsumer s"}},
		{"XCLAIM s g e 0 6-1", []string{"xgroup-createconsumer s"}},
		{"XAUTOCLAIM s g f 0 -", []string{"xgroup-createconsumer s"}},
		{"XACK s g 6-1", nil},
		{"XGROUP DELCONSUMER s g c", []string{"xgroup-delconsumer s"}},
		{"XGROUP DELCONSUMER s g c", nil},
		{"XGROUP DESTROY s g", []string{"xgroup-destroy s"}},
		{"XGROUP DESTROY s g", nil},
		{"XRANGE nosuch - +", []string{"keymiss nosuch"}},
		{"XREAD STREAMS nosuch 0", []string{"keymiss nosuch", "keymiss nosuch"}},
	} {
		r.Call(strings.Fields(x.call)...)
		if r.WantEvents(x.events...); t.Failed() {
			t.Fatal(x.call)
		}
	}
}

func TestIDsGrowWhileTheClockGoesBack(t *testing.T) {
	r := rig(t)
	r.Ctx.Now = 5000
	r.Want("$6\r\n5000-0\r\n", "XADD", "s", "*", "f", "v")
	r.Want("$6\r\n5000-1\r\n", "XADD", "s", "*", "f", "v")
	r.Ctx.Now = 4000
	r.Want("$6\r\n5000-2\r\n", "XADD", "s", "*", "f", "v")
	r.Ctx.Now = -1
	r.Want("$6\r\n5000-3\r\n", "XADD", "s", "*", "f", "v")
	r.Want("$3\r\n0-1\r\n", "XADD", "fresh", "*", "f", "v")
	r.Ctx.Now = 5001
	r.Want("$6\r\n5001-0\r\n", "XADD", "s", "*", "f", "v")
	r.Want(":0\r\n", "XACK", "s", "g", "1-1")
	// Idle times are not negative.
	r.Want("+OK\r\n", "XGROUP", "CREATE", "s", "g", "0")
	r.Call("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "s", ">")
	r.Ctx.Now = 10
	r.Want("*1\r\n*4\r\n$6\r\n5000-0\r\n$1\r\nc\r\n:0\r\n:1\r\n", "XPENDING", "s", "g", "-", "+", "1")
	r.Want("*0\r\n", "XCLAIM", "s", "g", "d", "1", "5000-0")
}

// $ is the last ID at the time of the call, not at that when it is run again.
func TestWaitingReadKeepsTheIDOfItsCall(t *testing.T) {
	r := rig(t)
	r.Want("$3\r\n1-1\r\n", "XADD", "s", "1-1", "f", "v")
	argv := commandtest.Argv("XREAD", "BLOCK", "0", "STREAMS", "s", "nosuch", "$", "$")
	if got := r.Do(argv); len(got) > 0 || r.Ctx.Parked() == nil {
		t.Fatalf("XREAD does not wait: %q", got)
	}
	if got := fmt.Sprintf("%s %s", argv[6], argv[7]); got != "1-1 0-0" {
		t.Errorf("the call waits for %s", got)
	}
	r.Want("$3\r\n1-2\r\n", "XADD", "s", "1-2", "f", "v")
	r.Want("$3\r\n1-3\r\n", "XADD", "nosuch", "1-3", "f", "v")
	r.Ctx.Woken, r.Unlocked = []byte("s"), []string{"nosuch"}
	if got, want := string(r.Do(argv)), "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-2\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n"; got != want {
		t.Errorf("run again: got %q, want %q", got, want)
	}
}

// A consumer that is run again and finds nothing changes nothing, even if it was
// removed while it waited.
func TestWaitingConsumerIsCreatedWhenItGetsAnEntry(t *testing.T) {
	r := rig(t)
	r.Want("+OK\r\n", "XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
	call := []string{"XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">"}
	r.Want("", call...)
	if w := r.Ctx.Parked(); w == nil || !slices.Equal(w.Rivals, []string{"group g"}) || !w.Removed {
		t.Fatalf("XREADGROUP waits as %+v", w)
	}
	r.Want(":0\r\n", "XGROUP", "DELCONSUMER", "s", "g", "c")
	r.Ctx.Woken = []byte("s")
	before := r.Journal()
	r.Want("", call...)
	if r.Journal() != before || r.Ctx.Parked() == nil {
		t.Error("a call that waits on has changed something")
	}
	r.Call("XADD", "s", "1-1", "f", "v")
	r.Want("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nf\r\n$1\r\nv\r\n", call...)
	r.Ctx.Woken = nil
	r.Want(":0\r\n", "XGROUP", "CREATECONSUMER", "s", "g", "c")
}

// Long replies are written when the locks are released, and are what they were under
// them.
func TestLongRepliesAreWrittenBehindTheLocks(t *testing.T) {
	r := rig(t)
	for i := range 1000 {
		r.Call("XADD", "s", fmt.Sprint(i+1, "-0"), "f", "v")
	}
	r.Want("+OK\r\n", "XGROUP", "CREATE", "s", "g", "0")
	for _, call := range []string{"XRANGE s - +", "XREVRANGE s + - COUNT 900", "XREAD STREAMS s 0", "XREADGROUP GROUP g c STREAMS s >"} {
		reply := r.Call(strings.Fields(call)...)
		if r.UnderLocks != 0 {
			t.Errorf("%s: %d bytes under the locks", call, r.UnderLocks)
		}
		if n := strings.Count(reply, "$1\r\nf\r\n$1\r\nv\r\n"); n != 1000 && n != 900 {
			t.Errorf("%s: %d entries", call, n)
		}
	}
	r.Call("XRANGE", "s", "-", "+", "COUNT", "200")
	if r.UnderLocks == 0 {
		t.Error("a short reply is copied first")
	}
}

func BenchmarkStream(b *testing.B) {
	for _, x := range []struct {
		name  string
		calls []string
	}{
		{"add", []string{"XADD s * name value another thing"}},
		{"addtrim", []string{"XADD s MAXLEN ~ 1000 * name value another thing"}},
		{"range10", []string{"XRANGE s 500 + COUNT 10"}},
		{"queue", []string{"XADD s * name value", "XREADGROUP GROUP g c COUNT 1 STREAMS s >", "XTRIM s MAXLEN 0"}},
	} {
		b.Run(x.name, func(b *testing.B) {
			r := rig(b)
			for i := range 1000 {
				r.Call("XADD", "s", fmt.Sprint(i+1, "-0"), "name", "value", "another", "thing")
			}
			r.Call("XGROUP", "CREATE", "s", "g", "$")
			var calls [][][]byte
			for _, call := range x.calls {
				calls = append(calls, commandtest.Argv(strings.Fields(call)...))
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, call := range calls {
					r.Do(call)
				}
			}
		})
	}
}

// BenchmarkNamed is what it costs that an entry is added once: XADD with and without a name.
func BenchmarkNamed(b *testing.B) {
	for name, words := range map[string][]string{"XADD": {"XADD", "s", "MAXLEN", "~", "1000", "*", "field", "value"},
		"IDMP":     {"XADD", "s", "IDMP", "producer", "0000000000", "MAXLEN", "~", "1000", "*", "field", "value"},
		"IDMPAUTO": {"XADD", "s", "IDMPAUTO", "producer", "MAXLEN", "~", "1000", "*", "field", "0000000000"}} {
		b.Run(name, func(b *testing.B) {
			r := rig(b)
			call := commandtest.Argv(words...)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				for _, arg := range call {
					if len(arg) == 10 {
						copy(arg, fmt.Sprintf("%010d", n))
					}
				}
				r.Do(call)
			}
		})
	}
}

// TestTrimByWholeNodesHasALimit compares the limit of a trim by ~ without LIMIT with a hundred nodes,
// between what Redis allows.
func TestTrimByWholeNodesHasALimit(t *testing.T) {
	for _, tt := range []struct {
		nodeEntries, given int
		limited            bool
		want               int
	}{
		{nodeEntries: 100, want: 10_000},
		{nodeEntries: 1, want: 100},
		{nodeEntries: 0, want: 10_000},
		{nodeEntries: 9_999, want: 999_900},
		{nodeEntries: 10_001, want: 1_000_000},
		{nodeEntries: math.MaxInt, want: 1_000_000},
		{nodeEntries: 100, limited: true, given: 0, want: 0},
		{nodeEntries: 100, limited: true, given: 2_000_000, want: 2_000_000},
	} {
		trim := trimming{Trim: stream.Trim{Pages: true, Limit: tt.given}, given: true, limited: tt.limited}
		var a commands.Args
		trim.settle(&a, tt.nodeEntries)
		if a.Err() != nil || trim.Limit != tt.want {
			t.Errorf("%+v: got %d, %v", tt, trim.Limit, a.Err())
		}
		exact := trimming{given: true}
		if exact.settle(&a, tt.nodeEntries); exact.Limit != 0 {
			t.Errorf("an exact trim has the limit %d", exact.Limit)
		}
	}
}
