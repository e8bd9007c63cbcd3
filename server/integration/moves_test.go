package integration

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// load is a program that uses a cluster by go-redis. Every error, and every value that is not the last one that was
// acknowledged, counts.
type load struct {
	t       *testing.T
	c       *redis.ClusterClient
	stop    atomic.Bool
	clients sync.WaitGroup
	calls   atomic.Int64
	longest atomic.Int64 // of a call, in ns
}

func (l *load) failed(what string, err error) {
	if err != nil && !l.stop.Load() {
		l.t.Errorf("%s: %v", what, err)
		l.stop.Store(true)
	}
}

// timed notes how long a call took.
func (l *load) timed(call func()) {
	start := time.Now()
	call()
	l.calls.Add(1)
	for took := int64(time.Since(start)); ; {
		if most := l.longest.Load(); took <= most || l.longest.CompareAndSwap(most, took) {
			return
		}
	}
}

func (l *load) begin(ctx context.Context) {
	for k := range 6 {
		l.clients.Go(func() { l.run(ctx, k) })
	}
	l.t.Cleanup(l.end)
}

func (l *load) end() {
	l.stop.Store(true)
	l.clients.Wait()
}

// run writes and reads keys of its own: one by one, in pipelines, in transactions, by a script, and elements that are
// waited for.
func (l *load) run(ctx context.Context, k int) {
	script := redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	for i := int64(1); !l.stop.Load(); i++ {
		for n := range 20 {
			key := fmt.Sprintf("load:%d:%d", k, n)
			l.timed(func() {
				got, err := l.c.Incr(ctx, key).Result()
				l.failed("INCR "+key, err)
				if err == nil && got != i {
					l.failed("INCR "+key, fmt.Errorf("got %d, want %d", got, i))
				}
			})
		}
		l.timed(func() {
			pipe := l.c.Pipeline()
			for n := range 20 {
				pipe.Get(ctx, fmt.Sprintf("load:%d:%d", k, n))
			}
			got, err := pipe.Exec(ctx)
			l.failed("a pipeline", err)
			for _, cmd := range got {
				if text := cmd.(*redis.StringCmd).Val(); err == nil && text != fmt.Sprint(i) {
					l.failed("a pipeline", fmt.Errorf("%v", cmd))
				}
			}
		})
		tag := fmt.Sprintf("{tx:%d:%d}", k, i%50)
		l.timed(func() {
			_, err := l.c.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, tag+"a")
				p.Incr(ctx, tag+"b")
				return nil
			})
			l.failed("a transaction", err)
		})
		l.timed(func() { l.failed("a script", script.Run(ctx, l.c, []string{tag + "c"}, 2).Err()) })
		l.timed(func() {
			l.failed("LPUSH", l.c.LPush(ctx, tag+"list", i).Err())
			got, err := l.c.BLPop(ctx, 5*time.Second, tag+"list").Result()
			l.failed("BLPOP", err)
			if err == nil && got[1] != fmt.Sprint(i) {
				l.failed("BLPOP", fmt.Errorf("got %v, want %d", got, i))
			}
		})
	}
}

// A cluster of three masters gets a fourth one, which gets its share of the slots and is emptied again. A program that
// uses go-redis's cluster client meanwhile sees no error.
func TestClusterGrowsAndShrinksUnderLoad(t *testing.T) {
	ctx := context.Background()
	addrs := startMasters(t, 4)
	c := formCluster(ctx, t, addrs[:3])
	fourth := client(t, addrs[3], 3)
	host, port, _ := net.SplitHostPort(addrs[0])
	eventually(t, "CLUSTER MEET", func() error { return fourth.ClusterMeet(ctx, host, port).Err() })
	eventually(t, "the fourth master knows the others", func() error {
		info, err := fourth.ClusterInfo(ctx).Result()
		if err == nil && !strings.Contains(info, "cluster_state:ok") {
			err = fmt.Errorf("it says %s", info)
		}
		return err
	})
	id, err := fourth.Do(ctx, "CLUSTER", "MYID").Text()
	if err != nil {
		t.Fatal(err)
	}
	l := &load{t: t, c: c}
	l.begin(ctx)
	first := client(t, addrs[0], 3)
	for _, step := range []struct {
		weight string
		slots  int
	}{{"1", 4096}, {"0", 0}, {"1", 4096}} {
		eventually(t, "VIGIL.CLUSTER REBALANCE", func() error {
			return first.Do(ctx, "VIGIL.CLUSTER", "REBALANCE", "WEIGHT", id, step.weight).Err()
		})
		begun := time.Now()
		eventually(t, "the slots move", func() error {
			all, err := first.ClusterShards(ctx).Result()
			n := 0
			for _, shard := range all {
				if shard.Nodes[0].ID != id {
					continue
				}
				for _, r := range shard.Slots {
					n += int(r.End - r.Start + 1)
				}
			}
			if err == nil && n != step.slots {
				err = fmt.Errorf("the fourth master has %d slots, want %d", n, step.slots)
			}
			return err
		})
		t.Logf("with the weight %s it has %d slots after %v", step.weight, step.slots, time.Since(begun).Round(time.Millisecond))
		want := l.calls.Load() + 500
		eventually(t, "the program goes on", func() error {
			if n := l.calls.Load(); n < want && !l.stop.Load() {
				return fmt.Errorf("%d calls of %d", n, want)
			}
			return nil
		})
	}
	l.end()
	t.Logf("%d calls, the longest took %v", l.calls.Load(), time.Duration(l.longest.Load()))
}
