//go:build rediscli

package main

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// replicationField is a field of INFO replication.
func (c *client) replicationField(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.SplitSeq(c.do(t, "INFO replication"), "\n") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// The recipe of docs/migration.md: clients write to a Redis until its writes are paused, and vigil, which is killed meanwhile, has all of it.
func TestMoveFromRedisWithoutAStop(t *testing.T) {
	redis, host, port := redisToMove(t)
	wantReply(t, redis, "CONFIG SET requirepass secret masterauth secret", "OK")
	wantReply(t, redis, "AUTH secret", "OK")
	dir := t.TempDir()
	args := []string{"--dir", dir, "--masterauth", "secret"}
	p := launch(t, args...)
	vigil := dial(t, p)
	wantReply(t, vigil, "SET own data", "OK")
	wantReply(t, vigil, fmt.Sprintf("REPLICAOF %s %s", host, port), "OK")

	written, done := 0, make(chan struct{})
	var writes sync.WaitGroup
	writer := dialAt(t, "tcp", net.JoinHostPort(host, port))
	wantReply(t, writer, "AUTH secret", "OK")
	writes.Go(func() { // ends when done is closed
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, call := range []string{"INCR n", "RPUSH many element", "XADD x * f v", "HINCRBY h count 1", "ZINCRBY z 1 a", `EVAL "redis.call('incr', KEYS[1]) return redis.call('append', KEYS[2], 'x')" 2 n s`} {
				writer.do(t, call)
			}
			written++
		}
	})
	equal := func() bool {
		return vigil.replicationField(t, "master_link_status") == "up" &&
			vigil.replicationField(t, "slave_repl_offset") == redis.replicationField(t, "master_repl_offset")
	}
	follows := func() bool { return vigil.replicationField(t, "master_link_status") == "up" }
	awaitReplica(t, p, "the link is up", follows)
	for range 3 { // a process that is killed goes on where it was
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.done
		p.done <- nil
		p = launch(t, append(args, "--replicaof", host, port)...)
		vigil = dial(t, p)
		awaitReplica(t, p, "the link is up", follows)
	}
	wantReply(t, redis, "CLIENT PAUSE 60000 WRITE", "OK")
	awaitReplica(t, p, "the offsets are equal", equal)
	asked := []string{"GET s", "GET n", "PEXPIRETIME e", "LLEN many", "LRANGE l 0 -1", "SCARD set", "ZRANGE z 0 -1 WITHSCORES", "HGET h count", "XLEN x", "XPENDING x g", "TYPE p", "DBSIZE"}
	want := redis.answers(t, asked)
	same(t, "vigil", vigil, asked, want)
	wantReply(t, vigil, "SET own data", "READONLY You can't write against a read only replica.")
	wantReply(t, vigil, "REPLICAOF NO ONE", "OK")
	wantReply(t, vigil, "SET own data", "OK")
	close(done)
	wantReply(t, redis, "CLIENT UNPAUSE", "OK")
	writes.Wait()
	if written == 0 {
		t.Error("nothing was written meanwhile")
	}
	if full := redis.do(t, "INFO stats"); !strings.Contains(full, "sync_full:1\r\n") {
		t.Errorf("the whole data was sent more than once: %s", full)
	}
}

// awaitReplica waits for what INFO says.
func awaitReplica(t *testing.T, p *process, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not within 60 s: %s\n%s", what, p.out)
		}
	}
}
