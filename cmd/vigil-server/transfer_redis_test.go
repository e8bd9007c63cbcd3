//go:build rediscli

package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Keys go from a Redis to vigil by its file, from one that runs by redis-cli, and back again.
func TestFilesGoFromRedisAndBack(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	cli, cliErr := exec.LookPath("redis-cli")
	if err != nil || cliErr != nil {
		t.Fatal(err, cliErr)
	}
	dir, store := t.TempDir(), filepath.Join(t.TempDir(), "store")
	addr, stop := startRedis(t, redis, dir)
	c := dialAt(t, "tcp", addr)
	for _, call := range []string{"SET s value", "SET e value PXAT 4102444800000", "RPUSH l a b c", "SADD set a 1 2", "ZADD z 1.5 a 2 b", "HSET h f v g w", "XADD x 1-1 f v", "PFADD p a b"} {
		if got := c.do(t, call); strings.HasPrefix(got, "ERR") {
			t.Fatalf("%s: %s", call, got)
		}
	}
	wantReply(t, c, "SAVE", "OK")
	asked := []string{"GET s", "PEXPIRETIME e", "LRANGE l 0 -1", "SCARD set", "ZSCORE z a", "HGET h g", "XLEN x", "PFCOUNT p", "DBSIZE"}
	want := c.answers(t, asked)
	_, port, _ := net.SplitHostPort(addr)
	dump, err := exec.Command(cli, "-p", port, "--rdb", filepath.Join(dir, "live.rdb")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, dump)
	}
	stop()
	for _, file := range []string{"dump.rdb", "live.rdb"} {
		if status, out := tool(t, "--import", filepath.Join(dir, file), "--import-on-conflict", "replace-all", "--dir", store); status != 0 || !strings.Contains(out, "imported: 8 keys") {
			t.Fatalf("%s: status %d, %s", file, status, out)
		}
		p := launch(t, "--dir", store)
		same(t, file, dial(t, p), asked, want)
		stopServer(t, p)
	}
	back := t.TempDir()
	if status, out := tool(t, "--export", filepath.Join(back, "dump.rdb"), "--for", "redis7.0", "--dir", store); status != 0 {
		t.Fatalf("status %d, %s", status, out)
	}
	addr, stop = startRedis(t, redis, back)
	defer stop()
	same(t, "back", dialAt(t, "tcp", addr), asked, want)
}

func same(t *testing.T, where string, c *client, asked []string, want map[string]string) {
	t.Helper()
	for _, call := range asked {
		if got := c.do(t, call); got != want[call] {
			t.Errorf("%s: %s: got %s, want %s", where, call, got, want[call])
		}
	}
}

// startRedis starts a server with a directory, and returns its address and how to stop it.
func startRedis(t *testing.T, exe, dir string, args ...string) (addr string, stop func()) {
	t.Helper()
	port := freePort(t)
	addr = "127.0.0.1:" + port
	cmd := exec.Command(exe, append([]string{"--port", port, "--dir", dir, "--save", ""}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if nc, err := net.Dial("tcp", addr); err == nil {
			nc.Close()
			c := dialAt(t, "tcp", addr)
			if got := c.do(t, "PING"); got == "PONG" {
				return addr, stop
			}
		}
	}
	t.Fatal("redis-server does not start")
	return "", nil
}

// A redis-server follows vigil, and has what is there and what is written later.
func TestToolRedisFollowsVigil(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, "--dir", t.TempDir())
	c := dial(t, p)
	addr, stop := startRedis(t, redis, t.TempDir())
	defer stop()
	_, port, _ := net.SplitHostPort(p.addr)
	r := dialAt(t, "tcp", addr)
	wantReply(t, c, "SET s value", "OK")
	wantReply(t, r, "REPLICAOF 127.0.0.1 "+port, "OK")
	wantReply(t, c, "RPUSH l a b c", "3")
	for _, call := range []string{"WAIT 1 60000", "LINSERT l BEFORE b x", "HSET h f v g w", "SADD set a 1 2", "ZADD z 1.5 a 2 b", "XADD x 1-1 f v", "XGROUP CREATE x g 0", "XREADGROUP GROUP g p STREAMS x >",
		"SETRANGE s 3 y", "PEXPIREAT s 4102444800000", "PFADD p a b", "SPOP set"} {
		if got := c.do(t, call); strings.HasPrefix(got, "ERR") {
			t.Fatalf("%s: %s", call, got)
		}
	}
	wantReply(t, c, "WAIT 1 60000", "1")
	asked := []string{"GET s", "PEXPIRETIME s", "LRANGE l 0 -1", "HGET h g", "SCARD set", "ZSCORE z a", "XLEN x", "XPENDING x g", "PFCOUNT p", "DBSIZE"}
	same(t, "replica", r, asked, c.answers(t, asked))
}
