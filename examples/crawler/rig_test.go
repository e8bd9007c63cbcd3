package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// rig is a vigil server, a site and a crawler on one clock.
type rig struct {
	t     *testing.T
	clock *testClock
	addr  string
	*Crawler

	mu    sync.Mutex
	found map[string][]Found // guarded by mu: what was published, by id
}

// newRig starts a server in memory, and web serves every host.
func newRig(t *testing.T, clock *testClock, web http.Handler) *rig {
	t.Helper()
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; !errors.Is(err, server.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	host := httptest.NewServer(web)
	t.Cleanup(host.Close)
	r := &rig{t: t, clock: clock, addr: l.Addr().String(), found: make(map[string][]Found)}
	r.Crawler = r.worker(clientOf(host.Listener.Addr().String()))
	return r
}

// worker is a crawler of its own, with a connection of its own, as another
// process would have.
func (r *rig) worker(web *http.Client) *Crawler {
	c := &Crawler{Config: DefaultConfig(), Clock: r.clock, HTTP: web, Log: slog.New(slog.DiscardHandler)}
	c.Step, c.Lease, c.Timeout = time.Minute, 90*time.Second, time.Minute
	c.Redis = redis.NewClient(&redis.Options{Addr: r.addr, MaxRetries: -1})
	r.t.Cleanup(func() { c.Redis.Close() })
	return c
}

// listen notes what is published, until the returned function is called.
func (r *rig) listen(ctx context.Context) (stop func()) {
	r.t.Helper()
	sub := r.Redis.Subscribe(ctx, r.channel())
	if _, err := sub.Receive(ctx); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // ends when the subscription is closed
		defer close(ended)
		for m := range sub.Channel(redis.WithChannelSize(10000)) {
			var it Found
			if err := json.Unmarshal([]byte(m.Payload), &it); err != nil {
				r.t.Errorf("published %q: %v", m.Payload, err)
				continue
			}
			r.mu.Lock()
			r.found[it.ID] = append(r.found[it.ID], it)
			r.mu.Unlock()
		}
	}()
	return func() { sub.Close(); <-ended }
}

// published is how many different items were published so far.
func (r *rig) published() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.found)
}

// tick lets all workers take a turn at once, then moves the clock to the begin
// of another step.
func (r *rig) tick(ctx context.Context, workers []*Crawler) (sum Turn) {
	r.t.Helper()
	next := r.clock.Now().Truncate(r.Step).Add(r.Step)
	var wg sync.WaitGroup
	turns := make([]Turn, len(workers))
	for range workers {
		r.clock.enter()
	}
	for i, w := range workers {
		wg.Go(func() {
			defer r.clock.leave() // of one that crashes too
			var err error
			if turns[i], err = w.Turn(ctx); err != nil {
				r.t.Errorf("worker %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	r.clock.reach(next)
	for _, t := range turns {
		sum.Handed += t.Handed
		sum.Asked += t.Asked
		sum.New += t.New
		sum.Postponed += t.Postponed
	}
	return sum
}

// info is a number of SCHED.INFO, or of SCHED.NODE if a feed is named.
func (r *rig) info(field string, feed ...any) float64 {
	r.t.Helper()
	args := append([]any{"SCHED.INFO", r.schedule()}, feed...)
	if len(feed) > 0 {
		args[0] = "SCHED.NODE"
	}
	m, err := r.Redis.Do(context.Background(), args...).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	switch v := m.(map[any]any)[field].(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	default:
		r.t.Fatalf("%v: field %s is %v", args, field, v)
		return 0
	}
}

// closedFor is for how long no feed of a host is handed out.
func (r *rig) closedFor(host string) time.Duration {
	r.t.Helper()
	m, err := r.Redis.Do(context.Background(), "SCHED.GROUP", r.schedule(), host).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return time.Duration(m.(map[any]any)["open-in-ms"].(int64)) * time.Millisecond
}
