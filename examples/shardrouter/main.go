package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/vigildb/vigil/placement"
)

func main() {
	keys := flag.Int("keys", 6000, "keys to load, at least 1")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, max(*keys, 1)); err != nil {
		fmt.Fprintln(os.Stderr, "shardrouter:", err)
		os.Exit(1)
	}
}

// run prints the whole story.
func run(ctx context.Context, w io.Writer, keys int) (err error) {
	f, err := startFleet("ash", "birch", "cedar", "dogwood")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	s := story{w: w, fleet: f, keys: keys, counts: map[string]int{}}
	if err := s.begin(ctx); err != nil {
		return err
	}

	dogwood := placement.Unit{Name: "dogwood", Capacity: 2}
	p, err := s.router.now.PreviewSet(dogwood)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\ndogwood joins with capacity 2\n")
	if err := s.change(ctx, func(m *placement.Map) error { return m.Set(dogwood) }, p); err != nil {
		return err
	}

	if p, err = s.router.now.PreviewRemove("birch"); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nbirch leaves\n")
	return s.change(ctx, func(m *placement.Map) error { return m.Remove("birch") }, p)
}

// bound is how much more than its part of the keys a server may have.
const bound = 0.02

// story is what run prints.
type story struct {
	w      io.Writer
	fleet  *fleet
	router *router
	keys   int            // loaded
	counts map[string]int // of the traffic's counters
}

// begin puts keys on three of the four servers, each key with itself as value.
func (s *story) begin(ctx context.Context) error {
	m, err := placement.NewMap(placement.Options{Seed: 7, Bound: bound})
	if err != nil {
		return err
	}
	if err := m.Set(placement.Unit{Name: "ash", Capacity: 1}, placement.Unit{Name: "birch", Capacity: 2},
		placement.Unit{Name: "cedar", Capacity: 3}); err != nil {
		return err
	}
	if s.router, err = newRouter(m, s.fleet.clients); err != nil {
		return err
	}
	if err := load(ctx, s.router, s.keys); err != nil {
		return err
	}
	return s.print(ctx)
}

// load sets keys, in one pipeline to each server.
func load(ctx context.Context, r *router, keys int) error {
	pipes := map[string]redis.Pipeliner{}
	for i := range keys {
		if err := r.assign(loadedKey(i)); err != nil {
			return err
		}
		unit := unitOf(r.now, loadedKey(i))
		if pipes[unit] == nil {
			pipes[unit] = r.shards[unit].Pipeline()
		}
		pipes[unit].Set(ctx, loadedKey(i), loadedKey(i), 0)
	}
	for _, p := range pipes {
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// change prints a preview, moves the keys under traffic, and counts the loaded
// keys that moved and those that cannot be read any more.
func (s *story) change(ctx context.Context, change func(*placement.Map) error, p placement.Preview) error {
	fmt.Fprintf(s.w, "preview: %.4f of the keys will move, the optimum is %.4f\n", p.Moved, p.Optimum)
	for _, pair := range p.Pairs {
		fmt.Fprintf(s.w, "  %s to %s: %.4f\n", pair.From, pair.To, pair.Share)
	}
	before := s.router.now.Clone()
	t := startTraffic(ctx, s.router, s.keys, s.counts)
	_, err := s.router.rebalance(ctx, change)
	if err = errors.Join(err, t.finish()); err != nil {
		return err
	}
	moved, missing := 0, 0
	for i := range s.keys {
		key := loadedKey(i)
		if unitOf(before, key) != unitOf(s.router.now, key) {
			moved++
		}
		if _, err := s.router.get(ctx, key); errors.Is(err, redis.Nil) {
			missing++
		} else if err != nil {
			return err
		}
	}
	fmt.Fprintf(s.w, "moved: %.4f of %d keys, missing: %d; %d clients had %d answers meanwhile, none wrong\n",
		float64(moved)/float64(s.keys), s.keys, missing, trafficClients, t.answers.Load())
	return s.print(ctx)
}

func (s *story) print(ctx context.Context) error {
	sizes, err := s.fleet.sizes(ctx)
	if err != nil {
		return err
	}
	fmt.Fprint(s.w, "keys:")
	for _, name := range []string{"ash", "birch", "cedar", "dogwood"} {
		fmt.Fprintf(s.w, "  %s %d", name, sizes[name])
	}
	fmt.Fprintln(s.w)
	return nil
}
