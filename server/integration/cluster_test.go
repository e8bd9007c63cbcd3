package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startMasters runs some servers, which are groups by themselves and have met nobody, and returns their
// addresses.
func startMasters(t *testing.T, n int) (addrs []string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "vigil-server")
	build := exec.Command("go", "build", "-o", binary, "./cmd/vigil-server")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0") // as for all other tests: it is compiled already
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for range n {
		port := freePort(t)
		addrs = append(addrs, "127.0.0.1:"+strconv.Itoa(port))
		cmd := exec.Command(binary, "--port", strconv.Itoa(port), "--dir", t.TempDir(), "--cluster-enabled", "yes", "--cluster-secret", "a secret of the tests",
			"--loglevel", "warning")
		var log strings.Builder
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil || t.Failed() {
				t.Errorf("the server at %d: %v\n%s", port, err, &log)
			}
		})
	}
	return addrs
}

// freePort returns a port that is free, and so is the one for other members.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10000 + rand.IntN(12000)
		one, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		two, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+10000))
		one.Close()
		if err == nil {
			two.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// eventually repeats what fails as long as a cluster is about to form.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// formCluster introduces the servers to each other and divides the slots among them, as programs do with servers of Redis.
func formCluster(ctx context.Context, t *testing.T, addrs []string) *redis.ClusterClient {
	t.Helper()
	host, port, _ := net.SplitHostPort(addrs[0])
	for i, addr := range addrs {
		c := client(t, addr, 3)
		eventually(t, "PING "+addr, func() error { return c.Ping(ctx).Err() })
		eventually(t, "CLUSTER MEET", func() error { return c.ClusterMeet(ctx, host, port).Err() })
		first, last := i*16384/len(addrs), (i+1)*16384/len(addrs)-1
		eventually(t, "CLUSTER ADDSLOTSRANGE", func() error { return c.ClusterAddSlotsRange(ctx, first, last).Err() })
	}
	for _, addr := range addrs {
		c := client(t, addr, 3)
		eventually(t, "the cluster forms", func() error {
			info, err := c.ClusterInfo(ctx).Result()
			if err == nil && !strings.Contains(info, "cluster_state:ok") {
				err = fmt.Errorf("%s says %s", addr, info)
			}
			return err
		})
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs[:1]})
	t.Cleanup(func() { c.Close() })
	return c
}

// A program that uses go-redis's cluster client makes a cluster of three masters by the commands of Redis, and
// each has its share of the keys.
func TestClusterClientUsesThreeMasters(t *testing.T) {
	ctx := context.Background()
	addrs := startMasters(t, 3)
	c := formCluster(ctx, t, addrs)

	const n = 600
	var writers sync.WaitGroup
	for k := range 4 {
		writers.Go(func() {
			for i := k; i < n; i += 4 {
				if err := c.Set(ctx, fmt.Sprint("key:", i), i, 0).Err(); err != nil {
					t.Errorf("SET %d: %v", i, err)
				}
			}
		})
	}
	writers.Wait()
	pipe := c.Pipeline()
	for i := range n {
		pipe.Get(ctx, fmt.Sprint("key:", i))
	}
	got, err := pipe.Exec(ctx)
	if err != nil || len(got) != n {
		t.Fatalf("a pipeline of %d: %d replies, %v", n, len(got), err)
	}
	for i, cmd := range got {
		if text := cmd.(*redis.StringCmd).Val(); text != strconv.Itoa(i) {
			t.Errorf("key %d: %q", i, text)
		}
	}
	var mu sync.Mutex
	total, masters := int64(0), 0
	if err := c.ForEachMaster(ctx, func(ctx context.Context, m *redis.Client) error {
		size, err := m.DBSize(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		if total, masters = total+size, masters+1; size < n/6 {
			t.Errorf("%v has %d of %d keys", m, size, n)
		}
		return err
	}); err != nil || total != n || masters != len(addrs) {
		t.Errorf("%d keys on %d masters, %v", total, masters, err)
	}
	if err := c.MSet(ctx, "a", 1, "b", 2).Err(); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Errorf("MSET of two slots: %v", err)
	}
	if _, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "{user:1}:a", 1, 0)
		p.Incr(ctx, "{user:1}:a")
		return nil
	}); err != nil {
		t.Errorf("a transaction: %v", err)
	}
	sharded := c.SSubscribe(ctx, "news")
	defer sharded.Close()
	if _, err := sharded.Receive(ctx); err != nil {
		t.Fatalf("SSUBSCRIBE: %v", err)
	}
	if reached, err := c.SPublish(ctx, "news", "hello").Result(); err != nil || reached != 1 {
		t.Errorf("SPUBLISH: %d, %v", reached, err)
	}
	if msg, err := sharded.ReceiveMessage(ctx); err != nil || msg.Payload != "hello" {
		t.Errorf("a message of a shard channel: %v, %v", msg, err)
	}
}
