package server

import (
	"bufio"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// redisTarget is a real Redis, which VIGIL_REDIS_ADDR names: "host:port", or
// "unix:" and a path. It is to allow DEBUG, and to be used for nothing else.
type redisTarget struct {
	network, addr string
	version       string
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
	_, rest, _ := strings.Cut(info.text, "redis_version:")
	r.version, _, _ = strings.Cut(rest, "\r")
	return r
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

// runs leaves out what this Redis is too old for, and wanted differences. What
// has to do with the script itself is for everybody.
func (r *redisTarget) runs(s *step) bool {
	switch s.kind {
	case stepFlush, stepProto:
		return true
	}
	return s.skip == "" && (s.version == "" || !older(r.version, s.version))
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

// ownFamilies have commands that Redis does not have.
var ownFamilies = []string{"bloom", "place", "sched"}

// TestConformanceRedis runs the scripts against a real Redis, which must agree:
// a script describes Redis, not only vigil. It does nothing without
// VIGIL_REDIS_ADDR.
func TestConformanceRedis(t *testing.T) {
	addr := os.Getenv("VIGIL_REDIS_ADDR")
	if addr == "" {
		return
	}
	target := newRedisTarget(t, addr)
scripts:
	for name, steps := range loadScripts(t) {
		for _, own := range ownFamilies {
			if strings.HasPrefix(name, own+"/") {
				continue scripts
			}
		}
		t.Run(name, func(t *testing.T) {
			for _, clean := range [][]string{{"FLUSHALL"}, {"CONFIG", "RESETSTAT"}} {
				if got, err := target.order(clean...); err != nil || got.kind == nodeError {
					t.Fatalf("%v: got %v, %v", clean, got, err)
				}
			}
			runScript(t, name, steps, target)
		})
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
