package recipes

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrLocked is returned when another client has the lock.
var ErrLocked = errors.New("locked")

// Lock takes a lock for ttl at most. It cannot leak: the lock of a process that
// dies expires. release unlocks only the caller's own lock, and reports whether
// it still held it.
func Lock(ctx context.Context, rdb *redis.Client, name string, ttl time.Duration) (release func(context.Context) (bool, error), err error) {
	token := rand.Text()
	err = rdb.SetArgs(ctx, "lock:"+name, token, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (bool, error) {
		n, err := rdb.Do(ctx, "DELIFEQ", "lock:"+name, token).Int()
		return n == 1, err
	}, nil
}

// Unlock is the release for servers without DELIFEQ.
func Unlock(ctx context.Context, rdb *redis.Client, name, token string) (held bool, err error) {
	err = retry(ctx, rdb, "lock:"+name, func(tx *redis.Tx) error {
		holder, err := tx.Get(ctx, "lock:"+name).Result()
		if held = holder == token; err != nil || !held {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "lock:"+name)
			return nil
		})
		return err
	})
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return held && err == nil, err
}
