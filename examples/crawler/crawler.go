package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Clock is where a Crawler takes its time from. Leases and holds run on the
// server's clock; this one reads Retry-After dates and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits, or returns the error of the context when that ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// Config says how a Crawler goes about it. DefaultConfig has usable values.
type Config struct {
	Prefix    string        // of every key and of the channel
	Policy    string        // of the schedule, when it is made
	Step      time.Duration // of the schedule's clock: no feed is asked twice in one
	Lease     time.Duration // how long a worker may take for its batch
	Batch     int           // feeds that a worker takes at once
	Every     time.Duration // between two turns of a worker
	HostDelay time.Duration // between two requests to one host, if it does not ask for more
	RobotsFor time.Duration // how long a robots.txt is believed
	Patience  time.Duration // how long a worker waits between a robots.txt and the feed
	Backoff   time.Duration // how long a host is left alone after an error; doubles
	MaxHold   time.Duration // the longest pause for a host, regardless of what it asks for
	Timeout   time.Duration // of a request with its body
	MaxBody   int64         // bytes of a body, decompressed
	UserAgent string
}

// DefaultConfig asks no feed more than once in five minutes and no host more
// than once in two seconds.
func DefaultConfig() Config {
	return Config{Prefix: "crawl:", Policy: "index", Step: 5 * time.Minute, Lease: time.Minute, Batch: 1, Every: time.Second,
		HostDelay: 2 * time.Second, RobotsFor: 24 * time.Hour, Patience: 5 * time.Second, Backoff: time.Minute, MaxHold: 24 * time.Hour,
		Timeout: 20 * time.Second, MaxBody: 8 << 20, UserAgent: "vigil-crawler/0.1 (+https://github.com/vigildb/vigil)"}
}

// Crawler polls feeds. Any number of workers, in this process or in others,
// share one schedule: each calls Turn, or Run, which does it again and again.
//
// Each feed belongs to the group of its host, which has limits: one lease at a time, and
// HostDelay or the host's Crawl-delay after it. So no worker is given a feed of a host
// that must not be asked, and none waits for a host while a lease runs, but for the
// delay between a robots.txt and the feed. A host that asks to come later is held
// (SCHED.HOLD), and the feed given back; a worker that crashes delays its host until its
// lease ends.
type Crawler struct {
	Config
	Redis *redis.Client
	HTTP  *http.Client
	Clock Clock
	Log   *slog.Logger
}

// Turn says what a worker did.
type Turn struct {
	Handed     int // feeds that SCHED.NEXT handed out
	Asked      int // of those, feeds whose host answered
	New        int // items that were not known
	Postponed  int // feeds given back, as their hosts are to be asked later
	Disallowed int // feeds that robots.txt closes: they were removed
}

func (c *Crawler) schedule() string          { return c.Prefix + "feeds" }
func (c *Crawler) stateKey(f string) string  { return c.Prefix + "feed:" + f }
func (c *Crawler) seenKey(f string) string   { return c.Prefix + "seen:" + f }
func (c *Crawler) errorsKey(h string) string { return c.Prefix + "errors:" + h }
func (c *Crawler) robotsKey(o string) string { return c.Prefix + "robots:" + o }
func (c *Crawler) channel() string           { return c.Prefix + "new" }

// Add makes the schedule if there is none and adds feeds to it. Feeds that it
// has keep what was learnt of them. An item that is older than the time of Add
// is known from the first look on, but not new.
func (c *Crawler) Add(ctx context.Context, feeds []string) error {
	err := c.Redis.Do(ctx, "SCHED.CREATE", c.schedule(), "POLICY", c.Policy,
		"CLOCK", "WALL", c.Step.Milliseconds(), "LEASE", c.Lease.Milliseconds(), "GROUPBY", "HOST").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYKEY") {
		return fmt.Errorf("make the schedule: %w", err)
	}
	for _, feed := range feeds {
		if u, err := url.Parse(feed); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("feed %q is not an http address", feed)
		}
	}
	now := c.Clock.Now().UnixMilli()
	_, err = c.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, feed := range feeds {
			p.Do(ctx, "SCHED.LIMIT", c.schedule(), hostOf(feed), "REST", c.HostDelay.Milliseconds(), "CONCURRENCY", 1)
			p.Do(ctx, "SCHED.ADD", c.schedule(), feed)
			p.HSetNX(ctx, c.stateKey(feed), "added", now)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add feeds: %w", err)
	}
	return nil
}

// Run takes turns until the context ends. Errors of the server are logged: the
// worker tries again after Every.
func (c *Crawler) Run(ctx context.Context) {
	for ctx.Err() == nil {
		t, err := c.Turn(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.Log.Error("turn", "error", err)
		case t.Handed > 0:
			c.Log.Info("turn", "asked", t.Asked, "new", t.New, "postponed", t.Postponed)
		}
		if c.Clock.Sleep(ctx, c.Every) != nil {
			return
		}
	}
}

// Turn takes a batch of feeds and polls them one after the other. When the
// context ends it gives back the feeds that it did not ask. After an error of
// the server the others stay leased, and are handed out when that ends.
func (c *Crawler) Turn(ctx context.Context) (t Turn, err error) {
	feeds, err := c.Redis.Do(ctx, "SCHED.NEXT", c.schedule(), "COUNT", c.Batch).StringSlice()
	if err != nil {
		return t, fmt.Errorf("take feeds: %w", err)
	}
	t.Handed = len(feeds)
	for i, feed := range feeds {
		err := c.poll(ctx, feed, &t)
		if ctx.Err() != nil {
			return t, errors.Join(ctx.Err(), c.giveBack(ctx, feeds[i:]))
		}
		if err != nil {
			return t, fmt.Errorf("poll %s: %w", feed, err)
		}
	}
	return t, nil
}

// giveBack ends the leases of feeds that were not asked: their ages are as if
// they had never been handed out. One whose lease is over needs nothing.
func (c *Crawler) giveBack(ctx context.Context, feeds []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Timeout)
	defer cancel()
	_, err := c.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, feed := range feeds {
			p.Do(ctx, "SCHED.FAIL", c.schedule(), feed)
		}
		return nil
	})
	if isNotLeased(err) {
		return nil
	}
	return err
}

// poll asks one feed and records what it said.
func (c *Crawler) poll(ctx context.Context, feed string, t *Turn) error {
	switch p, err := c.permit(ctx, feed); {
	case err != nil:
		return err
	case p == postponed:
		t.Postponed++
		return c.giveBack(ctx, []string{feed})
	case p == disallowed:
		t.Disallowed++
		c.Log.Warn("closed by robots.txt", "feed", feed)
		return c.forget(ctx, feed)
	}
	before, err := c.state(ctx, feed)
	if err != nil {
		return err
	}
	got, err := c.fetch(ctx, feed, before)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // no answer at all
		c.Log.Warn("no answer", "feed", feed, "error", err)
		t.Postponed++
		return c.later(ctx, feed, 0)
	}
	t.Asked++
	switch got.verdict {
	case busy:
		t.Postponed++
		return c.later(ctx, feed, got.retry)
	case gone:
		c.Log.Warn("gone", "feed", feed)
		return c.forget(ctx, feed)
	}
	found, err := c.record(ctx, feed, before, got)
	t.New += found
	if errors.Is(err, errOvertaken) {
		return c.giveBack(ctx, []string{feed})
	}
	return err
}

// later gives a feed back whose host is to be left alone for as long as it asked.
func (c *Crawler) later(ctx context.Context, feed string, asked time.Duration) error {
	if err := c.backOff(ctx, hostOf(feed), asked); err != nil {
		return err
	}
	return c.giveBack(ctx, []string{feed})
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
	return c.hold(ctx, host, min(max(hold, c.HostDelay), c.MaxHold))
}

// hold has no feed of a host handed out for some time.
func (c *Crawler) hold(ctx context.Context, host string, d time.Duration) error {
	return c.Redis.Do(ctx, "SCHED.HOLD", c.schedule(), host, d.Milliseconds()).Err()
}

// forget removes a feed and all that is kept of it. The lease is ended first, so that the
// delay of its host counts from now.
func (c *Crawler) forget(ctx context.Context, feed string) error {
	if err := c.giveBack(ctx, []string{feed}); err != nil {
		return err
	}
	_, err := c.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "SCHED.REM", c.schedule(), feed)
		p.Del(ctx, c.stateKey(feed), c.seenKey(feed))
		return nil
	})
	return err
}

func hostOf(feed string) string {
	u, err := url.Parse(feed)
	if err != nil {
		return feed // Add let none in
	}
	return strings.ToLower(u.Host)
}

func isNotLeased(err error) bool {
	return err != nil && strings.Contains(err.Error(), "node is not leased")
}
