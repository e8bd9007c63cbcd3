package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigildb/vigil/structures/testscale"
)

// follower is a replica of a server.
type follower struct {
	t      *testing.T
	conn   net.Conn
	in     *bufio.Reader
	id     string
	offset int64
	file   []byte
}

// follower connects one, which says what it is.
func (r *rig) follower(t *testing.T, hello ...string) *follower {
	t.Helper()
	conn, err := r.srv.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := &follower{t: t, conn: conn, in: bufio.NewReader(conn)}
	if len(hello) > 0 {
		f.send(append([]string{"REPLCONF"}, hello...)...)
		if line := f.line(); line != "+OK" {
			t.Fatalf("REPLCONF: %s", line)
		}
	}
	return f
}

func (f *follower) send(args ...string) {
	f.t.Helper()
	if _, err := io.WriteString(f.conn, encode(args...)); err != nil {
		f.t.Error(err)
	}
}

// line reads a line, without the empty ones before.
func (f *follower) line() string {
	f.t.Helper()
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			f.t.Fatalf("line: %v", err)
		}
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
}

// sync reads the reply to PSYNC, and the file.
func (f *follower) sync() *follower {
	f.t.Helper()
	if _, err := fmt.Sscanf(f.line(), "+FULLRESYNC %s %d", &f.id, &f.offset); err != nil {
		f.t.Fatal(err)
	}
	f.load()
	return f
}

// load reads a file.
func (f *follower) load() {
	f.t.Helper()
	head := f.line()
	mark, marked := strings.CutPrefix(head, "$EOF:")
	n, err := strconv.Atoi(strings.TrimPrefix(head, "$"))
	if !marked && err != nil {
		f.t.Fatalf("got %q", head)
	}
	for marked && !bytes.HasSuffix(f.file, []byte(mark)) || !marked && len(f.file) < n {
		b, err := f.in.ReadByte()
		if err != nil {
			f.t.Fatalf("file of %d bytes: %v", len(f.file), err)
		}
		f.file = append(f.file, b)
	}
	f.file = bytes.TrimSuffix(f.file, []byte(mark))
}

// next reads a command of the stream.
func (f *follower) next() []string {
	f.t.Helper()
	count := func(kind string) int {
		line, err := f.in.ReadString('\n')
		n, bad := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, kind)))
		if err != nil || bad != nil || !strings.HasPrefix(line, kind) {
			f.t.Fatalf("stream: %q, %v", line, err)
		}
		f.offset += int64(len(line))
		return n
	}
	args := make([]string, count("*"))
	for i := range args {
		b := make([]byte, count("$")+2)
		if _, err := io.ReadFull(f.in, b); err != nil {
			f.t.Fatal(err)
		}
		f.offset += int64(len(b))
		args[i] = string(b[:len(b)-2])
	}
	return args
}

// until reads commands up to one with this name.
func (f *follower) until(name string, each func(args []string)) {
	f.t.Helper()
	for {
		args := f.next()
		if each != nil {
			each(args)
		}
		if args[0] == name {
			return
		}
	}
}

// expect reads commands, which have to be these.
func (f *follower) expect(want ...string) {
	f.t.Helper()
	for _, w := range want {
		if got := strings.Join(f.next(), " "); got != w {
			f.t.Errorf("got %q, want %q", got, w)
		}
	}
}

// ended reads the end of the connection.
func (f *follower) ended() {
	f.t.Helper()
	if b, err := io.ReadAll(f.in); len(b) > 0 || err != nil && !strings.Contains(err.Error(), "closed") {
		f.t.Errorf("got %q, %v", b, err)
	}
}

// writer draws calls that change keys of all core types.
type writer struct{ *rand.Rand }

func (w writer) key(kind string) string { return fmt.Sprint(kind, w.IntN(6)) }

func (w writer) text() string {
	return []string{"a", "b", "c", "d", "e", "\r\n\x00", strings.Repeat("x", w.IntN(100)), fmt.Sprint(w.IntN(500))}[w.IntN(8)]
}

func (w writer) one(now int64) []string {
	s, l, h, t, z, x := w.key("s"), w.key("l"), w.key("h"), w.key("t"), w.key("z"), w.key("x")
	some := []string{s, l, h, t, z, x}[w.IntN(6)]
	at, e, o := fmt.Sprint(now+[]int64{5, 300, 1e6}[w.IntN(3)]), w.text(), w.text()
	group, consumer := string("gh"[w.IntN(2)]), string("pq"[w.IntN(2)])
	calls := [][]string{
		{"SET", s, e}, {"SET", s, e, "PXAT", at}, {"INCR", s}, {"APPEND", s, e}, {"SETRANGE", s, "30", e}, {"SETBIT", s, "300", "1"}, {"GETDEL", s}, {"BITFIELD", s, "SET", "u8", "900", "7"},
		{"PEXPIREAT", some, at}, {"PERSIST", some}, {"DEL", some}, {"RENAME", some, some[:1] + "0"}, {"COPY", some, some[:1] + "1", "REPLACE"}, {"MOVE", some, "1"},
		{"LPUSH", l, e, o}, {"RPUSH", l, e, o, e}, {"LPOP", l}, {"RPOP", l, "2"}, {"LINSERT", l, "BEFORE", e, o}, {"LINSERT", l, "AFTER", e, "vigil:0"}, {"LSET", l, "1", e},
		{"LREM", l, "-1", e}, {"LTRIM", l, "1", "12"}, {"LMOVE", l, w.key("l"), "LEFT", "RIGHT"}, {"SORT", l, "ALPHA", "STORE", l},
		{"HSET", h, e, o, o, e}, {"HDEL", h, e}, {"HINCRBY", h, "n", "3"}, {"HPEXPIREAT", h, at, "FIELDS", "1", e}, {"HPERSIST", h, "FIELDS", "1", e}, {"HINCRBYFLOAT", h, "n", "0.1"}, {"HPEXPIREAT", h, at, "FIELDS", "1", "n"},
		{"SADD", t, e, o}, {"SREM", t, e}, {"SPOP", t}, {"SUNIONSTORE", t, t, w.key("t")}, {"SMOVE", t, w.key("t"), e},
		{"ZADD", z, fmt.Sprint(w.Float64() * 9), e, "-inf", o}, {"ZINCRBY", z, "0.1", e}, {"ZREM", z, e}, {"ZPOPMIN", z, "2"}, {"ZPOPMAX", z}, {"ZREMRANGEBYRANK", z, "1", "2"}, {"ZUNIONSTORE", z, "2", z, w.key("z")},
		{"XADD", x, "*", e, o}, {"XADD", x, "MAXLEN", "5", "*", e, o}, {"XTRIM", x, "MAXLEN", "2"}, {"XGROUP", "CREATE", x, group, "0", "MKSTREAM"},
		{"XREADGROUP", "GROUP", group, consumer, "COUNT", "2", "STREAMS", x, ">"}, {"XREADGROUP", "GROUP", group, consumer, "COUNT", "2", "STREAMS", x, "0"}, {"XREADGROUP", "GROUP", group, "n", "NOACK", "STREAMS", x, ">"},
		{"XAUTOCLAIM", x, group, consumer, "0", "0", "COUNT", "2"}, {"XGROUP", "DELCONSUMER", x, group, "p"}, {"XGROUP", "SETID", x, group, "0"}, {"XGROUP", "DESTROY", x, group},
		{"PFADD", s, e}, {"GEOADD", z, "13.3", "38.1", e}, {"EVAL", "redis.call('RPUSH', KEYS[1], 'q') return redis.call('INCR', KEYS[2])", "2", l, s},
	}
	return calls[w.IntN(len(calls))]
}

// run makes calls, some of them in transactions, while time goes by.
func (w writer) run(r *rig, c *testClient, n int) {
	for range n {
		calls := [][]string{w.one(r.clock.Now().UnixMilli())}
		switch w.IntN(200) {
		case 0:
			calls = [][]string{{"SELECT", fmt.Sprint(w.IntN(3))}}
		case 1:
			calls = [][]string{{"SWAPDB", fmt.Sprint(w.IntN(3)), fmt.Sprint(w.IntN(3))}}
		case 2:
			calls = [][]string{{"FLUSHDB"}}
		case 3, 4, 5, 6, 7, 8:
			calls = [][]string{{"MULTI"}, w.one(r.clock.Now().UnixMilli()), {"SELECT", "1"}, w.one(r.clock.Now().UnixMilli()), {"LINSERT", "l1", "AFTER", "a", "b"}, w.one(r.clock.Now().UnixMilli()), {"EXEC"}}
		}
		for _, call := range calls {
			c.do(call...)
		}
		if w.IntN(20) == 0 {
			r.clock.advance(time.Duration(w.IntN(30)) * time.Millisecond)
		}
	}
}

// A server that loads the file and does what the stream says has the same keys in the end, whatever is written before, during and after the
// synchronization.
func TestReplicaHasTheSameKeysAsItsMaster(t *testing.T) {
	for seed := range uint64(3) {
		master, dir := []func(*Options){func(o *Options) { o.Config = testConfig(t, "--notify-keyspace-events", "KEA") }}, t.TempDir()
		g := newTestGroup(t)
		if seed == 2 {
			master = append(master, g.join)
		}
		r := newRig(t, master...)
		if seed == 2 {
			g.elect()
		}
		mirror := newRig(t, func(o *Options) { o.Config = testConfig(t, "--import-dir", dir) })
		w, c, m := writer{rand.New(rand.NewPCG(seed, 1))}, r.dial(), mirror.dial()
		m.do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
		w.run(r, c, 400)
		f := r.follower(t, "capa", "eof", "capa", "psync2", "listening-port", "7000")
		f.send("PSYNC", "?", "-1")
		w.run(r, c, testscale.Rounds(1000)) // while the copy is made
		f.sync()
		if err := os.WriteFile(filepath.Join(dir, "x.rdb"), f.file, 0o600); err != nil {
			t.Fatal(err)
		}
		mirror.imported(m, "x.rdb")
		f.send("REPLCONF", "ACK", fmt.Sprint(f.offset))
		w.run(r, c, testscale.Rounds(3000))
		c.do("FUNCTION", "LOAD", library)
		c.do("PUBLISH", "end", "x")
		f.until("PUBLISH", func(args []string) {
			if got := m.do(args...); strings.Contains(got, "(error)") {
				t.Errorf("seed %d: %q: %s", seed, args, got)
			}
		})
		mirror.clock.advance(r.clock.Now().Sub(mirror.clock.Now()))
		for db := range 3 {
			c.do("SELECT", fmt.Sprint(db))
			m.do("SELECT", fmt.Sprint(db))
			same(t, seed, c, m)
		}
		if a, b := c.do("FUNCTION", "LIST"), m.do("FUNCTION", "LIST"); a != b {
			t.Errorf("functions: %s, want %s", b, a)
		}
		if offset, _ := (host{r.srv}).Replicas(); offset != f.offset {
			t.Errorf("seed %d: the stream has %d bytes, the server says %d", seed, f.offset, offset)
		}
	}
}

// idleTime is how long ago an entry was delivered by the clock of the server, which for the mirror stands still.
var idleTime = regexp.MustCompile(`" \(int\) \d+ `)

// same compares a database of two servers.
func same(t *testing.T, seed uint64, c, m *testClient) {
	t.Helper()
	keys := func(c *testClient) []string {
		list := strings.Fields(strings.Trim(c.do("KEYS", "*"), "[]"))
		slices.Sort(list)
		return list
	}
	a, b := keys(c), keys(m)
	if !slices.Equal(a, b) {
		t.Errorf("seed %d: keys %v, want %v", seed, b, a)
	}
	for _, quoted := range a {
		key, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		calls := [][]string{{"DEBUG", "DIGEST-VALUE", key}, {"PEXPIRETIME", key}}
		switch key[0] {
		case 'x':
			calls = append(calls, []string{"XINFO", "GROUPS", key}, []string{"XPENDING", key, "g", "-", "+", "100"}, []string{"XPENDING", key, "h", "-", "+", "100"})
		case 'h':
			calls = append(calls, []string{"HPEXPIRETIME", key, "FIELDS", "3", "a", "b", "n"})
		}
		for _, call := range calls {
			if x, y := idleTime.ReplaceAllString(c.do(call...), " "), idleTime.ReplaceAllString(m.do(call...), " "); x != y {
				t.Errorf("seed %d: %q: got %s, want %s", seed, call, y, x)
			}
		}
	}
}

// A replica is seen where Redis shows replicas, waited for, and goes on where it was.
func TestReplicaIsSeenAndWaitedFor(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	c.want("SET k v", "OK")
	f := r.follower(t, "listening-port", "7000", "ip-address", "10.0.0.9", "capa", "psync2")
	f.send("PSYNC", "?", "-1")
	f.sync()
	c.want("SET k w", "OK")
	f.expect("SELECT 0", "SET k w")
	c.send("WAIT", "1", "0")
	f.expect("REPLCONF GETACK *")
	f.send("REPLCONF", "ACK", fmt.Sprint(f.offset), "FACK", "1")
	c.next("(int) 1")
	c.want("ROLE", fmt.Sprintf(`["master" (int) %d [["10.0.0.9" "7000" "%d"]]]`, f.offset, f.offset))
	info := c.do("INFO", "replication", "stats")
	for _, want := range []string{"connected_slaves:1\\r\\n", fmt.Sprintf("slave0:ip=10.0.0.9,port=7000,state=online,offset=%d,lag=0", f.offset),
		"master_replid:" + f.id, fmt.Sprintf("master_repl_offset:%d", f.offset), "repl_backlog_active:1", "sync_full:1\\r\\n"} {
		if !strings.Contains(info, want) {
			t.Errorf("INFO has no %q: %s", want, info)
		}
	}
	if list := c.do("CLIENT", "LIST", "TYPE", "replica"); !strings.Contains(list, "flags=S") {
		t.Errorf("CLIENT LIST: %s", list)
	}
	c.want("CONFIG SET min-replicas-to-write 2", "OK")
	c.want("SET k x", "(error) NOREPLICAS Not enough good replicas to write.")
	c.want("DEL k", "(error) NOREPLICAS Not enough good replicas to write.")
	if got := c.do("EVAL", "return redis.call('SET', 'k', 'x')", "1", "k"); !strings.Contains(got, "NOREPLICAS") {
		t.Errorf("EVAL: %s", got)
	}
	c.want("CONFIG SET min-replicas-to-write 1", "OK")
	c.want("SET k x", "OK")
	f.expect("SET k x")
	c.want("CLIENT KILL TYPE replica", "(int) 1")
	f.ended()
	r.connected(1)
	c.want("SET k y", "(error) NOREPLICAS Not enough good replicas to write.")
	c.want("CONFIG SET min-replicas-to-write 0", "OK")
	c.want("SET k y", "OK")
	g := r.follower(t, "capa", "psync2")
	g.send("PSYNC", strings.ToUpper(f.id), fmt.Sprint(f.offset+1))
	if line := g.line(); line != "+CONTINUE "+f.id {
		t.Errorf("PSYNC: %s", line)
	}
	g.expect("SET k y")
}

// A message of a transaction or a script comes behind what that has changed, as subscribers of a replica may look at the keys.
func TestReplicasGetMessagesBehindTheChangesOfTheirTransaction(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	f := r.follower(t)
	f.send("PSYNC", "?", "-1")
	f.sync()
	for _, call := range []string{"MULTI", "SET k v", "PUBLISH news a", "SET k w", "EXEC"} {
		c.do(strings.Fields(call)...)
	}
	f.expect("SELECT 0", "MULTI", "SET k v", "SET k w", "EXEC", "PUBLISH news a")
	c.do("EVAL", "redis.call('SPUBLISH', KEYS[1], 'b') return redis.call('SET', KEYS[1], 'x')", "1", "k")
	f.expect("SET k x", "SPUBLISH k b")
	for _, call := range []string{"MULTI", "PUBLISH news c", "EXEC", "PUBLISH news d"} {
		c.do(strings.Fields(call)...)
	}
	f.expect("PUBLISH news c", "PUBLISH news d")
}

// What a replica must not do ends its connection, or is refused, as in Redis.
func TestReplicasThatMisbehaveAreRefused(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--repl-diskless-sync-delay", "0") })
	c := r.dial()
	c.raw(encode("PING") + encode("PSYNC", "?", "-1"))
	c.next("PONG")
	c.next("(error) ERR SYNC and PSYNC are invalid with pending output")
	f := r.follower(t)
	f.send("SYNC")
	f.load()
	f.send("SYNC") // once more is nothing
	f.send("REPLCONF", "ACK", "x")
	f.send("GET", "k")
	f.ended()
	f = r.follower(t, "capa", "eof", "rdb-only", "1")
	f.send("SYNC")
	f.load()
	f.ended()
	c.want("SET k v", "OK")
	user := r.dial()
	c.want("ACL SETUSER u on >p +@all -@admin ~*", "OK")
	user.want("AUTH u p", "OK")
	user.want("PSYNC ? -1", "(error) NOPERM User u has no permissions to run the 'psync' command")
	r.connected(2)
}

// A replica may be anywhere in its file when the server ends.
func TestServerClosesWhileReplicasSynchronize(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Config = testConfig(t, "--repl-diskless-sync-delay", "0") })
	c := r.dial()
	for i := range 2000 {
		c.do("SET", fmt.Sprint("k", i), strings.Repeat("v", 10_000))
	}
	for _, capa := range []string{"eof", "none"} {
		f := r.follower(t, "capa", capa)
		f.send("PSYNC", "?", "-1")
		f.line()
	}
}
