package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestEndedSessionsAreTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rdb, clock := start(t, "--notify-keyspace-events", "Ex")
	ready, ids, done := make(chan struct{}), make(chan string, 2), make(chan error, 1)
	go func() {
		done <- OnExpired(ctx, rdb, func() { close(ready) }, func(id string) { ids <- id })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	for key, ttl := range map[string]time.Duration{"session:s1": time.Minute, "other:x": time.Minute, "session:s2": 2 * time.Minute} {
		if err := rdb.Set(ctx, key, "v", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"s1", "s2"} {
		clock.advance(time.Minute)
		// Whoever asks for a key that is over makes it go at once; others go in the next rounds.
		rdb.Get(ctx, "session:"+want)
		select {
		case got := <-ids:
			if got != want {
				t.Errorf("told of %s, want %s", got, want)
			}
		case err := <-done:
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

func TestCallsOverTheLimitAreRefusedUntilTheWindowEnds(t *testing.T) {
	ctx := t.Context()
	rdb, clock := start(t)
	for i := range 5 {
		if ok, err := Allow(ctx, rdb, "ip", 3, time.Minute); ok != (i < 3) || err != nil {
			t.Errorf("call %d: %v, %v", i, ok, err)
		}
		clock.advance(10 * time.Second) // a refused call does not move the end
	}
	clock.advance(10 * time.Second)
	if ok, err := Allow(ctx, rdb, "ip", 3, time.Minute); !ok || err != nil {
		t.Errorf("in the next window: %v, %v", ok, err)
	}
}

func TestSlidingWindowForgetsMinuteByMinute(t *testing.T) {
	ctx := t.Context()
	rdb, clock := start(t)
	call := func(want bool) {
		t.Helper()
		if ok, err := AllowSliding(ctx, rdb, "ip", 3, clock.Now()); ok != want || err != nil {
			t.Errorf("at %v: %v, %v; want %v", clock.Now(), ok, err, want)
		}
	}
	call(true) // minute 20
	clock.advance(4 * time.Minute)
	call(true) // 24
	call(true)
	call(false)
	clock.advance(time.Minute) // the first is five minutes old, those of 24 count, the refused one too
	call(false)
	clock.advance(4 * time.Minute)
	call(true)
	clock.advance(time.Hour)
	if n, err := rdb.Exists(ctx, "rate:ip:2026031415").Result(); n != 0 || err != nil {
		t.Errorf("the counters of the hour stay: %d, %v", n, err)
	}
}

func TestSlidingWindowWorksFromTheFirstMinuteOfAnHour(t *testing.T) {
	ctx := t.Context()
	rdb, clock := start(t)
	clock.advance(40 * time.Minute) // 16:00
	for i := range 3 {
		if ok, err := AllowSliding(ctx, rdb, "ip", 2, clock.Now()); ok != (i < 2) || err != nil {
			t.Errorf("call %d: %v, %v", i, ok, err)
		}
	}
}

func TestCopyTakesEveryTypeWithItsExpiry(t *testing.T) {
	ctx := t.Context()
	from, _ := start(t)
	to, clock := start(t)
	_, err := from.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "session:s1", "data", time.Minute)
		p.Set(ctx, "session:s2", "for ever", 0)
		p.HSet(ctx, "session:h", "a", 1, "b", 2)
		p.HPExpire(ctx, "session:h", time.Minute, "a")
		p.RPush(ctx, "session:l", "x", "y")
		p.PFAdd(ctx, "session:p", "/")
		p.BFAdd(ctx, "session:b", "/")
		p.Set(ctx, "other", "stays", 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if refused, err := Copy(ctx, from, to, "session:*"); len(refused) > 0 || err != nil {
		t.Fatalf("refused %v, %v", refused, err)
	}
	if n := to.DBSize(ctx).Val(); n != 6 {
		t.Errorf("%d keys were copied, want 6", n)
	}
	clock.advance(time.Minute)
	got := fmt.Sprintf("%v, %v, %v, %v, %v, %v", to.Exists(ctx, "session:s1").Val(), to.Get(ctx, "session:s2").Val(), to.HGetAll(ctx, "session:h").Val(),
		to.LRange(ctx, "session:l", 0, -1).Val(), to.PFCount(ctx, "session:p").Val(), to.BFExists(ctx, "session:b", "/").Val())
	if want := "0, for ever, map[b:2], [x y], 1, true"; got != want {
		t.Errorf("a minute later: %s; want %s", got, want)
	}
}
