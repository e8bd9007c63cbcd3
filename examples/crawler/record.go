package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// What is kept of a feed: a hash of its state, and a hash of the ids of the
// items that are in it. An id that left the feed is forgotten, so the set is
// as long as the feed. (A Bloom filter would be smaller for feeds of thousands
// of items, and would now and then take a new item for a known one.)
//
// A look is recorded whole or not at all: one transaction writes the ids, the
// ETag and a version, tells subscribers, and observes. A worker that crashes
// before it has done nothing, one that crashes after it has done everything.
// Of two that looked at once, as the lease of the first ended, the one that
// comes second sees another version than before its look and drops its own.

// state is what was kept at the last look.
type state struct {
	ETag     string `redis:"etag"`
	Modified string `redis:"modified"`
	Version  int64  `redis:"version"` // looks recorded
	Added    int64  `redis:"added"`   // unix time in ms
}

func (c *Crawler) state(ctx context.Context, feed string) (s state, err error) {
	if err := c.Redis.HGetAll(ctx, c.stateKey(feed)).Scan(&s); err != nil {
		return s, fmt.Errorf("read state: %w", err)
	}
	return s, nil
}

// errOvertaken is returned when another worker recorded a look at the feed since
// the state was read.
var errOvertaken = errors.New("another look was recorded")

// Found is what the channel of new items carries, as JSON.
type Found struct {
	Feed string    `json:"feed"`
	At   time.Time `json:"at"`
	Item
}

// record writes a look down and returns how many items were new. It returns
// errOvertaken without having changed anything. If the lease ended meanwhile the
// items count, but the schedule does not learn from them.
func (c *Crawler) record(ctx context.Context, feed string, before state, got answer) (found int, err error) {
	err = c.Redis.Watch(ctx, func(tx *redis.Tx) error {
		version, err := tx.HGet(ctx, c.stateKey(feed), "version").Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if version != before.Version {
			return errOvertaken
		}
		fresh, left, err := c.compare(ctx, tx, feed, got)
		if err != nil {
			return err
		}
		news := fresh
		if before.Version == 0 {
			news = since(fresh, time.UnixMilli(before.Added).Truncate(time.Second)) // as dates in feeds are
		}
		found = len(news)
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return c.write(ctx, p, feed, got, fresh, news, left)
		})
		return err
	}, c.stateKey(feed))
	switch {
	case errors.Is(err, redis.TxFailedErr):
		return 0, errOvertaken
	case errors.Is(err, errOvertaken):
		return 0, err
	case isNotLeased(err): // of the OBSERVE alone: the rest is done
		c.Log.Warn("lease was too short", "feed", feed)
		return found, nil
	case err != nil:
		return 0, fmt.Errorf("record: %w", err)
	}
	return found, nil
}

// compare returns the items that are not known yet and the known ids that left
// the feed.
func (c *Crawler) compare(ctx context.Context, tx *redis.Tx, feed string, got answer) (fresh []Item, left []string, err error) {
	if got.verdict != changed {
		return nil, nil, nil
	}
	ids, err := tx.HKeys(ctx, c.seenKey(feed)).Result()
	if err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	for _, it := range got.items {
		if !known[it.ID] {
			fresh = append(fresh, it)
		}
		delete(known, it.ID)
	}
	for id := range known {
		left = append(left, id)
	}
	return fresh, left, nil
}

// write queues the commands of a look.
func (c *Crawler) write(ctx context.Context, p redis.Pipeliner, feed string, got answer, fresh, news []Item, left []string) error {
	if len(fresh) > 0 {
		fields := make([]any, 0, 2*len(fresh))
		for _, it := range fresh {
			fields = append(fields, it.ID, 1)
		}
		p.HSet(ctx, c.seenKey(feed), fields...)
	}
	if len(left) > 0 {
		p.HDel(ctx, c.seenKey(feed), left...)
	}
	now := c.Clock.Now()
	for _, it := range news {
		text, err := json.Marshal(Found{Feed: feed, At: now, Item: it})
		if err != nil {
			return err
		}
		p.Publish(ctx, c.channel(), text)
	}
	p.HSet(ctx, c.stateKey(feed), "etag", got.etag, "modified", got.modified)
	p.HIncrBy(ctx, c.stateKey(feed), "version", 1)
	p.Del(ctx, c.errorsKey(hostOf(feed)))
	p.Do(ctx, "SCHED.OBSERVE", c.schedule(), feed, strconv.Itoa(len(news)))
	return nil
}

// since are the items that are not older than a time. One without a date is.
func since(items []Item, t time.Time) (young []Item) {
	for _, it := range items {
		if !it.Published.Before(t) {
			young = append(young, it)
		}
	}
	return young
}
