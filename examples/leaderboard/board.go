package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrNoPlayer is returned for a player without points.
var ErrNoPlayer = errors.New("no such player")

// Board is a leaderboard. Prefix begins each of its keys; they have one hash tag, so
// that they are on one node of a cluster.
type Board struct {
	Redis  *redis.Client
	Prefix string
	Weeks  int // how many weeks are kept, at least 1
}

// Entry is one line of a board.
type Entry struct {
	Place  int64 // from 1; players with equal points share it
	Player string
	Points float64
}

func (b *Board) all() string { return "{" + b.Prefix + "}:all" }

func (b *Board) week(t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("{%s}:%d-W%02d", b.Prefix, year, week)
}

// Score gives a player points for a game that ended at a time, for all time and
// for that week. It returns the points that the player now has.
func (b *Board) Score(ctx context.Context, player string, points float64, at time.Time) (float64, error) {
	var total *redis.FloatCmd
	_, err := b.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		total = p.ZIncrBy(ctx, b.all(), points, player)
		p.ZIncrBy(ctx, b.week(at), points, player)
		p.ExpireAt(ctx, b.week(at), at.Add(time.Duration(b.Weeks+1)*7*24*time.Hour))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("score of %s: %w", player, err)
	}
	return total.Val(), nil
}

// Top returns the first n of all time.
func (b *Board) Top(ctx context.Context, n int) ([]Entry, error) {
	zs, err := b.Redis.ZRevRangeWithScores(ctx, b.all(), 0, int64(n)-1).Result()
	return places(zs, 1, 1), err
}

// Lately returns the first n of the weeks up to a time, Weeks of them.
func (b *Board) Lately(ctx context.Context, at time.Time, n int) ([]Entry, error) {
	var keys []string
	for i := range b.Weeks {
		keys = append(keys, b.week(at.AddDate(0, 0, -7*i)))
	}
	zs, err := b.Redis.ZUnionWithScores(ctx, redis.ZStore{Keys: keys}).Result() // the fewest points first
	if err != nil {
		return nil, err
	}
	last := make([]redis.Z, 0, n)
	for i := len(zs) - 1; i >= 0 && len(last) < n; i-- {
		last = append(last, zs[i])
	}
	return places(last, 1, 1), nil
}

// around returns the rank of the first line, the place of its player, and the lines
// near a player; nothing for a player without points.
var around = redis.NewScript(`
local rank = redis.call('ZREVRANK', KEYS[1], ARGV[1])
if not rank then return false end
local first = math.max(rank - ARGV[2], 0)
local lines = redis.call('ZREVRANGE', KEYS[1], first, rank + ARGV[2], 'WITHSCORES')
return {first + 1, redis.call('ZCOUNT', KEYS[1], '(' .. lines[2], '+inf') + 1, lines}
`)

// Around returns a player's line with n lines above and below it, or as many as
// there are. It returns ErrNoPlayer for a player without points.
func (b *Board) Around(ctx context.Context, player string, n int) ([]Entry, error) {
	reply, err := around.Run(ctx, b.Redis, []string{b.all()}, player, n).Slice()
	if errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("%w: %s", ErrNoPlayer, player)
	}
	if err != nil {
		return nil, err
	}
	first, _ := reply[0].(int64)
	place, _ := reply[1].(int64)
	lines, _ := reply[2].([]any)
	var zs []redis.Z
	for i := 0; i+1 < len(lines); i += 2 {
		points, err := redis.NewCmdResult(lines[i+1], nil).Float64()
		if err != nil {
			return nil, err
		}
		zs = append(zs, redis.Z{Member: lines[i], Score: points})
	}
	return places(zs, first, place), nil
}

// Remove takes a player off every board that is kept.
func (b *Board) Remove(ctx context.Context, player string, at time.Time) error {
	_, err := b.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZRem(ctx, b.all(), player)
		for i := range b.Weeks + 1 {
			p.ZRem(ctx, b.week(at.AddDate(0, 0, -7*i)), player)
		}
		return nil
	})
	return err
}

// places numbers lines in falling order of points. The first one has a rank, counted
// from 1, and a place, which is less where others have as many points.
func places(zs []redis.Z, rank, place int64) []Entry {
	entries := make([]Entry, len(zs))
	for i, z := range zs {
		if i > 0 && z.Score != zs[i-1].Score {
			place = rank + int64(i)
		}
		entries[i] = Entry{Place: place, Player: fmt.Sprint(z.Member), Points: z.Score}
	}
	return entries
}
