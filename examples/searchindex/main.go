package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

func main() {
	addr := flag.String("addr", "", "address of a server; without it, one in memory is started")
	docs := flag.Int("docs", 5000, "documents to write, at least 1")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *addr, max(*docs, 1)); err != nil {
		fmt.Fprintln(os.Stderr, "searchindex:", err)
		os.Exit(1)
	}
}

const prefix = "example:doc:"

// run writes documents, builds an index of them, and changes some while it is kept.
func run(ctx context.Context, w io.Writer, addr string, docs int) (err error) {
	if addr == "" {
		var stop func() error
		if addr, stop, err = startServer(server.Options{InMemory: true, Seed: 1}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, Protocol: 3})
	defer rdb.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	if err := write(ctx, rdb, rng, docs); err != nil {
		return err
	}
	f := &Feed{Redis: rdb, Prefix: prefix, Index: NewIndex(), Wait: time.Second}
	start := time.Now()
	if err := f.Step(ctx); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d documents in the index after %.2f s\n", f.Index.Len(), time.Since(start).Seconds())
	running, cancel := context.WithCancel(ctx)
	var feed sync.WaitGroup
	feed.Go(func() { err = f.Run(running) }) // ends with cancel
	start = time.Now()
	werr := errors.Join(write(ctx, rdb, rng, docs/10), rdb.HSet(ctx, prefix+"last", "title", "The end", "text", "zebra crossing").Err())
	for werr == nil && running.Err() == nil && len(f.Index.Search("zebra")) == 0 && time.Since(start) < 10*time.Second {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(start)
	cancel()
	feed.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err = errors.Join(werr, err); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d changes in the index %.2f s after the first\n", docs/10+1, took.Seconds())
	for _, query := range []string{"zebra", "green river", "no such words"} {
		found := f.Index.Search(query)
		fmt.Fprintf(w, "%q: %d documents, first %s\n", query, len(found), strings.Join(found[:min(3, len(found))], ", "))
	}
	return nil
}

// write writes documents of some words, some of them again.
func write(ctx context.Context, rdb *redis.Client, rng *rand.Rand, n int) error {
	words := strings.Fields("river house green night stone water small old tree cloud road light garden winter letter")
	for ; n > 0; n -= 100 {
		p := rdb.Pipeline()
		for range min(n, 100) {
			text := make([]string, 12)
			for i := range text {
				text[i] = words[rng.IntN(len(words))]
			}
			p.HSet(ctx, fmt.Sprint(prefix, rng.IntN(100_000)), "title", text[0], "text", strings.Join(text, " "))
		}
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startServer starts a server on a free loopback port.
func startServer(o server.Options) (addr string, stop func() error, err error) {
	srv, err := server.Open(context.Background(), o)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, srv.Close(context.Background()))
	}
	served := make(chan error, 1)          // of capacity 1: Serve returns once
	go func() { served <- srv.Serve(l) }() // ends with srv.Close
	return l.Addr().String(), func() error {
		err := srv.Close(context.Background())
		if e := <-served; !errors.Is(e, server.ErrClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}
