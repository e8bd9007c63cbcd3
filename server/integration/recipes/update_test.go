package recipes

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestNoUpdateIsLost(t *testing.T) {
	updates := map[string]func(context.Context, *redis.Client, string, func(string) string) error{"IFEQ": Update, "WATCH": UpdateWatched}
	for name, update := range updates {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			rdb, clock := start(t)
			if err := rdb.Set(ctx, "session:s1", "0", time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 25 {
						err := update(ctx, rdb, "s1", func(old string) string {
							n, _ := strconv.Atoi(old)
							return strconv.Itoa(n + 1)
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if got := rdb.Get(ctx, "session:s1").Val(); got != "200" {
				t.Errorf("after 200 updates: %s", got)
			}
			clock.advance(time.Minute)
			if err := update(ctx, rdb, "s1", func(old string) string { return old }); !errors.Is(err, redis.Nil) {
				t.Errorf("an update lengthened the session, or brought it back: %v", err)
			}
		})
	}
}

func TestLockIsHeldByOneAtATime(t *testing.T) {
	ctx := t.Context()
	rdb, _ := start(t)
	var inside, held atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for held.Load() < 20 {
				release, err := Lock(ctx, rdb, "cart", time.Minute)
				if errors.Is(err, ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				held.Add(1)
				inside.Add(-1)
				if still, err := release(ctx); !still || err != nil {
					t.Errorf("release: %v, %v", still, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestLockOfADeadProcessEndsAndIsNotReleasedByIt(t *testing.T) {
	ctx := t.Context()
	rdb, clock := start(t)
	late, err := Lock(ctx, rdb, "cart", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	clock.advance(time.Second)
	next, err := Lock(ctx, rdb, "cart", time.Second)
	if err != nil {
		t.Fatalf("after the first one's time: %v", err)
	}
	if still, err := late(ctx); still || err != nil {
		t.Errorf("the first one gave back what it no longer had: %v, %v", still, err)
	}
	if held, err := Unlock(ctx, rdb, "cart", "not the token"); held || err != nil {
		t.Errorf("unlocked with a wrong token: %v, %v", held, err)
	}
	if still, err := next(ctx); !still || err != nil {
		t.Errorf("the second lost its lock: %v, %v", still, err)
	}
	if err := rdb.Set(ctx, "lock:cart", "token", time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if held, err := Unlock(ctx, rdb, "cart", "token"); held != want || err != nil {
			t.Errorf("unlock by WATCH: %v, %v; want %v", held, err, want)
		}
	}
}
