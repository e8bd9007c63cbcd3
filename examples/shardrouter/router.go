package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/vigildb/vigil/placement"
)

var (
	// errMoving is returned when a change is asked for while another one has
	// not ended.
	errMoving = errors.New("shardrouter: keys are moving already")
	// errShard is returned when a map names a server that was not connected.
	errShard = errors.New("shardrouter: no such server")
)

// router sends each call to the server that has its key.
type router struct {
	// mu is held for reading by every call, from choosing servers to the reply,
	// and for writing when the phase changes: so none spans two phases.
	mu     sync.RWMutex
	shards map[string]*redis.Client
	now    *placement.Map
	next   *placement.Map // nil unless keys are moving

	// placing guards which keys are assigned to the units of both maps.
	placing sync.Mutex
	// writing has a lock for each key that is written, by hash: a key is not
	// released while another client makes it anew.
	writing [64]sync.Mutex
}

func newRouter(m *placement.Map, shards map[string]*redis.Client) (*router, error) {
	r := &router{shards: shards, now: m}
	return r, r.check(m)
}

// check says whether all units of a map are connected.
func (r *router) check(m *placement.Map) error {
	for _, u := range m.Units() {
		if r.shards[u.Name] == nil {
			return fmt.Errorf("%w: %q", errShard, u.Name)
		}
	}
	return nil
}

// unitOf returns where a key is assigned, or would be without a bound.
func unitOf(m *placement.Map, key string) string { return m.Name(m.Locate(m.Hash([]byte(key)))) }

// places returns where a key is, and where it is going: the same server unless
// the key is to move.
func (r *router) places(key string) (from, to *redis.Client) {
	r.placing.Lock()
	defer r.placing.Unlock()
	from = r.shards[unitOf(r.now, key)]
	if r.next == nil {
		return from, from
	}
	return from, r.shards[unitOf(r.next, key)]
}

// assign sees to it that a key that is to be written has a place, on a server
// with room. One that is made while keys move is assigned in the next map alone.
func (r *router) assign(key string) error {
	r.placing.Lock()
	defer r.placing.Unlock()
	m := r.now
	if r.next != nil {
		m = r.next
	}
	_, _, err := m.Assign(m.Hash([]byte(key)))
	return err
}

// release gives up the place of a key that is deleted.
func (r *router) release(key string) {
	r.placing.Lock()
	defer r.placing.Unlock()
	r.now.Release(r.now.Hash([]byte(key)))
	if r.next != nil {
		r.next.Release(r.next.Hash([]byte(key)))
	}
}

// get returns redis.Nil for a missing key.
func (r *router) get(ctx context.Context, key string) (string, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	from, to := r.places(key)
	value, err := to.Get(ctx, key).Result()
	if from == to || !errors.Is(err, redis.Nil) {
		return value, err
	}
	if value, err = from.Get(ctx, key).Result(); !errors.Is(err, redis.Nil) {
		return value, err
	}
	return to.Get(ctx, key).Result()
}

// write runs a command at the place where a key may be written.
func (r *router) write(ctx context.Context, key string, run func(*redis.Client) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	lock := &r.writing[r.now.Hash([]byte(key))%uint64(len(r.writing))]
	lock.Lock()
	defer lock.Unlock()
	if err := r.assign(key); err != nil {
		return err
	}
	from, to := r.places(key)
	if from != to {
		if _, err := move(ctx, from, to, key); err != nil {
			return err
		}
	}
	return run(to)
}

func (r *router) set(ctx context.Context, key, value string) error {
	return r.write(ctx, key, func(c *redis.Client) error { return c.Set(ctx, key, value, 0).Err() })
}

func (r *router) incr(ctx context.Context, key string) (n int64, err error) {
	err = r.write(ctx, key, func(c *redis.Client) error {
		n, err = c.Incr(ctx, key).Result()
		return err
	})
	return n, err
}

func (r *router) del(ctx context.Context, key string) error {
	return r.write(ctx, key, func(c *redis.Client) error {
		err := c.Del(ctx, key).Err()
		if err == nil {
			r.release(key)
		}
		return err
	})
}
