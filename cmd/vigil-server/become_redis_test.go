//go:build rediscli

package main

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"testing"
)

// The recipe of docs/migration.md: a server of vigil follows a Redis, and three have its data in the end.
func TestMoveFromRedisIntoAGroup(t *testing.T) {
	exe, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	addr, stop := startRedis(t, exe, t.TempDir())
	defer stop()
	host, port, _ := net.SplitHostPort(addr)
	redis := dialAt(t, "tcp", addr)
	wantReply(t, redis, "CONFIG SET repl-diskless-sync-delay 0", "OK")
	for _, call := range []string{"SET s value", "SET e value PXAT 4102444800000", "RPUSH l a b c", "SADD set a 1 2", "ZADD z 1.5 a 2 b", "HSET h f v g w", "XADD x 1-1 f v",
		"XGROUP CREATE x g 0", "PFADD p a b", "SETBIT bits 100 1", "SELECT 3", "SET three 3", "SELECT 0"} {
		redis.do(t, call)
	}
	first := &member{port: freePorts(t), dir: t.TempDir()}
	args := []string{"--dir", first.dir, "--port", strconv.Itoa(first.port)}
	first.p = startCommand(t, exec.Command(binary, args...))
	first.await(t)
	vigil := dial(t, first.p)
	wantReply(t, vigil, fmt.Sprintf("REPLICAOF %s %s", host, port), "OK")
	equal := func() bool {
		return vigil.replicationField(t, "master_link_status") == "up" &&
			vigil.replicationField(t, "slave_repl_offset") == redis.replicationField(t, "master_repl_offset")
	}
	awaitReplica(t, first.p, "the offsets are equal", equal)
	redis.do(t, "APPEND s ' of the stream'")
	awaitReplica(t, first.p, "the offsets are equal", equal)
	first.stop(t)
	wantBecome(t, "member", first.dir, 2, "send REPLICAOF NO ONE")

	first.p = startCommand(t, exec.Command(binary, append(args, "--replicaof", host, port)...))
	first.await(t)
	vigil = dial(t, first.p)
	wantReply(t, redis, "CLIENT PAUSE 60000 WRITE", "OK")
	awaitReplica(t, first.p, "the offsets are equal", equal)
	asked := []string{"GET s", "PEXPIRETIME e", "LRANGE l 0 -1", "SCARD set", "ZRANGE z 0 -1 WITHSCORES", "HGET h g", "XRANGE x - +", "XPENDING x g", "TYPE p", "GETBIT bits 100", "DBSIZE"}
	want := map[string]string{}
	for _, call := range asked {
		want[call] = redis.do(t, call)
	}
	wantReply(t, vigil, "REPLICAOF NO ONE", "OK")
	first.stop(t)
	wantBecome(t, "member", first.dir, 0, "founds a group")

	address := "127.0.0.1:" + strconv.Itoa(first.port)
	first.p = startCommand(t, exec.Command(binary, append(args, "--cluster-secret", testSecret, "--cluster-members", "1="+address, "--cluster-member-id", "1")...))
	first.await(t)
	for i := range 2 {
		m := &member{port: first.port + 1 + i, dir: t.TempDir()}
		m.p = startCommand(t, exec.Command(binary, "--dir", m.dir, "--port", strconv.Itoa(m.port), "--cluster-secret", testSecret, "--cluster-join", address))
		m.await(t)
		for _, call := range asked {
			m.eventually(t, call, want[call])
		}
		m.eventually(t, `EVAL_RO "redis.call('select', 3) return redis.call('get','three')" 0`, "3")
	}
	same(t, "the first member", dial(t, first.p), asked, want)
}
