package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A hold is a key with the name of a host and an end: while it exists no worker sends a request
// there. It is made before each request, for HostDelay or the host's Crawl-delay, and after a
// request to come back later, for as long as was asked. It ends by itself, so a worker that
// crashes delays no other.

// reserve takes a host for one request, and holds it for a delay after that. It
// waits up to Patience, and returns false if the host is held for longer.
func (c *Crawler) reserve(ctx context.Context, host string, delay time.Duration) (bool, error) {
	for left := c.Patience; ; {
		ok, err := c.Redis.SetNX(ctx, c.holdKey(host), 1, delay).Result()
		if ok || err != nil {
			return ok, err
		}
		wait, err := c.Redis.PTTL(ctx, c.holdKey(host)).Result()
		if err != nil {
			return false, err
		}
		// A hold that ended in between has a negative PTTL: try at once.
		if wait = max(wait, time.Millisecond); wait > left {
			return false, nil
		}
		left -= wait
		if err := c.Clock.Sleep(ctx, wait); err != nil {
			return false, err
		}
	}
}

// backOff holds a host for as long as it asked, or if it did not say for
// Backoff, twice that after the second error in a row, and so on.
func (c *Crawler) backOff(ctx context.Context, host string, asked time.Duration) error {
	key := c.errorsKey(host)
	var count *redis.IntCmd
	_, err := c.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		count = p.Incr(ctx, key)
		p.PExpire(ctx, key, 2*c.MaxHold)
		return nil
	})
	if err != nil {
		return fmt.Errorf("count errors of %s: %w", host, err)
	}
	hold := asked
	if hold <= 0 {
		hold = c.Backoff << min(count.Val()-1, 20)
	}
	hold = min(max(hold, c.HostDelay), c.MaxHold)
	return c.Redis.Set(ctx, c.holdKey(host), 1, hold).Err()
}
