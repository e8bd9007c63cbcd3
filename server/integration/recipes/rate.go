package recipes

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Allow counts a call and reports whether it is among the first limit of its window.
// The window begins with its first call and expires: NX keeps later calls from
// moving its end.
func Allow(ctx context.Context, rdb *redis.Client, caller string, limit int64, window time.Duration) (bool, error) {
	var n *redis.IntCmd
	_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		n = p.Incr(ctx, "rate:"+caller)
		p.ExpireNX(ctx, "rate:"+caller, window)
		return nil
	})
	return err == nil && n.Val() <= limit, err
}

// AllowSliding counts by the minute, in 120 bytes for an hour, and allows limit calls
// in any five minutes of it. Counters stop at 65535 instead of starting again.
func AllowSliding(ctx context.Context, rdb *redis.Client, caller string, limit int64, now time.Time) (bool, error) {
	key, minute := fmt.Sprintf("rate:%s:%s", caller, now.UTC().Format("2006010215")), now.Minute()
	call := []any{"OVERFLOW", "SAT", "INCRBY", "u16", fmt.Sprintf("#%d", minute), 1}
	for m := max(minute-4, 0); m < minute; m++ {
		call = append(call, "GET", "u16", fmt.Sprintf("#%d", m))
	}
	var counts *redis.IntSliceCmd
	_, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		counts = p.BitField(ctx, key, call...)
		p.Expire(ctx, key, time.Hour)
		return nil
	})
	var sum int64
	for _, n := range counts.Val() {
		sum += n
	}
	return err == nil && sum <= limit, err
}
