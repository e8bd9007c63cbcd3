package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/list"
)

// What a handler has done that panics is undone with all of its transaction, whatever the
// transaction did before (ADR 0083).

// changes is what the transactions of these tests do before a handler panics: something to
// values of each type in their places, to what is around them, and to whole databases.
var changes = []string{
	"APPEND string x", "SETRANGE long 100000 x", "SETBIT string 8 1", "INCR counter", "PFADD hll b", "GETDEL gone",
	"LPUSH list x", "LSET list 0 y", "LTRIM list 1 -2", "RPOPLPUSH list other",
	"HSET hash f w", "HDEL hash g", "HINCRBY hash n 1", "HEXPIRE hash 100 FIELDS 1 f",
	"SADD set x", "SREM set 1", "SPOP set", "ZADD zset 9 x", "ZREM zset 1", "ZPOPMIN zset", "ZINCRBY zset 5 2",
	"XADD stream * f v", "XDEL stream 1-1", "XREADGROUP GROUP g c STREAMS stream >", "XACK stream g 2-1", "XGROUP DESTROY stream g", "XTRIM stream MAXLEN 1",
	"BF.ADD bloom y", "SCHED.ADD plan b RATE 2", "PLACE.SET map b 2", "EXPIRE string 100", "PERSIST timed", "DEL list", "UNLINK big", "RENAME bigset small", "COPY set set2",
	"SORT other ALPHA STORE sorted", "ZUNIONSTORE zset 1 zset WEIGHTS 2", "MSET a 1 b 2", "MOVE string 1", "SWAPDB 0 1", "FLUSHDB", "FLUSHALL",
}

// fill makes the values that changes are about.
func fill(c *testClient) {
	elems := make([]string, 5000)
	for i := range elems {
		elems[i] = fmt.Sprintf("%d", i)
	}
	for _, call := range []string{
		"SET string abc", "SET counter 10", "SET gone 1", "PFADD hll a", "RPUSH list a b c", "RPUSH big " + strings.Join(elems, " "),
		"HSET hash f v g v n 1", "SADD set 1 2 3", "SADD bigset " + strings.Join(elems, " "), "ZADD zset 1 1 2 2 3 3",
		"XADD stream 1-1 f v", "XADD stream 2-1 f v", "XGROUP CREATE stream g 0", "XREADGROUP GROUP g c COUNT 1 STREAMS stream >",
		"BF.ADD bloom x", "SCHED.CREATE plan POLICY index", "SCHED.ADD plan a RATE 1", "PLACE.CREATE map", "PLACE.SET map a 1",
		"SET timed 1 EX 1000", "SELECT 1", "SET there 1", "SELECT 0",
	} {
		if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
			c.t.Fatalf("%.50s: %s", call, got)
		}
	}
	c.send("SET", "long", strings.Repeat("l", 100_000))
	c.next("OK")
}

// contents describes all that the server has.
func contents(c *testClient) string {
	var b strings.Builder
	for _, call := range []string{"DEBUG DIGEST", "INFO keyspace", "DBSIZE", "XINFO GROUPS stream", "XPENDING stream g", "SCHED.INFO plan", "PLACE.INFO map", "TTL timed", "HTTL hash FIELDS 1 f", "FUNCTION LIST"} {
		fmt.Fprintf(&b, "%s: %s\n", call, c.do(strings.Fields(call)...))
	}
	return b.String()
}

// doomed are the ways in which a client comes to call a handler that panics, LPUSH, behind other calls.
var doomed = []struct {
	name string
	do   func(c *testClient)
}{
	{"call alone", func(c *testClient) { c.send("LPUSH", "list", "doomed") }},
	{"MULTI", func(c *testClient) {
		c.want("MULTI", "OK")
		c.send("FUNCTION", "LOAD", "#!lua name=doomed\nredis.register_function('other', function() end)")
		c.next("QUEUED")
		c.want("FUNCTION DELETE lib", "QUEUED")
		for _, call := range append(changes, "LPUSH list doomed", "SET behind 1") {
			c.want(call, "QUEUED")
		}
		c.send("EXEC")
	}},
	{"EVAL", func(c *testClient) { c.send("EVAL", doomedScript("redis.call"), "0") }},
	{"EVAL that catches errors", func(c *testClient) { c.send("EVAL", doomedScript("redis.pcall"), "0") }},
	{"EVAL in pcall", func(c *testClient) {
		c.send("EVAL", "pcall(function() "+doomedScript("redis.call")+" end) redis.call('SET', 'behind', 1)", "0")
	}},
	{"EVAL in MULTI", func(c *testClient) {
		c.want("MULTI", "OK")
		c.want("SET before 1", "QUEUED")
		c.send("EVAL", doomedScript("redis.call"), "0")
		c.next("QUEUED")
		c.want("SET behind 1", "QUEUED")
		c.send("EXEC")
	}},
	{"FCALL", func(c *testClient) { c.send("FCALL", "doomed", "0") }},
}

// doomedScript makes all changes that a script may, and then calls the handler that panics.
func doomedScript(call string) string {
	var b strings.Builder
	for _, c := range append(changes, "LPUSH list doomed", "SET behind 1") {
		words := strings.Fields(c)
		fmt.Fprintf(&b, "redis.pcall('%s'); ", strings.Join(words, "', '"))
	}
	return strings.Replace(b.String(), "redis.pcall('LPUSH', 'list', 'doomed')", call+"('LPUSH', 'list', 'doomed')", 1)
}

// TestDoomedChangesSucceed shows that there is something to be undone: each call changes what
// contents describes.
func TestDoomedChangesSucceed(t *testing.T) {
	c := newRig(t).dial()
	fill(c)
	state := func() string {
		return c.do("DEBUG", "DIGEST") + c.do("TTL", "string") + c.do("HTTL", "hash", "FIELDS", "1", "f") + c.do("XINFO", "GROUPS", "stream") + c.do("XPENDING", "stream", "g")
	}
	for _, call := range changes {
		before := state()
		if got := c.do(strings.Fields(call)...); strings.HasPrefix(got, "(error)") {
			t.Errorf("%s: %s", call, got)
		}
		if state() == before {
			t.Errorf("%s: nothing has changed", call)
		}
	}
}

func TestPanicLeavesNothingOfItsTransaction(t *testing.T) {
	for _, policy := range []string{"memory", "always", "everysec", "no"} {
		t.Run(policy, func(t *testing.T) {
			change := func(*Options) {}
			if policy != "memory" {
				dir := t.TempDir()
				change = func(o *Options) {
					onDisk(dir)(o)
					o.Config = testConfig(t, "--appendfsync", policy)
				}
			}
			r := newRig(t, change)
			other := r.dial()
			fill(other)
			library := "#!lua name=lib\nredis.register_function('doomed', function() " + doomedScript("redis.call") + " end)"
			other.send("FUNCTION", "LOAD", library)
			other.next(`"lib"`)
			want := contents(other)
			r.crash("LPUSH")
			for _, way := range doomed {
				c := r.dial()
				c.do("PING") // its row is of the table that was changed
				way.do(c)
				c.next("(error) ERR internal error")
				c.ended()
				if got := contents(other); got != want {
					t.Fatalf("%s: got\n%s\nwant\n%s", way.name, got, want)
				}
				other.want("SET still works", "OK")
				other.send("EVAL", "return redis.call('DEL', 'still')", "0")
				other.next("(int) 1")
				if !r.log.has("panic in client") || !r.log.has("goroutine ") {
					t.Errorf("%s: the panic is not logged with its stack", way.name)
				}
				r.log.clear()
			}
			if policy == "memory" {
				return
			}
			if err := r.srv.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			r = newRig(t, change)
			if got := contents(r.dial()); got != want {
				t.Fatalf("after a restart: got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestPanicAmidAChangeLeavesNothingOfIt panics where a value is changed and its record is not,
// which only memory could show.
func TestPanicAmidAChangeLeavesNothingOfIt(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("RPUSH list a b", "(int) 2")
	cmd, _ := r.srv.table.Lookup([][]byte{[]byte("LPUSH")})
	cmd.Run = func(c *commands.Ctx) error {
		ch := new(structures.Change)
		l, _, _, err := persistence.Edit(c.Tx, []byte("list"), list.New)
		if err == nil {
			l.Push(ch, list.Tail, []byte("lost"))
		}
		panic("amid a change")
	}
	c.send("LPUSH", "list", "x")
	c.next("(error) ERR internal error")
	c.ended()
	r.dial().want("LRANGE list 0 -1", `["a" "b"]`)
}

// TestPanicOfAServedCallLeavesNothingOfIt makes a parked call panic after it has popped: the
// element is for the next client, and the call that brought it is done.
func TestPanicOfAServedCallLeavesNothingOfIt(t *testing.T) {
	for _, bring := range [][]string{{"RPUSH q a", "(int) 1"}, {"EVAL return(redis.call('RPUSH','q','a')) 0", "(int) 1"}} {
		r := newRig(t)
		waits, behind, p := r.dial(), r.dial(), r.dial()
		waits.send("BLPOP", "q", "0")
		r.blocked(1)
		behind.send("BRPOP", "q", "0")
		r.blocked(2)
		r.crash("BLPOP")
		p.want(bring[0], bring[1])
		waits.ended()
		behind.next(`["q" "a"]`)
		r.blocked(0)
		p.want("EXISTS q", "(int) 0")
	}
}
