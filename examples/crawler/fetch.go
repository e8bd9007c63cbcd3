package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
)

// verdict is what a response means for the schedule.
type verdict uint8

const (
	changed   verdict = iota // a feed: count what is new
	unchanged                // 304: nothing is new
	broken                   // 3xx, 4xx or no feed: nothing is new, and its rate sinks
	busy                     // 429, 5xx: come back later
	gone                     // 410: never come back
)

// answer is the response of a host.
type answer struct {
	verdict        verdict
	items          []Item
	etag, modified string
	retry          time.Duration // of busy; 0: it did not say
}

// Item is an entry of a feed.
type Item struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Link      string    `json:"link"`
	Published time.Time `json:"published"` // zero: unknown
}

// fetch asks for a feed, if it changed since the state before. An error means
// that there was no answer in time.
func (c *Crawler) fetch(ctx context.Context, feed string, before state) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, feed, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("User-Agent", c.UserAgent)
	req.Header.Set("Accept", "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, */*;q=0.1")
	if before.ETag != "" {
		req.Header.Set("If-None-Match", before.ETag)
	}
	if before.Modified != "" {
		req.Header.Set("If-Modified-Since", before.Modified)
	}
	client := *c.HTTP
	client.CheckRedirect = c.follow
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	switch code := resp.StatusCode; {
	case code == http.StatusNotModified:
		return answer{verdict: unchanged, etag: before.ETag, modified: before.Modified}, nil
	case code == http.StatusGone:
		return answer{verdict: gone}, nil
	case code == http.StatusTooManyRequests || code >= 500:
		return answer{verdict: busy, retry: retryAfter(resp.Header.Get("Retry-After"), c.Clock.Now())}, nil
	case code != http.StatusOK:
		return answer{verdict: broken}, nil
	}
	return c.read(resp)
}

// read takes the items out of a body. One that is too long or no feed is broken,
// and its ETag is not kept: the next look reads it again.
func (c *Crawler) read(resp *http.Response) (answer, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.MaxBody+1))
	if err != nil {
		return answer{}, fmt.Errorf("read body: %w", err)
	}
	if int64(len(body)) > c.MaxBody {
		return answer{verdict: broken}, nil
	}
	items, err := parse(body)
	if err != nil {
		return answer{verdict: broken}, nil
	}
	return answer{verdict: changed, items: items, etag: resp.Header.Get("ETag"), modified: resp.Header.Get("Last-Modified")}, nil
}

// errNoFeed is returned for bytes in which the parser lost its way.
var errNoFeed = errors.New("not a feed")

// maxBases bounds what the parser keeps of base addresses, in bytes. It joins that
// of an element to those around it: a megabyte of elements inside each other, each
// with an xml:base, would take gigabytes. Feeds have one an entry at most.
const maxBases = 1 << 28

// parse reads Atom, RSS or JSON Feed. Items are told apart by their id, or their
// link, or their title; of those alike the first is taken.
func parse(body []byte) (items []Item, err error) {
	if bytes.Count(body, []byte("xml:base"))*len(body) > maxBases {
		return nil, errNoFeed
	}
	defer func() {
		// Bytes from anywhere go through a parser that is not ours: a panic in it
		// must cost one feed, not the worker.
		if recover() != nil {
			items, err = nil, errNoFeed
		}
	}()
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoFeed, err)
	}
	seen := make(map[string]bool, len(feed.Items))
	for _, it := range feed.Items {
		item := Item{ID: first(it.GUID, it.Link, it.Title), Title: it.Title, Link: it.Link}
		if item.ID == "" || seen[item.ID] {
			continue
		}
		seen[item.ID] = true
		switch {
		case it.PublishedParsed != nil:
			item.Published = *it.PublishedParsed
		case it.UpdatedParsed != nil:
			item.Published = *it.UpdatedParsed
		}
		items = append(items, item)
	}
	return items, nil
}

func first(of ...string) string {
	for _, s := range of {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

// retryAfter reads seconds or a date; 0 if it is neither or has passed.
func retryAfter(s string, now time.Time) time.Duration {
	const most = 1 << 32 // seconds: more would overflow
	if seconds, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), most)) * time.Second
	}
	at, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
