//go:build rediscli

package main

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// redisToMove starts a Redis with a value of each kind.
func redisToMove(t *testing.T) (redis *client, host, port string) {
	t.Helper()
	exe, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := startRedis(t, exe, t.TempDir())
	redis = dialAt(t, "tcp", addr)
	wantReply(t, redis, "CONFIG SET repl-diskless-sync-delay 0", "OK")
	for _, call := range []string{"SET s value", "SET e value PXAT 4102444800000", "RPUSH l a b c", "SADD set a 1 2", "ZADD z 1.5 a 2 b", "HSET h f v g w", "XADD x 1-1 f v",
		"XGROUP CREATE x g 0", "PFADD p a b", "SETBIT bits 100 1", "SELECT 3", "SET three 3", "SELECT 0"} {
		if got := redis.do(t, call); strings.HasPrefix(got, "ERR") {
			t.Fatalf("%s: %s", call, got)
		}
	}
	host, port, _ = net.SplitHostPort(addr)
	return redis, host, port
}

// asked are calls that show what redisToMove has made.
var asked = []string{"GET s", "PEXPIRETIME e", "LRANGE l 0 -1", "SCARD set", "ZRANGE z 0 -1 WITHSCORES", "HGET h g", "XRANGE x - +", "XPENDING x g", "TYPE p", "GETBIT bits 100", "DBSIZE"}

// answers are the replies to calls.
func (c *client) answers(t *testing.T, calls []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, call := range calls {
		all[call] = c.do(t, call)
	}
	return all
}

// The recipe of docs/migration.md: a group that runs follows a Redis, by another member when its leader is killed.
func TestMoveFromRedisIntoAGroupThatRuns(t *testing.T) {
	redis, host, port := redisToMove(t)
	g := newTrio(t)
	g.whole()
	leader := g.leader()
	awaitReplica(t, g.up[0], "the group knows its level", func() bool { // which takes the first seconds
		got, err := g.call(leader, fmt.Sprintf("REPLICAOF %s %s", host, port))
		return err == nil && got == "OK"
	})
	follower := func() int { // the member that has what the Redis has
		at := -1
		awaitReplica(t, g.up[0], "a member follows", func() bool {
			for i := range 3 {
				info, err := g.call(i, "INFO replication")
				if err == nil && strings.Contains(info, "master_port:"+port+"\r\n") && strings.Contains(info, "master_link_status:up") &&
					strings.Contains(info, "slave_repl_offset:"+redis.replicationField(t, "master_repl_offset")+"\r\n") {
					at = i
				}
			}
			return at >= 0
		})
		return at
	}
	leader = follower()
	g.up[leader].cmd.Process.Kill()
	g.up[leader].wait()
	redis.do(t, "APPEND s ' of the stream'")
	if next := follower(); next == leader {
		t.Errorf("member %d, which is killed, follows", next)
	}
	g.start(leader)
	g.await(leader)
	wantReply(t, redis, "CLIENT PAUSE 60000 WRITE", "OK")
	want := redis.answers(t, asked)
	leader = follower()
	for i := range 3 {
		for _, call := range asked {
			awaitReplica(t, g.up[0], fmt.Sprintf("member %d replies %s to %s", i, want[call], call), func() bool {
				got, err := g.call(i, call)
				return err == nil && got == want[call]
			})
		}
	}
	g.want(leader, "SET own data", "READONLY You can't write against a read only replica.")
	g.want(leader, "REPLICAOF NO ONE", "OK")
	g.want(leader, "SET own data", "OK")
	if full := redis.do(t, "INFO stats"); !strings.Contains(full, "sync_full:1\r\n") {
		t.Errorf("the whole data was sent more than once: %s", full)
	}
}

// The recipe of docs/migration.md: a server of vigil follows a Redis, and three have its data in the end.
func TestMoveFromRedisIntoAGroup(t *testing.T) {
	redis, host, port := redisToMove(t)
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
	want := redis.answers(t, asked)
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
