// Command crawler polls feeds in the order in which new items are worth most: a
// schedule (SCHED.*) on a vigil server says which feed to look at next, hands
// each to one worker at a time, and learns how often items appear.
//
//	crawler -addr localhost:6379 -feeds feeds.txt -workers 4
//	crawler -addr localhost:6379 -demo 20      feeds of its own, on a fast clock
//
// feeds.txt has an address a line; lines that begin with # are comments. New
// items are printed, and published as JSON on the channel crawl:new. Start as
// many of these processes as wanted: they share the schedule.
//
// It asks politely: robots.txt obeyed (Disallow, Allow, Crawl-delay), conditional
// requests, one request to a host in -host-delay, Retry-After and 429 and 503
// honoured, time and size limits, a User-Agent that identifies the crawler.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "crawler: %v\n", err)
		os.Exit(1)
	}
}

// realClock is the machine's clock.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c := &Crawler{Config: DefaultConfig(), Clock: realClock{}, HTTP: &http.Client{}, Log: slog.Default()}
	f := flag.NewFlagSet("crawler", flag.ContinueOnError)
	addr := f.String("addr", "localhost:6379", "address of the server")
	file := f.String("feeds", "", "`file` of addresses to add; without it, those of the schedule are polled")
	workers := f.Int("workers", 4, "workers of this process")
	demo := f.Int("demo", 0, "serve so many feeds and poll them, with steps of a second")
	quiet := f.Bool("quiet", false, "log errors only")
	f.StringVar(&c.Prefix, "prefix", c.Prefix, "beginning of all keys")
	f.StringVar(&c.Policy, "policy", c.Policy, "of a new schedule")
	f.DurationVar(&c.Step, "step", c.Step, "no feed is asked twice in this time")
	f.DurationVar(&c.Lease, "lease", c.Lease, "feeds of a worker that is gone are handed out again after it")
	f.DurationVar(&c.Every, "every", c.Every, "between two turns of a worker")
	f.DurationVar(&c.HostDelay, "host-delay", c.HostDelay, "between two requests to a host")
	f.StringVar(&c.UserAgent, "user-agent", c.UserAgent, "who asks")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *workers < 1 || c.Step < time.Millisecond || c.Lease < time.Millisecond || c.HostDelay < time.Millisecond || c.Every < 0 {
		return errors.New("-workers must be at least 1; -step, -lease and -host-delay at least 1ms")
	}
	if *quiet {
		c.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	}
	c.Redis = redis.NewClient(&redis.Options{Addr: *addr})
	defer c.Redis.Close()
	feeds, err := readFeeds(*file)
	if err != nil {
		return err
	}
	if *demo > 0 {
		stop, err := c.serveDemo(*demo, &feeds)
		if err != nil {
			return err
		}
		defer stop()
	}
	if err := c.Add(ctx, feeds); err != nil {
		return err
	}
	return c.work(ctx, *workers, out)
}

// work runs workers, and prints what they find, until the context ends.
func (c *Crawler) work(ctx context.Context, workers int, out io.Writer) error {
	sub := c.Redis.Subscribe(ctx, c.channel())
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	var wg sync.WaitGroup
	defer wg.Wait() // workers end with the context
	for range workers {
		wg.Go(func() { c.Run(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-sub.Channel():
			var it Found
			if m != nil && json.Unmarshal([]byte(m.Payload), &it) == nil {
				fmt.Fprintf(out, "%s  %s  %s\n", it.At.Format(time.TimeOnly), it.Feed, it.Title)
			}
		}
	}
}

func readFeeds(name string) (feeds []string, err error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			feeds = append(feeds, line)
		}
	}
	return feeds, lines.Err()
}

// serveDemo adds the feeds of a Site to feeds and leads requests there.
func (c *Crawler) serveDemo(n int, feeds *[]string) (stop func(), err error) {
	c.Step, c.Lease, c.HostDelay, c.Patience, c.Every = time.Second, 5*time.Second, 100*time.Millisecond, time.Second, 500*time.Millisecond
	site := NewSite(n, c.Step, 1, c.Clock)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: site, ReadHeaderTimeout: c.Timeout}
	ended := make(chan struct{})
	go func() { // ends with Close
		defer close(ended)
		_ = server.Serve(l)
	}()
	c.HTTP = clientOf(l.Addr().String())
	*feeds = append(*feeds, site.Feeds()...)
	return func() { server.Close(); <-ended }, nil
}

// clientOf takes every host to one address.
func clientOf(addr string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
		MaxIdleConnsPerHost: 4,
	}}
}
