package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Load reads a session and renews its lifetime to ttl.
func Load(ctx context.Context, rdb *redis.Client, id string, ttl time.Duration) (string, error) {
	return rdb.GetEx(ctx, "session:"+id, ttl).Result() // redis.Nil: there is none, or no longer
}

// SignIn records a session of a user. The field expires with the session.
func SignIn(ctx context.Context, rdb *redis.Client, user, id, device string, ttl time.Duration) error {
	ends := &redis.HSetEXOptions{ExpirationType: redis.HSetEXExpirationPX, ExpirationVal: ttl.Milliseconds()}
	return rdb.HSetEXWithArgs(ctx, "sessions:"+user, ends, id, device).Err()
}

// Renew renews the field along with the session that Load renewed.
func Renew(ctx context.Context, rdb *redis.Client, user, id string, ttl time.Duration) error {
	return rdb.HPExpire(ctx, "sessions:"+user, ttl, id).Err()
}

// SignOutEverywhere ends all sessions of a user. A concurrent sign-in is either
// ended too or comes after it.
func SignOutEverywhere(ctx context.Context, rdb *redis.Client, user string) error {
	return retry(ctx, rdb, "sessions:"+user, func(tx *redis.Tx) error {
		ids, err := tx.HKeys(ctx, "sessions:"+user).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, "sessions:"+user)
			for _, id := range ids {
				p.Del(ctx, "session:"+id)
			}
			return nil
		})
		return err
	})
}

// ErrTooManySessions is returned when a user has as many sessions as allowed.
var ErrTooManySessions = errors.New("too many sessions")

// SignInWithin is SignIn for users with at most limit sessions at a time.
func SignInWithin(ctx context.Context, rdb *redis.Client, limit int, user, id, device string, ttl time.Duration) error {
	return retry(ctx, rdb, "sessions:"+user, func(tx *redis.Tx) error {
		ids, err := tx.HKeys(ctx, "sessions:"+user).Result() // HLEN would count expired fields too
		if err != nil {
			return err
		}
		if len(ids) >= limit {
			return ErrTooManySessions
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.HSet(ctx, "sessions:"+user, id, device)
			p.HExpire(ctx, "sessions:"+user, ttl, id)
			return nil
		})
		return err
	})
}

// retry runs f with key watched, and repeats it while others change the key.
func retry(ctx context.Context, rdb *redis.Client, key string, f func(tx *redis.Tx) error) error {
	for {
		err := rdb.Watch(ctx, f, key)
		if !errors.Is(err, redis.TxFailedErr) || ctx.Err() != nil {
			return err
		}
	}
}

// Forget removes everything stored about a visitor's session, and the session
// from the user's list.
func Forget(ctx context.Context, rdb *redis.Client, user, id string) error {
	keys := []string{"session:" + id, "page-bloom:" + id, "notification:" + id,
		"sess-page-hll:" + id, "total-pages:" + id, "activity:" + id}
	answers := rdb.Scan(ctx, 0, "async:*:"+id+":*", 1000).Iterator()
	for answers.Next(ctx) {
		keys = append(keys, answers.Val())
	}
	if err := answers.Err(); err != nil {
		return err
	}
	_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, keys...)
		p.HDel(ctx, "sessions:"+user, id)
		return nil
	})
	return err
}
