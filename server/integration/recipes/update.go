package recipes

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// Update changes a session that other requests may change too, and retries as
// often as needed. The expiry stays. SET IFEQ stores only if the session has
// not changed meanwhile.
func Update(ctx context.Context, rdb *redis.Client, id string, change func(old string) string) error {
	for {
		old, err := rdb.Get(ctx, "session:"+id).Result()
		if err != nil {
			return err
		}
		err = rdb.Do(ctx, "SET", "session:"+id, change(old), "IFEQ", old, "KEEPTTL").Err()
		if !errors.Is(err, redis.Nil) {
			return err // nil: it is stored
		}
	}
}

// UpdateWatched does the same on servers without IFEQ, in three round trips.
func UpdateWatched(ctx context.Context, rdb *redis.Client, id string, change func(old string) string) error {
	return retry(ctx, rdb, "session:"+id, func(tx *redis.Tx) error {
		old, err := tx.Get(ctx, "session:"+id).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "session:"+id, change(old), redis.KeepTTL)
			return nil
		})
		return err
	})
}
