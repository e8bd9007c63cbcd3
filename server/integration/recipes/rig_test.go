package recipes

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// testClock stands still until a test moves it. What is due then runs before
// advance returns.
type testClock struct {
	mu     sync.Mutex
	now    time.Time       // guarded by mu
	timers map[*timer]bool // guarded by mu
}

type timer struct {
	at time.Time
	f  func()
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *testClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers[t] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []*timer
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		t.f()
	}
}

// start runs a server in memory whose time is the clock's, and connects to it.
func start(t *testing.T, directives ...string) (*redis.Client, *testClock) {
	t.Helper()
	config, err := conf.Load(directives, nil)
	if err != nil {
		t.Fatal(err)
	}
	clock := &testClock{now: time.Date(2026, 3, 14, 15, 20, 0, 0, time.UTC), timers: map[*timer]bool{}}
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1, Clock: clock, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	rdb := redis.NewClient(&redis.Options{Addr: l.Addr().String(), MaxRetries: -1})
	t.Cleanup(func() {
		rdb.Close()
		if err := srv.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; !errors.Is(err, server.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return rdb, clock
}
