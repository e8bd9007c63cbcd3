package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// traffic is clients that read and write all the while, each with keys of its
// own besides the loaded ones. So each knows what every answer must be.
type traffic struct {
	clients sync.WaitGroup
	stop    chan struct{} // closed to end
	answers atomic.Int64
	mu      sync.Mutex
	wrong   error          // the first; guarded by mu
	counts  map[string]int // what the counters must be between changes; guarded by mu
}

const (
	trafficClients = 4
	ownCounters    = 30
)

func loadedKey(i int) string { return "loaded:" + strconv.Itoa(i) }

// startTraffic starts clients; loaded is the number of loaded keys, counts what
// earlier traffic has counted, which goes on.
func startTraffic(ctx context.Context, r *router, loaded int, counts map[string]int) *traffic {
	t := &traffic{stop: make(chan struct{}), counts: counts}
	for id := range trafficClients {
		t.clients.Go(func() { // ends with finish
			if err := t.client(ctx, r, id, loaded); err != nil {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.wrong = errors.Join(t.wrong, err)
			}
		})
	}
	return t
}

// finish ends the clients and returns the wrong answers they got.
func (t *traffic) finish() error {
	close(t.stop)
	t.clients.Wait()
	return t.wrong
}

// client counts, sets, deletes and reads until it is stopped.
func (t *traffic) client(ctx context.Context, r *router, id, loaded int) error {
	counters := t.begin(id)
	for step := 0; ; step++ {
		select {
		case <-t.stop:
			t.end(id, counters)
			return nil
		default:
		}
		i := step % ownCounters
		n, err := r.incr(ctx, counterKey(id, i))
		if err != nil {
			return err
		}
		if counters[i]++; n != int64(counters[i]) {
			return fmt.Errorf("INCR %s: got %d, want %d", counterKey(id, i), n, counters[i])
		}
		if err := blink(ctx, r, fmt.Sprintf("blink:%d:%d", id, i), strconv.Itoa(step)); err != nil {
			return err
		}
		key := loadedKey((step*trafficClients + id) % loaded)
		if value, err := r.get(ctx, key); err != nil || value != key {
			return fmt.Errorf("GET %s: got %q, %v", key, value, err)
		}
		t.answers.Add(6)
	}
}

func (t *traffic) begin(id int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	counters := make([]int, ownCounters)
	for i := range counters {
		counters[i] = t.counts[counterKey(id, i)]
	}
	return counters
}

func (t *traffic) end(id int, counters []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, n := range counters {
		if n > 0 {
			t.counts[counterKey(id, i)] = n
		}
	}
}

func counterKey(client, i int) string { return fmt.Sprintf("counter:%d:%d", client, i) }

// blink makes a key and deletes it, and reads it in both states.
func blink(ctx context.Context, r *router, key, value string) error {
	if err := r.set(ctx, key, value); err != nil {
		return fmt.Errorf("SET %s: %w", key, err)
	}
	if got, err := r.get(ctx, key); err != nil || got != value {
		return fmt.Errorf("GET %s: got %q, %v, want %q", key, got, err, value)
	}
	if err := r.del(ctx, key); err != nil {
		return fmt.Errorf("DEL %s: %w", key, err)
	}
	if got, err := r.get(ctx, key); !errors.Is(err, redis.Nil) {
		return fmt.Errorf("GET %s after DEL: got %q, %v", key, got, err)
	}
	return nil
}
