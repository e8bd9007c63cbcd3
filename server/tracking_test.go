package server

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// cachingClient keeps what it reads until the server tells it not to.
type cachingClient struct {
	*testClient
	cache map[string]string
}

// take reads replies up to the first that is no push, and forgets what is invalidated.
func (c *cachingClient) take() string {
	for {
		got := c.reply()
		keys, pushed := strings.CutPrefix(got, `>["invalidate" `)
		switch {
		case !pushed:
			return got
		case keys == "(nil)]":
			clear(c.cache)
		default:
			for _, key := range strings.Fields(strings.Trim(keys, "[]")) {
				delete(c.cache, strings.Trim(key, `"`))
			}
		}
	}
}

// TestNoClientKeepsAStaleValue has clients that cache and clients that write work at the
// same time on a few keys, with a table that is too small, expiry and flushes. In the end
// all that is cached is what the server has.
func TestNoClientKeepsAStaleValue(t *testing.T) {
	const keys, rounds = 20, 300
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	config := testConfig(t, "--tracking-table-max-keys", "12")
	r := newRig(t, func(o *Options) { o.Config = config })
	name := func(rnd *rand.Rand) string { return fmt.Sprintf("k%d", rnd.IntN(keys)) }
	var work sync.WaitGroup
	for i := range 3 {
		c, rnd := r.dial(), rand.New(rand.NewPCG(seed, uint64(i)))
		work.Add(1)
		go func() {
			defer work.Done()
			for n := range rounds {
				switch value := fmt.Sprint(i, ".", n); rnd.IntN(12) {
				case 0:
					c.do("DEL", name(rnd))
				case 1:
					c.do("SET", name(rnd), value, "PX", "1")
					r.clock.advance(2 * time.Millisecond)
				case 2:
					c.do("EVAL", "return redis.call('set', KEYS[1], ARGV[1])", "1", name(rnd), value)
				case 3:
					c.raw(encode("MULTI") + encode("SET", name(rnd), value) + encode("SET", name(rnd), value+"x") + encode("EXEC"))
					for range 4 {
						c.reply()
					}
				case 4:
					if rnd.IntN(10) == 0 {
						c.do("FLUSHALL")
					}
				default:
					c.do("MSET", name(rnd), value, name(rnd), value)
				}
			}
		}()
	}
	readers := make([]*cachingClient, 4)
	for i := range readers {
		c := &cachingClient{testClient: r.dial().hello3(), cache: map[string]string{}}
		readers[i] = c
		rnd := rand.New(rand.NewPCG(seed, 100+uint64(i)))
		work.Add(1)
		go func() {
			defer work.Done()
			c.do("CLIENT", "TRACKING", "ON")
			read := func(key string) { c.cache[key] = c.take() }
			for range rounds {
				key := name(rnd)
				switch rnd.IntN(5) {
				case 0:
					c.send("EVAL", "return redis.call('get', KEYS[1])", "1", key)
					read(key)
				case 1:
					c.raw(encode("MULTI") + encode("GET", key) + encode("EXEC"))
					c.take()
					c.take()
					c.cache[key] = strings.TrimSuffix(strings.TrimPrefix(c.take(), "["), "]")
				case 2:
					other := name(rnd)
					c.raw(encode("GET", key) + encode("SET", other, "own") + encode("GET", other))
					read(key)
					c.take()
					read(other)
				default:
					c.send("GET", key)
					read(key)
				}
			}
		}()
	}
	work.Wait()
	plain, cached := r.dial(), 0
	for i, c := range readers {
		c.send("PING") // behind the last invalidation
		if got := c.take(); got != "PONG" {
			t.Fatalf("got %s, want PONG", got)
		}
		for key, value := range c.cache {
			if cached++; plain.do("GET", key) != value {
				c.send("PING") // the key may have expired when it was looked at
				if c.take(); c.cache[key] != "" && plain.do("GET", key) != c.cache[key] {
					t.Errorf("reader %d has %s = %s, the server %s", i, key, value, plain.do("GET", key))
				}
			}
		}
	}
	if n := r.srv.tracking.Counts().Keys; n > 12 {
		t.Errorf("%d keys are tracked, more than the limit", n)
	}
	for _, c := range readers {
		c.want("CLIENT TRACKING OFF", "OK")
	}
	if c := r.srv.tracking.Counts(); c.Keys != 0 || c.Items != 0 {
		t.Errorf("%d keys and %d items are left without clients", c.Keys, c.Items)
	}
}

// tracked is a rig with a client that tracks in RESP3 and one that does not.
func tracked(t *testing.T, options ...string) (r *rig, c, other *testClient) {
	r = newRig(t)
	c, other = r.dial().hello3(), r.dial()
	if got := c.do(append([]string{"CLIENT", "TRACKING", "ON"}, options...)...); got != "OK" {
		t.Fatalf("CLIENT TRACKING: %s", got)
	}
	return r, c, other
}

func TestInvalidationsAreRedirected(t *testing.T) {
	r := newRig(t)
	c, to, other := r.dial(), r.dial(), r.dial()
	id := to.id()
	c.want("CLIENT TRACKING ON REDIRECT "+id, "OK")
	c.want("CLIENT GETREDIR", "(int) "+id)
	c.want("GET k", "(nil)")
	other.want("SET k 1", "OK") // nobody subscribes yet
	to.want("SUBSCRIBE __redis__:invalidate", `["subscribe" "__redis__:invalidate" (int) 1]`)
	c.want("GET k", `"1"`)
	c.want("SET k 2", "OK")
	to.next(`["message" "__redis__:invalidate" ["k"]]`)
	c.want("FLUSHALL", "OK")
	to.next(`["message" "__redis__:invalidate" (nil)]`)
	if got := c.do("CLIENT", "INFO"); !strings.Contains(got, "flags=t ") || !strings.Contains(got, "redir="+id+" ") {
		t.Errorf("CLIENT INFO: %s", got)
	}
	c.hello3()
	c.want("GET k", "(nil)")
	to.want("QUIT", "OK")
	to.ended()
	r.connected(2)
	other.want("SET k 3", "OK")
	c.next(`>["tracking-redir-broken" (int) ` + id + `]`)
	c.want("CLIENT TRACKINGINFO", `{"flags": ~["on" "broken_redirect"], "redirect": (int) `+id+`, "prefixes": []}`)
	if got := c.do("CLIENT", "INFO"); !strings.Contains(got, "flags=tR ") {
		t.Errorf("CLIENT INFO: %s", got)
	}
}

func TestKeysThatTheStoreRemovesAreInvalidated(t *testing.T) {
	for _, lazy := range []bool{true, false} {
		r, c, other := tracked(t)
		other.want("DEBUG SET-ACTIVE-EXPIRE 0", "OK")
		other.want("SET k 1 PX 100", "OK")
		other.want("HSET h f v", "(int) 1")
		other.want("HPEXPIRE h 100 FIELDS 1 f", "[(int) 1]")
		c.want("GET k", `"1"`)
		c.want("HGET h f", `"v"`)
		r.clock.advance(101 * time.Millisecond)
		if lazy {
			other.want("GET k", "(nil)")
			c.next(`>["invalidate" ["k"]]`)
			other.want("HGET h f", "(nil)")
			c.next(`>["invalidate" ["h"]]`)
			continue
		}
		other.want("DEBUG SET-ACTIVE-EXPIRE 1", "OK")
		r.clock.advance(cronPeriod)
		got := map[string]bool{c.reply(): true, c.reply(): true}
		if !got[`>["invalidate" ["k"]]`] || !got[`>["invalidate" ["h"]]`] {
			t.Errorf("got %v", got)
		}
	}
}

func TestSwappedDatabasesInvalidateAllKeys(t *testing.T) {
	_, c, other := tracked(t)
	c.want("GET k", "(nil)")
	other.want("SWAPDB 0 1", "OK")
	c.next(`>["invalidate" (nil)]`)
	c.quiet()
}

func TestAServedCallIsAnsweredBeforeItsOwnInvalidation(t *testing.T) {
	r, c, other := tracked(t)
	c.want("LRANGE to 0 -1", "[]")
	c.send("BLMOVE", "from", "to", "LEFT", "LEFT", "0")
	r.blocked(1)
	other.want("RPUSH from x", "(int) 1")
	c.next(`"x"`)
	c.next(`>["invalidate" ["to"]]`)
	c.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
	r.blocked(1)
	other.want("XADD s 1-1 f v", `"1-1"`)
	c.next(`>["invalidate" ["s"]]`) // of the first look, which found nothing
	c.next(`{"s": [["1-1" ["f" "v"]]]}`)
	other.want("XADD s 1-2 f v", `"1-2"`)
	c.next(`>["invalidate" ["s"]]`)
}

func TestAFullTableInvalidatesWhatItForgets(t *testing.T) {
	r, c, other := tracked(t)
	for i := range 50 {
		c.do("GET", fmt.Sprint("k", i))
	}
	other.want("CONFIG SET tracking-table-max-keys 10", "OK")
	for range 40 {
		if got := c.reply(); !strings.HasPrefix(got, `>["invalidate" ["k`) {
			t.Fatalf("got %s", got)
		}
	}
	for i := range 20 {
		c.send("GET", fmt.Sprint("n", i))
		c.next("(nil)")
		c.reply()
	}
	if n := r.srv.tracking.Counts().Keys; n != 10 {
		t.Errorf("%d keys are tracked, want 10", n)
	}
}

func TestReadersThatHaveLeftAreForgotten(t *testing.T) {
	r, c, _ := tracked(t)
	c.want("GET k", "(nil)")
	for range 100 {
		gone := r.dial()
		gone.want("CLIENT TRACKING ON", "OK")
		gone.want("GET k", "(nil)")
		gone.want("QUIT", "OK")
		gone.ended()
		r.connected(2)
	}
	if n := r.srv.tracking.Counts().Items; n > 20 {
		t.Errorf("%d readers of one key are kept, of which one is connected", n)
	}
}

func TestPrefixesAreBounded(t *testing.T) {
	_, c, _ := tracked(t, "BCAST", "PREFIX", "x")
	call := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
	for i := range 1000 {
		call = append(call, "PREFIX", fmt.Sprintf("p%04d", i))
	}
	const want = "(error) ERR a client can ask for 1000 prefixes, and 64 KiB of them"
	if got := c.do(call...); got != want {
		t.Errorf("1001 prefixes: %s", got)
	}
	if got := c.do("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", strings.Repeat("y", 64<<10)); got != want {
		t.Errorf("a long prefix: %s", got)
	}
}

func TestATransactionMayTurnTrackingOnAndWriteWhatItReads(t *testing.T) {
	r := newRig(t)
	c := r.dial().hello3()
	c.raw(encode("MULTI") + encode("CLIENT", "TRACKING", "ON") + encode("GET", "k") + encode("SET", "k", "1") + encode("EXEC"))
	for _, want := range []string{"OK", "QUEUED", "QUEUED", "QUEUED", `["OK" (nil) "OK"]`, `>["invalidate" ["k"]]`} {
		if got := c.reply(); strings.ReplaceAll(got, `"OK"`, "OK") != strings.ReplaceAll(want, `"OK"`, "OK") {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// As in Redis, a read makes room too, and a client that caches an evicted key is told
// before it gets the reply.
func TestReadsMakeRoom(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.do("HELLO", "3")
	c.want("CLIENT TRACKING ON", "OK")
	c.want("SET volatile x EX 1000", "OK")
	c.want("GET volatile", `"x"`)
	c.want("SETBIT large 1600000 0", "(int) 0")
	c.want("CONFIG SET maxmemory-policy volatile-random maxmemory 102400", "OK")
	c.want("GETBIT large 0", `>["invalidate" ["volatile"]]`)
	c.next("(int) 0")
	c.want("EXISTS volatile", "(int) 0")
	c.want("GETBIT large 0", "(int) 0")
	c.want("SET k v", "(error) OOM command not allowed when used memory > 'maxmemory'.")
}

func TestScriptsTrackWhatTheyReadAndNotWhatTheyDeclare(t *testing.T) {
	r := newRig(t)
	c, other := r.dial().hello3(), r.dial()
	c.want("CLIENT TRACKING on", "OK")
	if got := c.do("EVAL", "redis.call('set', KEYS[1], 1) redis.call('get', KEYS[2])", "3", "written", "read", "declared"); got != "(nil)" {
		t.Errorf("got %s", got)
	}
	for _, key := range []string{"declared", "written", "read"} {
		other.want("SET "+key+" x", "OK")
	}
	c.next(`>["invalidate" ["read"]]`)
	c.want("PING", "PONG")
}

// TestKeyThatIsLostAmidExecIsInvalidatedAfterIt makes the table lose a key between a read and
// the end of a subscription in one EXEC, which writes what has come before its reply.
func TestKeyThatIsLostAmidExecIsInvalidatedAfterIt(t *testing.T) {
	var lose func()
	r := newRig(t, func(o *Options) { o.Log = slog.New(onLine{"lose it", func() { lose() }}) })
	lose = func() {
		if !r.srv.tracking.Lose() {
			t.Error("no key is remembered")
		}
	}
	script := "redis.log(redis.LOG_WARNING, 'lose it')"
	for name, read := range map[string][]string{
		"a command": {"GET", "k"},
		"a script":  {"EVAL", "return redis.call('GET', KEYS[1])", "1", "k"},
	} {
		t.Run(name, func(t *testing.T) {
			c := r.dial().hello3()
			c.do("SET", "k", "v")
			c.do("CLIENT", "TRACKING", "on")
			c.do("SUBSCRIBE", "news")
			c.do("MULTI")
			c.do(read...)
			c.do("EVAL", script, "0")
			c.do("UNSUBSCRIBE", "news")
			c.send("EXEC")
			c.next(`>["invalidate" ["k"]]`)
			c.next(`["v" (nil) >["unsubscribe" "news" (int) 0]]`)
			c.next(`>["invalidate" ["k"]]`)
			c.send("PING")
			c.next("PONG")
		})
	}
}

// onLine calls do for each line that has a part.
type onLine struct {
	part string
	do   func()
}

func (l onLine) Enabled(context.Context, slog.Level) bool { return true }
func (l onLine) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l onLine) WithGroup(string) slog.Handler            { return l }

func (l onLine) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, l.part) {
		l.do()
	}
	return nil
}

// Each FLUSHALL of a transaction or a script is told of by one null, in its place among the keys.
func TestFlushesOfATransactionAreToldInOrder(t *testing.T) {
	const (
		null = `>["invalidate" (nil)]`
		k    = `>["invalidate" ["k"]]`
	)
	for _, x := range []struct{ calls, own, other string }{
		{"FLUSHALL", null, null},
		{"FLUSHDB", null, null},
		{"FLUSHALL|FLUSHDB", null + "|" + null, null + "|" + null},
		{"SET k w|FLUSHALL|SET k x", k + "|" + null, k + "|" + null},
		{"FLUSHALL|SET k x", null, null},
		{"FLUSHALL|SET k x|GET k|SET k y", null + "|" + k, null},
	} {
		for _, script := range []bool{false, true} {
			r := newRig(t)
			c, other := r.dial().hello3(), r.dial().hello3()
			c.want("SET k v", "OK")
			for _, tracking := range []*testClient{c, other} {
				tracking.want("CLIENT TRACKING ON", "OK")
				tracking.want("GET k", `"v"`)
			}
			calls := strings.Split(x.calls, "|")
			if script {
				var source strings.Builder
				for _, call := range calls {
					source.WriteString("redis.call('" + strings.ReplaceAll(call, " ", "','") + "') ")
				}
				c.want("EVAL "+strings.ReplaceAll(source.String(), " ", ";")+"return(1) 0", "(int) 1")
			} else {
				c.do("MULTI")
				for _, call := range calls {
					c.do(strings.Fields(call)...)
				}
				c.do("EXEC")
			}
			for want := range strings.SplitSeq(x.own, "|") {
				c.next(want)
			}
			for want := range strings.SplitSeq(x.other, "|") {
				other.next(want)
			}
			c.quiet()
			other.quiet()
		}
	}
}
