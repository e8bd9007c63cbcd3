package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vigildb/vigil/placement"
)

const (
	scanCount      = 256 // keys that a step of a scan looks at
	moversPerShard = 8
)

// errGone says that a key is not at its old place.
var errGone = errors.New("shardrouter: the key is not at its old place")

// rebalance changes the map, moves all keys to where it wants them then, and returns
// how many this call has moved; writers may have moved some too. After an error
// the phase lasts: no key is lost, and resume goes on.
func (r *router) rebalance(ctx context.Context, change func(*placement.Map) error) (int, error) {
	if err := r.begin(change); err != nil {
		return 0, err
	}
	return r.resume(ctx)
}

// begin waits for the calls under way and starts the phase: all keys are assigned
// when the map is changed.
func (r *router) begin(change func(*placement.Map) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		return errMoving
	}
	next := r.now.Clone()
	if err := errors.Join(change(next), r.check(next)); err != nil {
		return err
	}
	r.next = next
	return nil
}

// resume moves what is left, all servers at a time, and ends the phase.
func (r *router) resume(ctx context.Context) (int, error) {
	r.mu.RLock()
	now, next := r.now, r.next
	r.mu.RUnlock()
	if next == nil {
		return 0, nil
	}
	var moved atomic.Int64
	var movers sync.WaitGroup
	units := now.Units()
	failures := make([]error, len(units))
	for i, u := range units {
		movers.Go(func() { failures[i] = r.empty(ctx, u.Name, now, next, &moved) })
	}
	movers.Wait()
	if err := errors.Join(failures...); err != nil {
		return int(moved.Load()), err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.next = next, nil
	return int(moved.Load()), nil
}

// empty moves from one server what belongs to others. A scan finds every key
// that is there all the time, and no key comes here during the phase.
func (r *router) empty(ctx context.Context, name string, now, next *placement.Map, moved *atomic.Int64) error {
	from := r.shards[name]
	for cursor := uint64(0); ; {
		keys, after, err := from.Scan(ctx, cursor, "", scanCount).Result()
		if err != nil {
			return err
		}
		leaving := keys[:0]
		for _, key := range keys {
			if r.leaves(name, key, now, next) {
				leaving = append(leaving, key)
			}
		}
		if err := r.moveAll(ctx, from, leaving, moved); err != nil {
			return err
		}
		if cursor = after; cursor == 0 {
			return nil
		}
	}
}

func (r *router) leaves(name, key string, now, next *placement.Map) bool {
	r.placing.Lock()
	defer r.placing.Unlock()
	return unitOf(now, key) == name && unitOf(next, key) != name
}

// moveAll moves some keys of a server, several at a time: a move is five round
// trips, in which nobody else should have to wait.
func (r *router) moveAll(ctx context.Context, from *redis.Client, keys []string, moved *atomic.Int64) error {
	var movers sync.WaitGroup
	var failures [moversPerShard]error
	for i := range failures {
		movers.Go(func() {
			for k := i; k < len(keys) && failures[i] == nil; k += moversPerShard {
				var ours bool
				_, to := r.places(keys[k])
				if ours, failures[i] = move(ctx, from, to, keys[k]); ours {
					moved.Add(1)
				}
			}
		})
	}
	movers.Wait()
	return errors.Join(failures[:]...)
}

// move moves one key, if it is still at its old place, and returns whether this
// call has taken it from there. Others may move the same key at once: then one
// of them restores it, and the rest find it touched or there.
func move(ctx context.Context, from, to *redis.Client, key string) (bool, error) {
	err := to.Watch(ctx, func(tx *redis.Tx) error {
		payload, ttl, err := dump(ctx, from, key)
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Restore(ctx, key, ttl, payload)
			return nil
		})
		return err
	}, key)
	switch {
	case errors.Is(err, errGone):
		return false, nil
	case err == nil, errors.Is(err, redis.TxFailedErr), isBusy(err):
		n, err := from.Del(ctx, key).Result()
		return n == 1, err
	}
	return false, err
}

// dump returns a key's value and remaining time, 0 for one without.
func dump(ctx context.Context, c *redis.Client, key string) (payload string, ttl time.Duration, err error) {
	var value *redis.StringCmd
	var left *redis.DurationCmd
	_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		value, left = p.Dump(ctx, key), p.PTTL(ctx, key)
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return "", 0, errGone
	}
	if err != nil {
		return "", 0, err
	}
	if ttl = left.Val(); ttl < 0 { // -1: it does not expire
		return value.Val(), 0, nil
	}
	return value.Val(), max(ttl, time.Millisecond), nil
}

func isBusy(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "BUSYKEY") }
