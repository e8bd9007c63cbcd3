package recipes

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestSessionLivesAsLongAsItIsUsed(t *testing.T) {
	ctx := t.Context()
	rdb, clock := start(t)
	if err := rdb.Set(ctx, "session:s1", "robin", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		clock.advance(59 * time.Second)
		if got, err := Load(ctx, rdb, "s1", time.Minute); got != "robin" || err != nil {
			t.Fatalf("after another 59 s: %q, %v", got, err)
		}
	}
	clock.advance(time.Minute)
	if got, err := Load(ctx, rdb, "s1", time.Minute); !errors.Is(err, redis.Nil) {
		t.Errorf("a minute unused: %q, %v, want none", got, err)
	}
}

func TestSessionsOfAUserEndByThemselves(t *testing.T) {
	ctx := t.Context()
	rdb, clock := start(t)
	if err := errors.Join(SignIn(ctx, rdb, "robin", "s1", "phone", time.Minute), SignIn(ctx, rdb, "robin", "s2", "desk", time.Hour)); err != nil {
		t.Fatal(err)
	}
	clock.advance(30 * time.Second)
	if err := Renew(ctx, rdb, "robin", "s1", time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		pass time.Duration
		want string
	}{{59 * time.Second, "map[s1:phone s2:desk]"}, {time.Second, "map[s2:desk]"}, {time.Hour, "map[]"}} {
		clock.advance(step.pass)
		if got, err := rdb.HGetAll(ctx, "sessions:robin").Result(); fmt.Sprint(got) != step.want || err != nil {
			t.Errorf("%v later: %v, %v; want %s", step.pass, got, err, step.want)
		}
	}
	if n, err := rdb.Exists(ctx, "sessions:robin").Result(); n != 0 || err != nil {
		t.Errorf("the empty hash stays: %d, %v", n, err)
	}
}

// TestSignOutEverywhereLeavesNoSession signs in and out at the same time, many
// times: a session is in the user's list or it is gone.
func TestSignOutEverywhereLeavesNoSession(t *testing.T) {
	ctx := t.Context()
	rdb, _ := start(t)
	var wg sync.WaitGroup
	for i := range 50 {
		id := fmt.Sprint("s", i)
		wg.Go(func() {
			if err := errors.Join(SignIn(ctx, rdb, "robin", id, "phone", time.Hour), SignOutEverywhere(ctx, rdb, "robin")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range []string{"a", "b"} {
		if err := errors.Join(rdb.Set(ctx, "session:"+id, "data", time.Hour).Err(), SignIn(ctx, rdb, "robin", id, "x", time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	rdb.Set(ctx, "session:c", "of somebody else", time.Hour)
	if err := SignOutEverywhere(ctx, rdb, "robin"); err != nil {
		t.Fatal(err)
	}
	if keys, err := rdb.Keys(ctx, "*").Result(); fmt.Sprint(keys) != "[session:c]" || err != nil {
		t.Errorf("left: %v, %v; want the other user's session", keys, err)
	}
}

func TestNoMoreSessionsThanAllowed(t *testing.T) {
	const limit = 3
	ctx := t.Context()
	rdb, clock := start(t)
	var wg sync.WaitGroup
	var in, out atomic.Int32
	for i := range 20 {
		wg.Go(func() {
			switch err := SignInWithin(ctx, rdb, limit, "robin", fmt.Sprint("s", i), "phone", time.Minute); {
			case err == nil:
				in.Add(1)
			case errors.Is(err, ErrTooManySessions):
				out.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if in.Load() != limit || out.Load() != 20-limit {
		t.Errorf("%d signed in and %d were refused, want %d and %d", in.Load(), out.Load(), limit, 20-limit)
	}
	clock.advance(time.Minute)
	if err := SignInWithin(ctx, rdb, limit, "robin", "later", "phone", time.Minute); err != nil {
		t.Errorf("after the others ended: %v", err)
	}
}

func TestForgottenVisitorLeavesNoKey(t *testing.T) {
	ctx := t.Context()
	rdb, _ := start(t)
	for _, id := range []string{"s1", "s2"} {
		_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "session:"+id, "data", time.Hour)
			p.BFAdd(ctx, "page-bloom:"+id, "/")
			p.BFAdd(ctx, "notification:"+id, "text")
			p.PFAdd(ctx, "sess-page-hll:"+id, "/")
			p.Incr(ctx, "total-pages:"+id)
			p.SetBit(ctx, "activity:"+id, 7, 1)
			p.LPush(ctx, "async:pageview:"+id+":r1", "{}")
			p.HSet(ctx, "sessions:robin", id, "phone")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := Forget(ctx, rdb, "robin", "s1"); err != nil {
		t.Fatal(err)
	}
	if keys, err := rdb.Keys(ctx, "*s1*").Result(); len(keys) > 0 || err != nil {
		t.Errorf("of the forgotten session: %v, %v", keys, err)
	}
	if keys, err := rdb.Keys(ctx, "*:s2*").Result(); len(keys) != 7 || err != nil {
		t.Errorf("of the other session: %v, %v; want 7 keys", keys, err)
	}
	if fields, err := rdb.HKeys(ctx, "sessions:robin").Result(); fmt.Sprint(fields) != "[s2]" || err != nil {
		t.Errorf("sessions of the user: %v, %v", fields, err)
	}
}
