package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// Worker does jobs of a queue. Its name is that of its consumer: one that starts again
// with the same name finds its jobs when their lease is over, as others do.
type Worker struct {
	*Queue
	Name   string
	Handle func(context.Context, Job) error // its context ends with the lease
	Log    *slog.Logger
}

// Run takes turns until the context ends, which it notices after Wait at the latest.
// Errors of the server are logged, and the worker tries again after Wait.
func (w *Worker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := w.Turn(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		w.Log.Error("turn", "worker", w.Name, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(w.Wait):
		}
	}
}

// Turn opens jobs that are due, takes over jobs whose lease is over, waits for new ones
// if there was none of these, and does what it has got. It returns how many jobs it
// did. When the context ends, jobs that were not begun are done by others after Lease.
func (w *Worker) Turn(ctx context.Context) (done int, err error) {
	if _, err := w.Release(ctx); err != nil {
		return 0, fmt.Errorf("release jobs: %w", err)
	}
	jobs, err := w.takeOver(ctx)
	if err != nil {
		return 0, fmt.Errorf("take over jobs: %w", err)
	}
	if len(jobs) == 0 {
		if jobs, err = w.take(ctx); err != nil {
			return 0, fmt.Errorf("take jobs: %w", err)
		}
	}
	leased, cancel := context.WithTimeout(ctx, w.Lease)
	defer cancel()
	for _, j := range jobs {
		if leased.Err() != nil {
			return done, ctx.Err()
		}
		if err := w.try(leased, j); err != nil {
			w.Log.Warn("job failed", "worker", w.Name, "job", j.ID, "kind", j.Kind, "error", err)
			continue
		}
		if err := w.done(context.WithoutCancel(ctx), j.ID); err != nil {
			return done, fmt.Errorf("finish job %s: %w", j.ID, err)
		}
		done++
	}
	return done, nil
}

// try runs a job. One that panics has failed.
func (w *Worker) try(ctx context.Context, j Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return w.Handle(ctx, j)
}

// take waits for jobs that no worker has had.
func (w *Worker) take(ctx context.Context) (jobs []Job, err error) {
	streams, err := w.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: w.Name,
		Streams: []string{w.jobs(), ">"}, Count: w.Batch, Block: w.Wait}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	for _, s := range streams {
		for _, m := range s.Messages {
			jobs = append(jobs, jobOf(m))
		}
	}
	return jobs, err
}

// takeOver claims jobs whose lease is over, and buries those that were tried often
// enough. Of several workers that find a job here one gets it: claiming it
// makes it young again.
func (w *Worker) takeOver(ctx context.Context) (jobs []Job, err error) {
	old, err := w.Redis.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: w.jobs(), Group: group,
		Idle: w.Lease, Start: "-", End: "+", Count: w.Batch}).Result()
	if err != nil {
		return nil, err
	}
	for _, p := range old {
		claimed, err := w.Redis.XClaim(ctx, &redis.XClaimArgs{Stream: w.jobs(), Group: group, Consumer: w.Name,
			MinIdle: w.Lease, Messages: []string{p.ID}}).Result()
		if err != nil {
			return jobs, err
		}
		for _, m := range claimed {
			if p.RetryCount < w.Tries {
				jobs = append(jobs, jobOf(m))
				continue
			}
			if err := w.bury(ctx, jobOf(m), p.RetryCount); err != nil {
				return jobs, fmt.Errorf("bury %s: %w", m.ID, err)
			}
		}
	}
	return jobs, nil
}
