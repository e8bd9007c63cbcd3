package main

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// maxPieces bounds how many of one product a cart takes.
const maxPieces = 9

// carts keeps what visitors want to buy: a hash for each, from item to number. It is
// not in the session of scs, which is written as a whole: of two clicks at once one
// would be lost.
type carts struct{ rdb *redis.Client }

// line is a product in a cart.
type line struct {
	product
	Pieces int
}

// Sum is the price of all pieces.
func (l line) Sum() cents { return l.Price * cents(l.Pieces) }

func cartKey(visitor string) string { return "shop:cart:" + visitor }

func (c carts) add(ctx context.Context, visitor, item string) error {
	var pieces *redis.IntCmd
	_, err := c.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		pieces = p.HIncrBy(ctx, cartKey(visitor), item, 1)
		p.Expire(ctx, cartKey(visitor), lifetime)
		return nil
	})
	if err == nil && pieces.Val() > maxPieces {
		err = c.rdb.HIncrBy(ctx, cartKey(visitor), item, -1).Err()
	}
	return err
}

func (c carts) remove(ctx context.Context, visitor, item string) error {
	return c.rdb.HDel(ctx, cartKey(visitor), item).Err()
}

func (c carts) empty(ctx context.Context, visitor string) error {
	return c.rdb.Del(ctx, cartKey(visitor)).Err()
}

// lines returns the cart in the order of the catalogue.
func (c carts) lines(ctx context.Context, visitor string) ([]line, error) {
	all, err := c.rdb.HGetAll(ctx, cartKey(visitor)).Result()
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, p := range catalogue {
		if n, err := strconv.Atoi(all[p.Item]); err == nil && n > 0 {
			lines = append(lines, line{p, n})
		}
	}
	return lines, nil
}
