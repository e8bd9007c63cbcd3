package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
)

// What robots.txt (RFC 9309) says is asked once for each host and kept in a key
// that ends after RobotsFor, so that all workers share it: the rules for this
// crawler, or nothing if all is allowed. The request is one like any other: the feed
// follows after the delay of the host.
//
//   - 2xx: the rules hold for the feeds of the host, and its Crawl-delay takes the
//     place of HostDelay if that is shorter.
//   - 4xx: there are no rules, all is allowed.
//   - 429, 5xx, no answer: nothing is known, so nothing is asked. The host is left
//     alone as after the same answer to a request for a feed.
//
// A feed that is disallowed is removed from the schedule (SCHED.REM), as one that
// is gone. SCHED.FAIL would hand it out again at once, the end of its lease soon,
// and OBSERVE would count a look that never was. If it is added again, it is
// asked again. Redirects of feeds obey too, see follow.

// permission is what may be done with a feed that was handed out.
type permission uint8

const (
	granted    permission = iota // ask it now
	postponed                    // its host asked to come later
	disallowed                   // never ask it
)

// maxRobots is how much of a robots.txt is read, the least that RFC 9309 allows.
const maxRobots = 500 << 10

// permit asks the rules of a feed's host, and waits then until the host may be asked
// again.
func (c *Crawler) permit(ctx context.Context, feed string) (permission, error) {
	u, err := url.Parse(feed)
	if err != nil {
		return disallowed, nil // Add let none in
	}
	origin, path := split(u)
	r, ok, err := c.known(ctx, origin)
	asked := !ok && err == nil
	if asked {
		r, ok, err = c.askRobots(ctx, origin)
	}
	switch {
	case !ok || err != nil:
		return postponed, err
	case !r.allows(path):
		return disallowed, nil
	}
	delay, err := c.slowDown(ctx, hostOf(feed), r)
	if err != nil || !asked {
		return granted, err
	}
	if delay > c.Patience {
		return postponed, c.hold(ctx, hostOf(feed), delay)
	}
	return granted, c.Clock.Sleep(ctx, delay)
}

// slowDown gives a host the delay that its rules ask for, and returns it.
func (c *Crawler) slowDown(ctx context.Context, host string, r rules) (time.Duration, error) {
	if r.delay <= c.HostDelay {
		return c.HostDelay, nil
	}
	delay := min(r.delay, c.MaxHold)
	return delay, c.Redis.Do(ctx, "SCHED.LIMIT", c.schedule(), host, "REST", delay.Milliseconds()).Err()
}

// known reads the rules of an origin, if they were asked for.
func (c *Crawler) known(ctx context.Context, origin string) (r rules, ok bool, err error) {
	text, err := c.Redis.Get(ctx, c.robotsKey(origin)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return r, false, nil
	case err != nil:
		return r, false, fmt.Errorf("read rules of %s: %w", origin, err)
	}
	return readRules(text), true, nil
}

// maxRedirects is how often a feed may send the crawler elsewhere.
const maxRedirects = 10

var (
	errRedirects = errors.New("too many redirects")
	errRobots    = errors.New("no robots.txt of where a redirect leads")
)

// follow decides on the redirect of a feed, as http.Client asks it to. It is not
// followed to what robots.txt closes: the redirect is the answer then, and no feed.
// The feed is not removed, as it may lead elsewhere another time. A redirect is the
// rest of a request: the limits of hosts do not count it.
func (c *Crawler) follow(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	ctx := req.Context()
	origin, path := split(req.URL)
	r, ok, err := c.known(ctx, origin)
	if !ok && err == nil {
		r, ok, err = c.askRobots(ctx, origin)
	}
	switch {
	case err != nil:
		return err
	case !ok:
		return errRobots
	case !r.allows(path):
		c.Log.Warn("redirect to what robots.txt closes", "feed", via[0].URL.String(), "to", req.URL.String())
		return http.ErrUseLastResponse
	}
	return nil
}

// askRobots asks for a robots.txt and keeps what it says. It returns false if
// the host has to be asked again later.
func (c *Crawler) askRobots(ctx context.Context, origin string) (r rules, ok bool, err error) {
	code, body, retry, err := c.getRobots(ctx, origin)
	switch {
	case ctx.Err() != nil:
		return r, false, ctx.Err()
	case err != nil || code == http.StatusTooManyRequests || code >= 500:
		c.Log.Warn("no robots.txt", "host", origin, "status", code, "error", err)
		return r, false, c.backOff(ctx, hostOf(origin), retry)
	case code >= 400:
		body = nil
	}
	text := rulesFor(body, productOf(c.UserAgent))
	if err := c.Redis.Set(ctx, c.robotsKey(origin), text, c.RobotsFor).Err(); err != nil {
		return r, false, fmt.Errorf("keep rules of %s: %w", origin, err)
	}
	return readRules(text), true, nil
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
	if len(body) == maxRobots { // a rule that is cut off would be another one
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	return resp.StatusCode, body, retryAfter(resp.Header.Get("Retry-After"), c.Clock.Now()), err
}
