package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Feed keeps an index like the documents of a server.
type Feed struct {
	Redis  *redis.Client // with RESP3, and the database 0
	Prefix string        // of the keys of documents
	Index  *Index
	Wait   time.Duration // how long a call waits for changes, at least 1 ms

	position string // behind what the index has; empty: it has to be built
	Scans    int    // how often it was built
}

// changes is a reply of VIGIL.CHANGES.
type changes struct {
	position string
	events   []event
}

type event struct{ name, key string }

// Run keeps the index up to date until ctx ends or the server cannot be reached. It may be called again then.
func (f *Feed) Run(ctx context.Context) error {
	for {
		if err := f.Step(ctx); err != nil {
			return err
		}
	}
}

// Step builds the index if there is no position, and else takes the next changes.
func (f *Feed) Step(ctx context.Context) error {
	if f.position == "" {
		return f.build(ctx)
	}
	next, err := f.read(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "GONE ") {
		f.position = ""
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range next.events {
		switch e.name {
		case "FLUSHDB":
			f.Index.Clear()
		case "SWAPDB": // all documents may be others
			f.position = ""
			return nil
		default:
			if err := refresh(ctx, f.Redis, f.Index, e.key); err != nil {
				return err // and the same changes again the next time
			}
		}
	}
	f.position = next.position
	return nil
}

// build makes the index by a scan. The position is older than what the scan reads, so no change is missed.
func (f *Feed) build(ctx context.Context) error {
	position, err := f.Redis.Do(ctx, "VIGIL.CHANGES", "NOW").Text()
	if err != nil {
		return err
	}
	x := NewIndex()
	keys := f.Redis.Scan(ctx, 0, f.Prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := refresh(ctx, f.Redis, x, keys.Val()); err != nil {
			return err
		}
	}
	if err := keys.Err(); err != nil {
		return err
	}
	f.Index.take(x)
	f.position = position
	f.Scans++
	return nil
}

// refresh reads a document anew.
func refresh(ctx context.Context, r *redis.Client, x *Index, key string) error {
	fields, err := r.HMGet(ctx, key, "title", "text").Result()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE "): // no document
		x.Remove(key)
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", key, err)
	}
	title, _ := fields[0].(string)
	text, _ := fields[1].(string)
	if title == "" && text == "" {
		x.Remove(key)
		return nil
	}
	x.Put(key, title+" "+text)
	return nil
}

var errReply = errors.New("the reply of VIGIL.CHANGES is another one than expected")

// read asks for the changes behind the position.
func (f *Feed) read(ctx context.Context) (c changes, err error) {
	reply, err := f.Redis.Do(ctx, "VIGIL.CHANGES", "FROM", f.position, "BLOCK", max(f.Wait.Milliseconds(), 1), "DB", 0, "PREFIX", f.Prefix, "KEYS").Result()
	if err != nil {
		return c, err
	}
	fields, _ := reply.(map[any]any)
	position, ok := fields["position"].(string)
	list, listed := fields["changes"].([]any)
	if !ok || !listed {
		return c, errReply
	}
	c.position = position
	for _, one := range list {
		pair, _ := one.([]any) // the database, and the name and the key
		if len(pair) != 2 {
			return c, errReply
		}
		words, _ := pair[1].([]any)
		if len(words) == 0 {
			return c, errReply
		}
		var e event
		e.name, _ = words[0].(string)
		if len(words) > 1 {
			e.key, _ = words[1].(string)
		}
		c.events = append(c.events, e)
	}
	return c, nil
}
