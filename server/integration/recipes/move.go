package recipes

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Copy copies the keys that match a pattern from one server to another, with their
// expiries, and returns the names of those that the other refuses, as vigil does
// with types of modules other than Bloom filters. What changes during the copy may
// be copied as it was before or after.
func Copy(ctx context.Context, from, to *redis.Client, pattern string) (refused []string, err error) {
	keys := from.Scan(ctx, 0, pattern, 1000).Iterator()
	for keys.Next(ctx) {
		var dump *redis.StringCmd
		var left *redis.DurationCmd
		_, err := from.TxPipelined(ctx, func(p redis.Pipeliner) error {
			dump, left = p.Dump(ctx, keys.Val()), p.PTTL(ctx, keys.Val())
			return nil
		})
		if errors.Is(err, redis.Nil) {
			continue // it went meanwhile
		}
		if err != nil {
			return refused, err
		}
		ttl := max(left.Val(), time.Millisecond) // 0 means for ever
		if left.Val() == -1 {
			ttl = 0
		}
		err = to.RestoreReplace(ctx, keys.Val(), ttl, dump.Val()).Err()
		var reply redis.Error
		switch {
		case errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "ERR "):
			refused = append(refused, keys.Val())
		case err != nil:
			return refused, err
		}
	}
	return refused, keys.Err()
}
