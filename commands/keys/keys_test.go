package keys

import (
	"fmt"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/commands/hashes"
	"github.com/vigildb/vigil/commands/lists"
	"github.com/vigildb/vigil/commands/text"
)

func TestTimeToLiveRoundsToNearestSecond(t *testing.T) {
	r := commandtest.New(t, text.Group(), Group())
	r.Want("+OK\r\n", "SET", "k", "v")
	for millis, secs := range map[int]int{1: 0, 499: 0, 500: 1, 1499: 1, 1500: 2} {
		r.Want(":1\r\n", "PEXPIRE", "k", fmt.Sprint(millis))
		r.Want(fmt.Sprintf(":%d\r\n", secs), "TTL", "k")
	}
}

func TestConditionsOfExpiry(t *testing.T) {
	const none, later, earlier, same = 0, 20, 5, 10
	for _, x := range []struct {
		when commands.ExpiryCondition
		old  int64
		want bool
	}{
		{0, none, true}, {0, later, true},
		{commands.IfNoExpiry, none, true}, {commands.IfNoExpiry, later, false},
		{commands.IfExpiry, none, false}, {commands.IfExpiry, later, true},
		{commands.IfLater, none, false}, {commands.IfLater, later, false}, {commands.IfLater, earlier, true}, {commands.IfLater, same, false},
		{commands.IfEarlier, none, true}, {commands.IfEarlier, later, true}, {commands.IfEarlier, earlier, false}, {commands.IfEarlier, same, false},
		{commands.IfExpiry | commands.IfEarlier, none, false}, {commands.IfExpiry | commands.IfLater, earlier, true},
	} {
		if got := x.when.Allows(x.old, same); got != x.want {
			t.Errorf("condition %b: from %d to %d: got %v", x.when, x.old, same, got)
		}
	}
}

func TestGenericEventsAreThoseOfRedis(t *testing.T) {
	r := commandtest.New(t, text.Group(), Group())
	r.Call("MSET", "a", "1", "b", "2")
	r.Classes = commands.EventAll | commands.EventNew | commands.EventMissed
	for _, x := range []struct {
		call   []string
		events []string
	}{
		{[]string{"RENAME", "a", "c"}, []string{"new c", "rename_from a", "rename_to c"}},
		{[]string{"RENAME", "c", "c"}, nil},
		{[]string{"RENAMENX", "c", "b"}, nil},
		{[]string{"COPY", "c", "d"}, []string{"new d", "copy_to d"}},
		{[]string{"COPY", "c", "d"}, nil},
		{[]string{"MOVE", "d", "1"}, []string{"new d", "move_from d", "move_to d"}},
		{[]string{"EXPIRE", "c", "10"}, []string{"expire c"}},
		{[]string{"EXPIRE", "c", "10", "NX"}, nil},
		{[]string{"PERSIST", "c"}, []string{"persist c"}},
		{[]string{"PERSIST", "c"}, nil},
		{[]string{"PEXPIREAT", "c", "1"}, []string{"del c"}},
		{[]string{"TTL", "c"}, []string{"keymiss c"}},
		{[]string{"EXISTS", "b", "c"}, []string{"keymiss c"}},
		{[]string{"COPY", "c", "e"}, []string{"keymiss c"}},
		{[]string{"EXPIRE", "c", "10"}, nil},
		{[]string{"UNLINK", "b", "nosuch"}, []string{"del b"}},
	} {
		r.Call(x.call...)
		r.WantEvents(x.events...)
	}
}

// Every key is found by a scan, whatever else it is asked to leave out, and
// the cursor that ends one is that which begins it.
func TestScanVisitsEveryKey(t *testing.T) {
	r := commandtest.New(t, text.Group(), Group())
	const keys = 500
	for i := range keys {
		r.Call("SET", fmt.Sprint("key", i), "v")
	}
	seen := map[string]bool{}
	for cursor, calls := "0", 0; ; calls++ {
		reply := r.Call("SCAN", cursor, "COUNT", "7", "MATCH", "key*", "TYPE", "string")
		var size int
		if _, err := fmt.Sscanf(reply, "*2\r\n$%d\r\n%s\r\n", &size, &cursor); err != nil {
			t.Fatalf("reply %q: %v", reply, err)
		}
		head := len(fmt.Sprintf("*2\r\n$%d\r\n%s\r\n", size, cursor))
		for _, key := range commandtest.SplitBulks(reply[head:]) {
			seen[key] = true
		}
		if cursor == "0" {
			break
		}
		if calls > keys {
			t.Fatal("the scan does not end")
		}
	}
	if len(seen) != keys {
		t.Errorf("%d of %d keys seen", len(seen), keys)
	}
}

// Whatever stands for a number of keys, fields, elements or seconds, a call
// ends in an error or in a reply that is not much longer than what there is.
func TestHugeNumbersAreRefusedOrHarmless(t *testing.T) {
	r := commandtest.New(t, text.Group(), lists.Group(), hashes.Group(), Group())
	r.Call("RPUSH", "l", "a", "b")
	r.Call("HSET", "h", "f", "v")
	for _, n := range []string{"9223372036854775807", "-9223372036854775808", "-9223372036854775807",
		"9223372036854775808", "4611686018427387904", "-1", "0", ""} {
		for _, call := range [][]string{
			{"LPOP", "nosuch", n}, {"LRANGE", "l", n, n}, {"LINDEX", "l", n}, {"LSET", "l", n, "x"}, {"LREM", "l", n, "z"},
			{"LTRIM", "nosuch", n, n}, {"LPOS", "l", "z", "RANK", n, "COUNT", n, "MAXLEN", n}, {"LPOS", "l", "b", "RANK", n},
			{"LMPOP", n, "l", "LEFT"}, {"LMPOP", "1", "nosuch", "LEFT", "COUNT", n}, {"BLMPOP", "0", n, "l", "LEFT"},
			{"BLPOP", "nosuch", n}, {"HRANDFIELD", "h", n}, {"HRANDFIELD", "h", n, "WITHVALUES"},
			{"HSCAN", "h", n, "COUNT", n}, {"SCAN", n, "COUNT", n}, {"HINCRBY", "h", "n", n},
			{"EXPIRE", "nosuch", n}, {"PEXPIREAT", "nosuch", n}, {"HEXPIRE", "h", n, "NX", "FIELDS", n, "f"},
			{"HPEXPIRE", "h", n, "FIELDS", "1", "nosuch"}, {"HTTL", "h", "FIELDS", n, "f"},
			{"HGETEX", "h", "EX", n, "FIELDS", "1", "nosuch"}, {"HSETEX", "x", "PX", n, "FIELDS", n, "f", "v"},
			{"HGETDEL", "h", "FIELDS", n, "nosuch"}, {"MOVE", "l", n}, {"COPY", "l", "m", "DB", n},
			{"WAIT", n, n},
		} {
			if size := len(r.Call(call...)); size > 1000 {
				t.Errorf("%v: reply of %d bytes", call, size)
			}
			r.Ctx.Parked()
		}
	}
}
