package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

func main() {
	addr := flag.String("addr", "", "address of a server; without it, one in memory is started")
	jobs := flag.Int("jobs", 2000, "jobs to do, at least 1")
	workers := flag.Int("workers", 8, "workers, at least 1")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *addr, max(*jobs, 1), max(*workers, 1)); err != nil {
		fmt.Fprintln(os.Stderr, "jobqueue:", err)
		os.Exit(1)
	}
}

// run does jobs: one in ten fails when it is first tried and one in a hundred
// always, until none is open.
func run(ctx context.Context, w io.Writer, addr string, jobs, workers int) (err error) {
	if addr == "" {
		var stop func() error
		if addr, stop, err = startServer(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, PoolSize: workers + 2})
	defer rdb.Close()
	q := &Queue{Redis: rdb, Prefix: "example:jobqueue", Lease: 200 * time.Millisecond, Tries: 3, Batch: 10, Wait: 50 * time.Millisecond}
	if err := rdb.Del(ctx, q.jobs(), q.later(), q.dead()).Err(); err != nil {
		return err
	}
	if err := q.Open(ctx); err != nil {
		return err
	}
	if err := fill(ctx, q, jobs); err != nil {
		return err
	}
	start, tries := time.Now(), work(ctx, q, jobs, workers)
	counts, err := q.Counts(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d workers did %d jobs with %d tries in %.1f s; %d jobs were given up, %d are open\n",
		workers, int64(jobs)-counts.Dead, tries, time.Since(start).Seconds(), counts.Dead, counts.Open+counts.Later)
	return nil
}

// fill adds jobs, one in ten of them for later.
func fill(ctx context.Context, q *Queue, jobs int) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range jobs {
		kind := "mail"
		switch n := rng.IntN(100); {
		case n == 0:
			kind = "mail to nowhere"
		case n <= 10:
			kind = "mail to a slow host"
		}
		var err error
		if body := fmt.Sprintf("user-%d@example.org", i); i%10 == 0 {
			err = q.AddLater(ctx, "", kind, body, 300*time.Millisecond)
		} else {
			_, err = q.Add(ctx, kind, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// work runs workers until every job was done or given up, and returns how often jobs
// were tried.
func work(ctx context.Context, q *Queue, jobs, workers int) int64 {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tries atomic.Int64
	var open sync.Map // the bodies of jobs that failed once
	handle := func(_ context.Context, j Job) error {
		tries.Add(1)
		_, again := open.LoadOrStore(j.Body, true)
		if j.Kind == "mail to nowhere" || j.Kind == "mail to a slow host" && !again {
			return errors.New("no answer")
		}
		return nil
	}
	var running sync.WaitGroup
	for i := range workers {
		w := &Worker{Queue: q, Name: fmt.Sprint("worker-", i), Handle: handle, Log: slog.New(slog.DiscardHandler)}
		running.Go(func() { w.Run(ctx) }) // ends with cancel
	}
	for c, err := q.Counts(ctx); err == nil && c.Open+c.Later > 0; c, err = q.Counts(ctx) {
		time.Sleep(q.Wait)
	}
	cancel()
	running.Wait()
	return tries.Load()
}

// startServer starts a server in memory on a free loopback port.
func startServer() (addr string, stop func() error, err error) {
	return startServerAt(server.SystemClock{})
}

func startServerAt(clock server.Clock) (addr string, stop func() error, err error) {
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1, Clock: clock})
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, srv.Close(context.Background()))
	}
	served := make(chan error, 1)          // of capacity 1: Serve returns once
	go func() { served <- srv.Serve(l) }() // ends with srv.Close
	return l.Addr().String(), func() error {
		err := srv.Close(context.Background())
		if e := <-served; !errors.Is(e, server.ErrClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}
