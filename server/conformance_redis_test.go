package server

import (
	"bufio"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// redisTarget is a real Redis or Valkey, which VIGIL_REDIS_ADDR names: "host:port",
// or "unix:" and a path. It must allow DEBUG, and be used for nothing else.
type redisTarget struct {
	network, addr string
	redis         string        // the version of Redis that it is, or is compatible with
	valkey        string        // the version of Valkey that it is, or empty
	control       *scriptClient // connects again when a script has killed it
}

func newRedisTarget(t *testing.T, addr string) *redisTarget {
	t.Helper()
	r := &redisTarget{network: "tcp", addr: addr}
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		r.network, r.addr = "unix", path
	}
	r.control = r.connect(t)
	t.Cleanup(func() { r.control.nc.Close() })
	info, err := r.order("INFO", "server")
	if err != nil {
		t.Fatal(err)
	}
	r.redis, r.valkey = infoField(info.text, "redis_version"), infoField(info.text, "valkey_version")
	return r
}

// infoField returns the value of a field of INFO, or "" if there is none.
func infoField(info, name string) string {
	_, rest, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

func (r *redisTarget) connect(t *testing.T) *scriptClient {
	t.Helper()
	nc, err := net.Dial(r.network, r.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &scriptClient{nc: nc, r: bufio.NewReader(nc)}
	id, err := r.ask(c, "CLIENT", "ID")
	if err != nil {
		t.Fatal(err)
	}
	if id.kind == nodeInt {
		c.id, _ = strconv.ParseUint(id.text, 10, 64)
	}
	return c
}

func (r *redisTarget) ask(c *scriptClient, words ...string) (*node, error) {
	argv := make([][]byte, len(words))
	for i, w := range words {
		argv[i] = []byte(w)
	}
	if err := c.send(argv); err != nil {
		return nil, err
	}
	return c.receive()
}

// order is ask by the control connection, which scripts may have killed.
func (r *redisTarget) order(words ...string) (*node, error) {
	if got, err := r.ask(r.control, words...); err == nil {
		return got, nil
	}
	nc, err := net.Dial(r.network, r.addr)
	if err != nil {
		return nil, err
	}
	r.control.nc.Close()
	r.control.nc, r.control.r = nc, bufio.NewReader(nc)
	return r.ask(r.control, words...)
}

func (r *redisTarget) dial(t *testing.T, proto int) *scriptClient {
	t.Helper()
	c := r.connect(t)
	greet(t, c, proto)
	return c
}

// settled looks for the flag of a blocked client, or for the first byte of a
// reply.
func (r *redisTarget) settled(c *scriptClient) bool {
	c.nc.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := c.r.Peek(1); err == nil || !os.IsTimeout(err) {
		return true
	}
	list, err := r.order("CLIENT", "LIST", "ID", strconv.FormatUint(c.id, 10))
	if err != nil || list.text == "" {
		return true
	}
	_, flags, _ := strings.Cut(list.text, " flags=")
	flags, _, _ = strings.Cut(flags, " ")
	return strings.Contains(flags, "b")
}

func (r *redisTarget) left() bool {
	list, err := r.order("CLIENT", "LIST")
	return err == nil && strings.Count(list.text, "\n") <= 1
}

// advance lets real time pass, and two milliseconds more: Redis counts whole ones,
// in which a key that expires with the last is still there.
func (r *redisTarget) advance(d time.Duration) { <-time.After(d + 2*time.Millisecond) }

// restart reads the data back from a dump, which is as near as a server can
// come that belongs to somebody else.
func (r *redisTarget) restart(t *testing.T) {
	t.Helper()
	if got, err := r.order("DEBUG", "RELOAD"); err != nil || got.text != "OK" {
		t.Errorf("DEBUG RELOAD: got %v, %v", got, err)
	}
}

// runs leaves out what this server is too old for, and wanted differences. What
// has to do with the script itself is for all servers.
func (r *redisTarget) runs(s *step) bool {
	switch s.kind {
	case stepFlush, stepProto:
		return true
	}
	if !r.knows(s.since) {
		return false
	}
	for _, skip := range s.skips {
		if r.skips(skip) {
			return false
		}
	}
	return true
}

func (r *redisTarget) knows(since release) bool {
	switch {
	case since.redis == "":
		return true
	case r.valkey != "":
		return since.valkey != "" && !older(r.valkey, since.valkey)
	}
	return !older(r.redis, since.redis)
}

// skips reports whether a mark leaves this server out. To a mark for Redis, Valkey is the
// version of Redis that it is compatible with.
func (r *redisTarget) skips(s skip) bool {
	all := s.before == "" && s.from == ""
	have := r.redis
	if s.server == "valkey" {
		have = r.valkey
	}
	if have == "" {
		return false
	}
	return all || s.before != "" && older(have, s.before) || s.from != "" && !older(have, s.from)
}

// older compares versions number by number.
func older(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range w {
		a, b := 0, 0
		if i < len(h) {
			a, _ = strconv.Atoi(h[i])
		}
		b, _ = strconv.Atoi(w[i])
		if a != b {
			return a < b
		}
	}
	return false
}

// ownFamilies are the groups of commands that Redis has only by modules, or not at all, by the folders of their families.
var ownFamilies = map[string]string{"bloom": "bf", "cms": "cms", "cuckoo": "cf", "json": "json", "place": "place", "sched": "sched", "tdigest": "tdigest", "topk": "topk"}

// TestConformanceRedis runs the scripts against a real server, which must agree: a script
// describes Redis, not only vigil. It does nothing without VIGIL_REDIS_ADDR. It goes on
// behind a difference, so that one run shows all of them, and what it logs counts them.
func TestConformanceRedis(t *testing.T) {
	addr := os.Getenv("VIGIL_REDIS_ADDR")
	if addr == "" {
		return
	}
	target := newRedisTarget(t, addr)
	var total callCount
	for name, steps := range loadScripts(t) {
		if folder, _, _ := strings.Cut(name, "/"); ownFamilies[folder] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, clean := range [][]string{{"FLUSHALL"}, {"CONFIG", "RESETSTAT"}} {
				if got, err := target.order(clean...); err != nil || got.kind == nodeError {
					t.Fatalf("%v: got %v, %v", clean, got, err)
				}
			}
			for i := range steps {
				if steps[i].want != nil {
					target.words(steps[i].want)
				}
			}
			total.add(runScript(t, name, steps, target))
		})
	}
	t.Logf("%s: %d calls made, %d of their replies differ; %d calls not made", target, total.made, total.differ, total.skipped)
}

// valkeyWords are words of errors that Valkey replaces wherever they occur.
var valkeyWords = []struct {
	redis  *regexp.Regexp
	valkey string
}{
	{regexp.MustCompile(` script: \w+, on `), " script: on "}, // the digest of a script, the name of a function
	{regexp.MustCompile(`redis\.(register_function|log)`), "server.$1"},
	{regexp.MustCompile(`This Redis command`), "This Valkey command"},
	{regexp.MustCompile(`Unknown Redis command`), "Unknown command"},
	{regexp.MustCompile(`Lua redis lib command`), "Command"},
	{regexp.MustCompile(`this redis lib call`), "this call"},
	{regexp.MustCompile(` Please use EVAL\.`), ""},
}

// words puts the words of this server into the errors of an expected reply.
func (r *redisTarget) words(want *node) {
	if r.valkey == "" {
		return
	}
	for _, item := range want.list {
		r.words(item)
	}
	if want.kind != nodeError {
		return
	}
	for _, w := range valkeyWords {
		want.text = w.redis.ReplaceAllString(want.text, w.valkey)
	}
}

func (r *redisTarget) String() string {
	if r.valkey != "" {
		return "Valkey " + r.valkey
	}
	return "Redis " + r.redis
}

func TestMarksOfScriptsLeaveServersOut(t *testing.T) {
	const script = `# redis: skip before 7.2 (a)
> A
OK
# redis: skip from 8.0 (b)
# valkey: skip (c)
> B
OK
# redis: skip (d)
2> C
2< OK
# valkey: skip before 9.1 (e)
> D
OK
# redis: version 7.4
> E
OK
# valkey: version 9.0
> F
OK
flush
> G
OK
`
	steps, err := parseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ redis, valkey, want string }{
		{"7.0.15", "", "BDG"}, {"7.2.0", "", "ABDG"}, {"7.4.1", "", "ABDEFG"}, {"8.0.6", "", "ADEFG"},
		{"7.2.4", "8.1.0", "AG"}, {"7.2.4", "9.0.1", "AFG"}, {"7.2.4", "9.1.2", "ADFG"},
	} {
		target, got := &redisTarget{redis: c.redis, valkey: c.valkey}, ""
		for i := range steps {
			if steps[i].kind == stepSend && target.runs(&steps[i]) {
				got += string(steps[i].argv[0])
			}
		}
		if got != c.want {
			t.Errorf("%v gets %s, want %s", target, got, c.want)
		}
	}
	for _, bad := range []string{"# redis: skip\n", "# redis: skip ()\n", "# redis: versoin 7\n", "# valkey: skip since 9 (x)\n"} {
		if _, err := parseScript(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestVersionsCompareByNumber(t *testing.T) {
	for _, c := range []struct {
		have, want string
		older      bool
	}{{"7.0.15", "7.4", true}, {"7.4.0", "7.4", false}, {"10.0", "7.4", false}, {"7.4", "7.4.1", true}, {"7.10", "7.9", false}} {
		if got := older(c.have, c.want); got != c.older {
			t.Errorf("%s is older than %s: got %v", c.have, c.want, got)
		}
	}
}
