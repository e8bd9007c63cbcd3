package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/temoto/robotstxt"
)

// What robots.txt (RFC 9309) says is asked once for each host and kept in a key
// that ends after RobotsFor, so that all workers share it: the lines that matter,
// or nothing if all is allowed. The request is one like any other, with a hold of
// its own.
//
//   - 2xx: the rules hold for the feeds of the host, and its Crawl-delay takes the
//     place of HostDelay if that is shorter.
//   - 4xx: there are no rules, all is allowed.
//   - 429, 5xx, no answer: nothing is known, so nothing is asked. The host is left
//     alone as after the same answer to a request for a feed.
//
// A feed that is disallowed is removed from the schedule (SCHED.REM), as one that
// is gone. SCHED.FAIL would hand it out again at once, the end of its lease soon,
// and OBSERVE would count a look that never was. Who adds it again asks anew.

// permission is what may be done with a feed that was handed out.
type permission uint8

const (
	granted    permission = iota // ask it now: its host is reserved
	postponed                    // its host is busy, or asked to come later
	disallowed                   // never ask it
)

// maxRobots is how much of a robots.txt is read, the least that RFC 9309 allows;
// longer lines than maxRobotsLine match no address that anybody uses.
const (
	maxRobots     = 500 << 10
	maxRobotsLine = 4096
)

// rules are what a robots.txt says to this crawler.
type rules struct {
	group *robotstxt.Group
	delay time.Duration // Crawl-delay, 0 if there is none
}

// permit asks the rules of a feed's host, which may take a request, and reserves
// the host.
func (c *Crawler) permit(ctx context.Context, feed string) (permission, error) {
	origin, path, err := split(feed)
	if err != nil {
		return disallowed, nil // Add let none in
	}
	for range 2 { // the rules are not there; they are
		text, err := c.Redis.Get(ctx, c.robotsKey(origin)).Result()
		switch {
		case err == nil:
			return c.apply(ctx, hostOf(feed), c.rulesOf(text), path)
		case !errors.Is(err, redis.Nil):
			return postponed, fmt.Errorf("read rules of %s: %w", origin, err)
		}
		if ok, err := c.reserve(ctx, hostOf(feed), c.HostDelay); !ok || err != nil {
			return postponed, err
		}
		// Another worker may have asked while this one waited for the host.
		if n, err := c.Redis.Exists(ctx, c.robotsKey(origin)).Result(); n > 0 || err != nil {
			if err != nil {
				return postponed, err
			}
			continue
		}
		if ok, err := c.askRobots(ctx, origin); !ok || err != nil {
			return postponed, err
		}
	}
	return postponed, nil
}

// apply decides by rules that are known.
func (c *Crawler) apply(ctx context.Context, host string, r rules, path string) (permission, error) {
	if !r.group.Test(path) {
		return disallowed, nil
	}
	if ok, err := c.reserve(ctx, host, max(c.HostDelay, min(r.delay, c.MaxHold))); !ok || err != nil {
		return postponed, err
	}
	return granted, nil
}

// askRobots asks for a robots.txt and keeps what it says. It answers false if
// the host has to be asked again later.
func (c *Crawler) askRobots(ctx context.Context, origin string) (bool, error) {
	host := hostOf(origin)
	code, body, retry, err := c.getRobots(ctx, origin)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil || code == http.StatusTooManyRequests || code >= 500:
		c.Log.Warn("no robots.txt", "host", origin, "status", code, "error", err)
		return false, c.backOff(ctx, host, retry)
	case code >= 400:
		body = nil
	}
	text := relevant(body)
	if err := c.Redis.Set(ctx, c.robotsKey(origin), text, c.RobotsFor).Err(); err != nil {
		return false, fmt.Errorf("keep rules of %s: %w", origin, err)
	}
	// The feed is the next request: the delay holds for it already.
	if r := c.rulesOf(text); r.delay > c.HostDelay {
		return true, c.Redis.Set(ctx, c.holdKey(host), 1, min(r.delay, c.MaxHold)).Err()
	}
	return true, nil
}

func (c *Crawler) getRobots(ctx context.Context, origin string) (code int, body []byte, retry time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/robots.txt", nil)
	if err != nil {
		return 0, nil, 0, err
	}
	req.Header.Set("User-Agent", c.UserAgent)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return 0, nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxRobots))
	return resp.StatusCode, body, retryAfter(resp.Header.Get("Retry-After"), c.Clock.Now()), err
}

// relevant keeps the lines of a robots.txt that say something to crawlers and
// that the parser understands: to it one bad line spoils the file, but RFC 9309
// has crawlers use the others.
func relevant(body []byte) string {
	var text strings.Builder
	grouped := false // a User-agent line came
	for line := range bytes.FieldsFuncSeq(bytes.TrimPrefix(body, []byte("\ufeff")), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		key, value, _ := bytes.Cut(line, []byte(":"))
		k, v := strings.ToLower(string(bytes.TrimSpace(key))), string(bytes.TrimSpace(value))
		if len(v) > maxRobotsLine || strings.ContainsAny(v, " \t") {
			continue
		}
		switch k {
		case "user-agent":
			grouped = grouped || v != ""
		case "allow", "disallow":
			if !grouped {
				continue
			}
		case "crawl-delay":
			if d, err := strconv.ParseFloat(v, 64); err != nil || !grouped || !(d >= 0 && d <= 1e9) {
				continue
			}
		default:
			continue
		}
		fmt.Fprintf(&text, "%s: %s\n", k, v)
	}
	return text.String()
}

// rulesOf reads lines that relevant kept. The group is that of the first word of
// the User-Agent, as in "vigil-crawler/0.1", or else that of all crawlers.
func (c *Crawler) rulesOf(text string) rules {
	data, err := robotstxt.FromString(text)
	if err != nil { // somebody else wrote the key
		c.Log.Warn("rules that make no sense", "error", err)
		data, _ = robotstxt.FromString("")
	}
	name, _, _ := strings.Cut(c.UserAgent, "/")
	g := data.FindGroup(name)
	return rules{group: g, delay: g.CrawlDelay}
}

// split cuts an address into what robots.txt is asked of and what its rules
// match.
func split(feed string) (origin, path string, err error) {
	u, err := url.Parse(feed)
	if err != nil {
		return "", "", err
	}
	path = u.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), path, nil
}
