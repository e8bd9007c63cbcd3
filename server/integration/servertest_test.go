package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server/servertest"
)

// The functions that follow are what a program might have, and the tests those of that program.

// login begins a session.
func login(ctx context.Context, db *redis.Client, user string) error {
	return db.Set(ctx, "session:"+user, "active", 30*time.Minute).Err()
}

func TestSessionOfAProgramExpires(t *testing.T) {
	t.Parallel()
	vigil := servertest.Run(t)
	db := redis.NewClient(&redis.Options{Dialer: vigil.Dialer})
	defer db.Close()
	if err := login(t.Context(), db, "robin"); err != nil {
		t.Fatal(err)
	}
	vigil.CheckGet("session:robin", "active")
	vigil.CheckTTL("session:robin", 30*time.Minute)
	vigil.FastForward(30 * time.Minute)
	if err := db.Get(t.Context(), "session:robin").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("the session outlives its time: %v", err)
	}
}

// next takes a job, or has none within a minute.
func next(ctx context.Context, db *redis.Client) (string, error) {
	job, err := db.BLPop(ctx, time.Minute, "jobs").Result()
	if err != nil {
		return "", err
	}
	return job[1], nil
}

func TestWorkerOfAProgramWaits(t *testing.T) {
	t.Parallel()
	vigil := servertest.Run(t)
	db := redis.NewClient(&redis.Options{Addr: vigil.Addr()}) // by a socket, as well
	defer db.Close()
	type result struct {
		job string
		err error
	}
	results := make(chan result)
	worker := func() {
		job, err := next(t.Context(), db)
		results <- result{job, err}
	}
	go worker()
	vigil.AwaitBlocked(1)
	vigil.Push("jobs", "mail")
	if r := <-results; r.job != "mail" || r.err != nil {
		t.Errorf("the worker got %q, %v", r.job, r.err)
	}
	go worker()
	vigil.AwaitBlocked(1)
	vigil.FastForward(time.Minute)
	if r := <-results; !errors.Is(r.err, redis.Nil) {
		t.Errorf("after a minute the worker got %q, %v", r.job, r.err)
	}
}

func TestGroupOfConsumersOfAProgramClaimsWhatIsIdle(t *testing.T) {
	t.Parallel()
	vigil := servertest.Run(t)
	db := redis.NewClient(&redis.Options{Dialer: vigil.Dialer, Protocol: 3})
	defer db.Close()
	ctx := t.Context()
	vigil.XAdd("events", "1-1", "what", "click")
	if err := db.XGroupCreate(ctx, "events", "g", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := db.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "lost", Streams: []string{"events", ">"}}).Err(); err != nil {
		t.Fatal(err)
	}
	claim := &redis.XAutoClaimArgs{Stream: "events", Group: "g", Consumer: "heir", MinIdle: time.Minute, Start: "0"}
	for _, want := range []int{0, 1} {
		messages, _, err := db.XAutoClaim(ctx, claim).Result()
		if err != nil || len(messages) != want {
			t.Errorf("claimed %v (%v), want %d", messages, err, want)
		}
		vigil.FastForward(time.Minute)
	}
}
