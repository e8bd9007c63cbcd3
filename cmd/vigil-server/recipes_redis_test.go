//go:build rediscli

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The recipes of docs/migration.md that need more than one Redis, and that back; the others are in transfer_redis_test.go and replica_redis_test.go.

// redisAt starts a redis-server with arguments more.
func redisAt(t *testing.T, args ...string) (c *client, addr string) {
	t.Helper()
	exe, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	addr, _ = startRedis(t, exe, t.TempDir(), args...)
	return dialAt(t, "tcp", addr), addr
}

// portOf is the port of an address.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// Each master of a Redis Cluster gives a file, and one store is made from all of them.
func TestFilesGoFromRedisCluster(t *testing.T) {
	t.Parallel()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal(err)
	}
	dir, store, keys := t.TempDir(), filepath.Join(t.TempDir(), "store"), 0
	for i, slots := range []string{"0 8191", "8192 16383"} {
		c, addr := redisAt(t, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0")
		wantReply(t, c, "CLUSTER ADDSLOTSRANGE "+slots, "OK")
		awaitThat(t, "the slots are served", func() bool { return strings.Contains(c.do(t, "CLUSTER INFO"), "cluster_state:ok") })
		for k := range 200 {
			if got := c.do(t, fmt.Sprintf("SET key:%d v%d", k, k)); got == "OK" {
				keys++
			} else if !strings.HasPrefix(got, "MOVED") && !strings.HasPrefix(got, "CLUSTERDOWN") {
				t.Fatal(got)
			}
		}
		wantReply(t, c, "CLIENT PAUSE 60000 WRITE", "OK")
		file := filepath.Join(dir, fmt.Sprint(i, ".rdb"))
		if out, err := exec.Command(cli, "-p", portOf(addr), "--rdb", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		conflict := []string{"fail", "skip"}[i] // keys of two masters are never the same
		if status, out := tool(t, "--import", file, "--import-on-conflict", conflict, "--dir", store); status != 0 {
			t.Fatalf("status %d, %s", status, out)
		}
	}
	c := dial(t, launch(t, "--dir", store))
	if keys != 200 {
		t.Errorf("%d keys were written, want 200", keys)
	}
	wantReply(t, c, "DBSIZE", "200")
	for _, k := range []int{0, 99, 199} {
		wantReply(t, c, fmt.Sprint("GET key:", k), fmt.Sprint("v", k))
	}
}

// A Sentinel makes vigil the master in place of a Redis, and its clients find vigil then; the Redis that was follows.
func TestSentinelHandsOverToVigil(t *testing.T) {
	t.Parallel()
	exe, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	redis, addr := redisAt(t, "--repl-diskless-sync-delay", "0")
	wantReply(t, redis, "SET k v", "OK")
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %s 1\nsentinel down-after-milliseconds mymaster 60000\nsentinel failover-timeout mymaster 20000\n", portOf(addr))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "--dir", t.TempDir())
	vigil := dial(t, p)
	wantReply(t, vigil, "REPLICAOF 127.0.0.1 "+portOf(addr), "OK")
	awaitReplica(t, p, "the link is up", func() bool { return vigil.replicationField(t, "master_link_status") == "up" })
	port := freePort(t)
	cmd := exec.Command(exe, file, "--sentinel", "--port", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	awaitThat(t, "the Sentinel listens", func() bool {
		nc, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	sentinel := dialAt(t, "tcp", "127.0.0.1:"+port)
	awaitThat(t, "the Sentinel knows vigil", func() bool { return strings.Contains(sentinel.do(t, "SENTINEL REPLICAS mymaster"), " "+p.addr+" ") })
	awaitThat(t, "the failover begins", func() bool { return sentinel.do(t, "SENTINEL FAILOVER mymaster") == "OK" })
	awaitThat(t, "clients find vigil", func() bool {
		return sentinel.do(t, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster") == "[127.0.0.1 "+portOf(p.addr)+"]"
	})
	wantReply(t, dial(t, p), "SET after failover", "OK")
	wantReply(t, dial(t, p), "WAIT 1 60000", "1") // the Sentinel closes the connections of the Redis before
	again := dialAt(t, "tcp", addr)
	wantReply(t, again, "GET after", "failover")
	wantReply(t, again, "GET k", "v")
}

// Back again without a stop: a Redis follows vigil while clients write, and is the master when it has everything.
func TestToolMoveBackToRedisWithoutAStop(t *testing.T) {
	t.Parallel()
	redis, _ := redisAt(t)
	p := launch(t, "--dir", t.TempDir(), "--repl-diskless-sync-delay", "0")
	c, writer := dial(t, p), dial(t, p)
	wantReply(t, c, "RPUSH l a b c", "3")
	wantReply(t, redis, "REPLICAOF 127.0.0.1 "+portOf(p.addr), "OK")
	n := 0
	awaitThat(t, "the Redis follows", func() bool {
		n++
		wantReply(t, writer, "INCR n", fmt.Sprint(n))
		return strings.Contains(c.do(t, "INFO replication"), "state=online")
	})
	wantReply(t, c, "CLIENT PAUSE 60000 WRITE", "OK")
	end := c.replicationField(t, "master_repl_offset")
	awaitThat(t, "the Redis has all of it", func() bool { return strings.Contains(c.replicationField(t, "slave0"), ",offset="+end+",") })
	wantReply(t, redis, "REPLICAOF NO ONE", "OK")
	wantReply(t, redis, "GET n", fmt.Sprint(n))
	wantReply(t, redis, "LRANGE l 0 -1", "[a b c]")
	wantReply(t, redis, "SET n 0", "OK")
}

// FAILOVER makes a Redis the master and vigil its replica, and FAILOVER there the other way round, without a second copy of everything.
func TestToolFailoverToRedisAndBack(t *testing.T) {
	t.Parallel()
	redis, addr := redisAt(t, "--repl-diskless-sync-delay", "0")
	p := launch(t, "--dir", t.TempDir(), "--repl-diskless-sync-delay", "0")
	c := dial(t, p)
	wantReply(t, c, "SET k 1", "OK")
	wantReply(t, redis, "REPLICAOF 127.0.0.1 "+portOf(p.addr), "OK")
	online := func(c *client) func() bool {
		return func() bool { return strings.Contains(c.do(t, "INFO replication"), "state=online") }
	}
	awaitThat(t, "the Redis follows", online(c))
	wantReply(t, c, "SET k 2", "OK")
	wantReply(t, c, "FAILOVER TO 127.0.0.1 "+portOf(addr), "OK")
	awaitThat(t, "vigil follows", online(redis))
	wantReply(t, redis, "SET k 3", "OK")
	wantReply(t, redis, "WAIT 1 60000", "1")
	wantReply(t, c, "GET k", "3")
	wantReply(t, redis, "FAILOVER TO 127.0.0.1 "+portOf(p.addr), "OK")
	awaitThat(t, "the Redis follows again", online(c))
	wantReply(t, c, "SET k 4", "OK")
	wantReply(t, c, "WAIT 1 60000", "1")
	wantReply(t, redis, "GET k", "4")
	for who, at := range map[string]*client{"vigil": c, "the Redis": redis} {
		if stats := at.do(t, "INFO stats"); !strings.Contains(stats, "sync_partial_ok:1\r\n") {
			t.Errorf("%s: want one synchronization that is partial: %s", who, stats)
		}
	}
}

// redis-cli --cluster import takes the keys of vigil to a Redis Cluster, whose server is not one of vigil's.
func TestToolClusterImportTakesKeysToRedis(t *testing.T) {
	t.Parallel()
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal(err)
	}
	const keys = 1500 // more than a reply of SCAN has
	p := launch(t, "--dir", t.TempDir())
	c := dial(t, p)
	for i := range keys {
		wantReply(t, c, fmt.Sprintf("SET key:%d v%d", i, i), "OK")
	}
	wantReply(t, c, "RPUSH l a b", "2")
	redis, addr := redisAt(t, "--cluster-enabled", "yes")
	wantReply(t, redis, "CLUSTER ADDSLOTSRANGE 0 16383", "OK")
	awaitThat(t, "the slots are served", func() bool { return strings.Contains(redis.do(t, "CLUSTER INFO"), "cluster_state:ok") })
	out, err := exec.Command(cli, "--cluster", "import", addr, "--cluster-from", p.addr).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	wantReply(t, redis, "DBSIZE", fmt.Sprint(keys+1))
	wantReply(t, redis, "LRANGE l 0 -1", "[a b]")
	wantReply(t, c, "DBSIZE", "0")
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return portOf(l.Addr().String())
}

// awaitThat waits for something, which is asked again and again.
func awaitThat(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not within 60 s: %s", what)
		}
	}
}
