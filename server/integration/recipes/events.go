package recipes

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// OnExpired calls ended with the id of each session of database 0 that runs out,
// until ctx ends. The server needs notify-keyspace-events Ex. Events are for clients
// that are subscribed at the time: what must not be missed has an expiry of its own.
func OnExpired(ctx context.Context, rdb *redis.Client, ready func(), ended func(id string)) error {
	sub := rdb.Subscribe(ctx, "__keyevent@0__:expired")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		return err
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case msg := <-sub.Channel():
			if id, ok := strings.CutPrefix(msg.Payload, "session:"); ok {
				ended(id)
			}
		}
	}
}
