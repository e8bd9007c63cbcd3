package main

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// The loop of a crawler, without what makes it polite. look stands for asking a
// feed and counting what is new.
func Example() {
	srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close(context.Background())
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return srv.Dial() }})
	defer rdb.Close()
	look := func(feed string) (items int, err error) { return 1, nil }

	rdb.Do(ctx, "SCHED.CREATE", "feeds", "POLICY", "index", "LEASE", 30000, "SEED", 1)
	rdb.Do(ctx, "SCHED.ADD", "feeds", "news.example/rss", "RATE", 2, "blog.example/atom", "RATE", 0.1)
	for range 6 {
		feeds, err := rdb.Do(ctx, "SCHED.NEXT", "feeds").StringSlice()
		if err != nil {
			log.Fatal(err)
		}
		for _, feed := range feeds { // none, if all are leased
			items, err := look(feed)
			if err != nil {
				continue // the lease ends by itself, and somebody tries again
			}
			if err := rdb.Do(ctx, "SCHED.OBSERVE", "feeds", feed, items).Err(); err != nil {
				log.Fatal(err)
			}
			fmt.Println(feed)
		}
	}
	// Output:
	// news.example/rss
	// news.example/rss
	// news.example/rss
	// news.example/rss
	// blog.example/atom
	// news.example/rss
}
